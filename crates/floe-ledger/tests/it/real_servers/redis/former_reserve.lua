local id = redis.call('HGET', KEYS[1], 'id')
if id ~= ARGV[1] then return {'realm', id} end
local function halves(text)
  return tonumber(string.sub(text, 1, -10)) or 0, tonumber(string.sub(text, -9))
end
local function below(a, b)
  local a_high, a_low = halves(a)
  local b_high, b_low = halves(b)
  return a_high < b_high or (a_high == b_high and a_low < b_low)
end
local function sum(a, b)
  local a_high, a_low = halves(a)
  local b_high, b_low = halves(b)
  local high, low = a_high + b_high, a_low + b_low
  if low >= 1000000000 then high, low = high + 1, low - 1000000000 end
  if high == 0 then return string.format('%.0f', low) end
  return string.format('%.0f%09.0f', high, low)
end
local function sound(text)
  return text and #text <= 19 and string.find(text, '^%d+$')
end
local previous, start, mark, token, note =
  unpack(redis.call('HMGET', KEYS[2], 'previous', 'start', 'mark', 'token', 'note'))
local found = previous or start or mark or token or note
if found and not (sound(previous) and sound(start) and sound(mark)) then return {'damaged'} end
local key, floor, count, ceiling, mine, make, text = unpack(ARGV, 2)
if not found then
  if make == '' or redis.call('ZSCORE', KEYS[3], key) then return {'missing'} end
  previous, start, mark = '0', '0', '0'
end
if token == mine then return {'got', previous, start, mark} end
if ceiling == '' or below(ceiling, mark) then return {'above', mark, note} end
start = below(mark, floor) and floor or mark
local to = sum(start, count)
redis.call('HSET', KEYS[2], 'previous', mark, 'start', start, 'mark', to, 'token', mine, unpack(text and {'note', text} or {}))
if not found then redis.call('ZADD', KEYS[3], 0, key) end
return {'got', mark, start, to}
