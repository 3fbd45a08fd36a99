local version, id = unpack(redis.call('HMGET', KEYS[1], 'version', 'id'))
if version ~= '1' or not id then return {'moved'} end
local function line(word, text)
  if not text or text == '' and word == 'token' then return '' end
  return word .. ' ' .. text:gsub('\\', '\\\\'):gsub('\n', '\\n'):gsub('\r', '\\r') .. '\n'
end
local function exact(text)
  return (string.gsub(text or '?', '^0+(%d)', '%1'))
end
local function least(a, b)
  if #a < #b or #a == #b and a < b then return a end
  return b
end
local fields, texts = {'0', 'realm'}, {}
local function add(field, text)
  fields[#fields + 1], fields[#fields + 2] = '0', field
  texts[#texts + 1], texts[#texts + 2] = field, text
end
local first = 'floe 1\nrealm ' .. id .. '\n'
local function record(key, mark, definition)
  local number = string.sub(redis.sha1hex(id .. ' ' .. key), 1, 32) .. '\n'
  add('made/' .. key, first .. 'made ' .. number)
  if not mark and not definition then return end
  local text = first .. 'written ' .. number .. 'made ' .. number
  local token, note
  if mark then
    local to = exact(mark[3])
    local start = least(exact(mark[2]), to)
    text = text .. 'mark ' .. to .. ' start ' .. start .. ' previous ' .. least(exact(mark[1]), start) .. '\n'
    token, note = mark[4], mark[5]
  end
  add('mark/' .. key, text .. line('token', token) .. line('definition', definition) .. line('note', note) .. 'end\n')
end
local definitions, seen = {}, {}
for _, name in ipairs(redis.call('ZRANGEBYLEX', KEYS[4], '-', '+')) do
  definitions['n/' .. name] = redis.call('HGET', KEYS[5], name)
end
for _, key in ipairs(redis.call('ZRANGEBYLEX', KEYS[3], '-', '+')) do
  seen[key] = true
  local mark = redis.call('HMGET', KEYS[1] .. ':m:' .. key, 'previous', 'start', 'mark', 'token', 'note')
  if mark[1] or mark[2] or mark[3] or mark[4] or mark[5] then
    record(key, mark, definitions[key])
  else
    record(key)
  end
end
for key, definition in pairs(definitions) do
  if not seen[key] then record(key, nil, definition) end
end
for from = 1, #fields, 2000 do
  redis.call('ZADD', KEYS[2], unpack(fields, from, math.min(from + 1999, #fields)))
end
for from = 1, #texts, 2000 do
  redis.call('HSET', KEYS[1], unpack(texts, from, math.min(from + 1999, #texts)))
end
redis.call('HSET', KEYS[1], 'realm', first, 'version', '2', 'id', 'a newer floe keeps this realm now: run the newer floe')
return {'moved'}
