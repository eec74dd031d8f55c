import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database } from "../server/db/database.ts";
import { LEDGER_MIGRATIONS } from "../server/db/ledger_migrations.ts";
import { migrate } from "../server/db/migrate.ts";

/**
 * Writes an empty ledger of the newest schema where the daemon would make the project's. Every
 * migration of a new one takes half the time of a test gate.
 */
export async function placeLedger(home: string, project_id: string): Promise<void> {
  const folder = join(home, "projects", project_id);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, "ledger.db"), await (template ??= makeTemplate()), { flag: "wx" });
}

/** The bytes of the file; a process makes it once. */
let template: Promise<Uint8Array> | undefined;

async function makeTemplate(): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "gate-template-"));
  try {
    const database = await Database.open(join(folder, "ledger.db"));
    await migrate(database, LEDGER_MIGRATIONS, () => Date.UTC(2026, 0, 1));
    await database.close();
    return readFileSync(join(folder, "ledger.db"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
