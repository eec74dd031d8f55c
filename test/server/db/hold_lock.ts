import Sqlite from "libsql";
import process from "node:process";
import { createInterface } from "node:readline";

/** Locks a database for writing on the input line `lock` and unlocks it on `unlock`. */
const database = new Sqlite(process.argv[2]!);
database.exec("PRAGMA journal_mode = WAL");
for await (const line of createInterface({ input: process.stdin })) {
  database.exec(line === "lock" ? "BEGIN IMMEDIATE" : "ROLLBACK");
  console.log(`${line}ed`);
}
