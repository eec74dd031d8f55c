import { Database } from "./database.ts";
import { isDamage } from "./failures.ts";
import { checkHealth, moveAside } from "./health.ts";
import { migrate, type Migration } from "./migrate.ts";

export interface SoundOptions {
  migrations: Migration[];
  now: () => number;
}

/**
 * Opens a database at its newest schema. A damaged one is moved aside, never deleted, and a new one
 * begun; `moved_to` then says where the old one is.
 */
export async function openSound(
  path: string,
  options: SoundOptions,
): Promise<{ database: Database; moved_to: string | null }> {
  try {
    return { database: await openMigrated(path, options), moved_to: null };
  } catch (error) {
    if (!isDamage(error)) throw error;
    const moved_to = moveAside(path, options.now());
    return { database: await openMigrated(path, options), moved_to };
  }
}

async function openMigrated(path: string, { migrations, now }: SoundOptions): Promise<Database> {
  const database = await Database.open(path);
  try {
    await checkHealth(database);
    await migrate(database, migrations, now);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}
