// node-redis: INCR, pipelines, MULTI, floe's own MINT, errors, and a server that dies.
const assert = require("node:assert");
const { createClient } = require("redis");

const [host, port] = process.argv.slice(2);
const give = (name, ...ids) => ids.forEach((id) => console.log("id", name, String(id)));

async function refused(word, call) {
  await assert.rejects(call, (error) => error.message.startsWith(word) || assert.fail(error.message));
}

// Integers past 2^53 need a string or a BigInt: INCR's answer is a number here, so ask for the snowflakes with MINT.
async function main() {
  const client = createClient({
    socket: { host, port: Number(port), reconnectStrategy: () => 50 },
  });
  client.on("error", () => {});
  await client.connect();
  for (let i = 0; i < 20; i++) give("visits", await client.incr("visits"));
  give("tickets", ...(await Promise.all(Array.from({ length: 60 }, () => client.incr("tickets")))));
  let multi = client.multi();
  for (let i = 0; i < 20; i++) multi = multi.incr("visits");
  give("visits", ...(await multi.exec()));
  const { RESP_TYPES } = require("redis");
  const exact = client.withTypeMapping({ [RESP_TYPES.NUMBER]: String });
  give("orders", ...(await exact.sendCommand(["MINT", "orders", "60"])));
  give("orders", await exact.incr("orders"));
  await refused("NOKEY", () => client.incr("nobody"));
  await refused("WRONGTYPE", () => client.incrBy("orders", 2));
  await refused("ERR", () => client.decr("visits"));
  console.log("kill");
  for (let done = 0; done < 50; ) {
    try {
      give("visits", await client.incr("visits"));
      give("orders", await exact.incr("orders"));
      done++;
    } catch {
      // A mint that is asked for again only wastes an ID.
      await new Promise((resume) => setTimeout(resume, 20));
    }
  }
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
