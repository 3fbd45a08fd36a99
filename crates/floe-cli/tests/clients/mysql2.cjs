// mysql2: a pool, prepared statements, and a server that dies.
const mysql = require("mysql2/promise");

const [host] = process.argv.slice(2);
const options = { host, port: Number(process.env.MYSQL_PORT), user: "app", password: "x", supportBigNumbers: true, bigNumberStrings: true };

async function main() {
  const pool = mysql.createPool({ ...options, connectionLimit: 4 });
  const mint = async (name) => {
    for (;;) {
      try {
        const [done] = await pool.execute(`REPLACE INTO ${name} (stub) VALUES (?)`, ["a"]);
        console.log("id", name, String(done.insertId));
        return;
      } catch (error) {
        if (error.errno >= 1000 && error.errno < 2000) throw error;
        await new Promise((resume) => setTimeout(resume, 50));
      }
    }
  };
  for (let turn = 0; turn < 40; turn++) {
    if (turn === 20) console.log("kill");
    await Promise.all(["tickets", "visits", "orders"].map(mint));
  }
  await pool.end();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
