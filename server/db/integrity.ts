import Sqlite from "libsql";

/**
 * What is wrong with the pages and indexes of a database, in SQLite's words; null when it is sound.
 * Changes nothing, and keeps nobody from writing to it. Reads the whole file: never in a daemon.
 */
export function checkIntegrity(path: string): string | null {
  let database: Sqlite.Database | null = null;
  try {
    database = new Sqlite(path, { timeout: 5 });
    database.exec("PRAGMA query_only = ON");
    const rows = database.prepare("PRAGMA integrity_check(3)").all() as Record<string, unknown>[];
    const verdict = rows.map((row) => String(Object.values(row)[0])).join("; ");
    return verdict === "ok" ? null : verdict || "it cannot be checked";
  } catch (error) {
    return (error as Error).message;
  } finally {
    database?.close();
  }
}
