import Sqlite from "libsql";
import process from "node:process";
import { createInterface } from "node:readline";

/** Holds a write lock on a database while it is told to: `lock` and `unlock`, one a line. */
const database = new Sqlite(process.argv[2]!);
database.exec("PRAGMA journal_mode = WAL");
for await (const line of createInterface({ input: process.stdin })) {
  database.exec(line === "lock" ? "BEGIN IMMEDIATE" : "ROLLBACK");
  console.log(`${line}ed`);
}
