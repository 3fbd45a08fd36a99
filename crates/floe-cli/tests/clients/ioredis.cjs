// ioredis: INCR, pipelines, MULTI, floe's own MINT, errors, and a server that dies.
const assert = require("node:assert");
const Redis = require("ioredis").default ?? require("ioredis");

const [host, port] = process.argv.slice(2);
const give = (name, ...ids) => ids.forEach((id) => console.log("id", name, String(id)));

async function refused(word, call) {
  await assert.rejects(call, (error) => error.message.startsWith(word) || assert.fail(error.message));
}

async function main() {
  // Numbers as texts: JavaScript's own lose the lowest bits past 2^53.
  const client = new Redis({ host, port: Number(port), stringNumbers: true, retryStrategy: () => 50, maxRetriesPerRequest: 200 });
  client.on("error", () => {});
  for (let i = 0; i < 20; i++) give("visits", await client.incr("visits"));
  const pipeline = client.pipeline();
  for (let i = 0; i < 60; i++) pipeline.incr("tickets").incr("orders");
  const replies = (await pipeline.exec()).map(([error, id]) => (assert.ifError(error), id));
  give("tickets", ...replies.filter((_, at) => at % 2 === 0));
  give("orders", ...replies.filter((_, at) => at % 2 === 1));
  const multi = client.multi();
  for (let i = 0; i < 20; i++) multi.incr("visits");
  give("visits", ...(await multi.exec()).map(([error, id]) => (assert.ifError(error), id)));
  give("orders", ...(await client.call("MINT", "orders", 10)));
  await refused("NOKEY", () => client.incr("nobody"));
  await refused("WRONGTYPE", () => client.incrby("orders", 2));
  console.log("kill");
  for (let done = 0; done < 50; ) {
    try {
      give("visits", await client.incr("visits"));
      give("orders", await client.incr("orders"));
      done++;
    } catch {
      await new Promise((resume) => setTimeout(resume, 20));
    }
  }
  client.disconnect();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
