import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database } from "../server/db/database.ts";
import { LEDGER_MIGRATIONS } from "../server/db/ledger_migrations.ts";
import { migrate, type Migration } from "../server/db/migrate.ts";
import { REGISTRY_MIGRATIONS } from "../server/db/registry_migrations.ts";

/**
 * Writes an empty ledger of the newest schema where the daemon would make the project's. Every
 * migration of a new one takes half the time of a test gate.
 */
export async function placeLedger(home: string, project_id: string): Promise<void> {
  const folder = join(home, "projects", project_id);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const bytes = await (ledger ??= makeTemplate(LEDGER_MIGRATIONS));
  writeFileSync(join(folder, "ledger.db"), bytes, { flag: "wx" });
}

/** Writes an empty registry of the newest schema where the daemon would make it. */
export async function placeRegistry(home: string): Promise<void> {
  const bytes = await (registry ??= makeTemplate(REGISTRY_MIGRATIONS));
  writeFileSync(join(home, "gate.db"), bytes, { flag: "wx", mode: 0o600 });
}

/** The bytes of the files; a process makes each once. */
let ledger: Promise<Uint8Array> | undefined;
let registry: Promise<Uint8Array> | undefined;

async function makeTemplate(migrations: Migration[]): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "gate-template-"));
  try {
    const database = await Database.open(join(folder, "template.db"));
    await migrate(database, migrations, () => Date.UTC(2026, 0, 1));
    await database.close();
    return readFileSync(join(folder, "template.db"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
