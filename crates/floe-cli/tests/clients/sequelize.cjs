// Sequelize: its question at connect, tickets, a transaction, and a model.
const { DataTypes, QueryTypes, Sequelize } = require("sequelize");

const [host] = process.argv.slice(2);
const options = { host, port: Number(process.env.MYSQL_PORT), dialect: "mysql", logging: false };

async function main() {
  const db = new Sequelize("ids", "app", "x", options);
  await db.authenticate();
  const replace = "REPLACE INTO tickets (stub) VALUES ('a')";
  for (let turn = 0; turn < 20; turn++) {
    const [id] = await db.query(replace, { type: QueryTypes.INSERT });
    console.log("id", "tickets", String(id));
  }
  await db.transaction(async (transaction) => {
    const [id] = await db.query(replace, { type: QueryTypes.INSERT, transaction });
    console.log("id", "tickets", String(id));
  });
  const Visit = db.define(
    "Visit",
    { id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true }, stub: DataTypes.STRING },
    { tableName: "visits", timestamps: false },
  );
  for (let turn = 0; turn < 20; turn++) console.log("id", "visits", String((await Visit.create({ stub: "a" })).id));
  await db.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
