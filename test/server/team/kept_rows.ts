import Sqlite from "libsql";
import { join } from "node:path";

type Row = Record<string, string | number | null>;

/** The rows of the kept lists in gate.db, as another program of the same user reads and writes them. */
export const kept = {
  saved: [] as Row[],
  save(home: string): void {
    inRegistry(home, (db) => {
      this.saved = db.prepare("SELECT name, number, items, proof FROM kept_lists").all() as Row[];
    });
  },
  restore(home: string, rows: Row[]): void {
    inRegistry(home, (db) => {
      for (const { name, number, items, proof } of rows) {
        db.prepare("UPDATE kept_lists SET number = ?, items = ?, proof = ? WHERE name = ?")
          .run(number, items, proof, name);
      }
    });
  },
  forge(home: string, member: Record<string, string>): void {
    inRegistry(home, (db) => {
      db.prepare("UPDATE kept_lists SET number = number + 5, items = ?")
        .run(JSON.stringify([{ email: null, channels: [], ...member }]));
    });
  },
};

function inRegistry(home: string, use: (db: Sqlite.Database) => void): void {
  const db = new Sqlite(join(home, "gate.db"));
  try {
    use(db);
  } finally {
    db.close();
  }
}
