import { VERSION } from "../constants.ts";
import { GateError } from "../errors.ts";
import type { LedgerDatabase } from "./database.ts";
import { hasMachines, listMachines } from "./machines.ts";
import { type Migration, neededAfter, requireNoNewer } from "./migrate.ts";

/**
 * @throws GateError `unavailable` while a machine uses the ledger whose release could not go on after
 * these migrations. `own` is the id of this machine.
 */
export async function requireMigratable(
  database: Pick<LedgerDatabase, "all" | "path">,
  migrations: Migration[],
  own: string,
): Promise<void> {
  const current = await requireNoNewer(database, migrations);
  const newest = migrations.at(-1)!.version;
  if (current.version >= newest || !await hasMachines(database)) return;
  const needed = neededAfter(migrations, current);
  const cutOff = (await listMachines(database)).filter(({ id, is_connected, schema }) =>
    is_connected && id !== own && schema < needed
  );
  if (cutOff.length === 0) return;
  const names = cutOff.map(({ name, version }) => `${name} (gate ${version})`).join(", ");
  const message = `Cannot open the ledger on ${database.path}: this is gate ${VERSION} (schema ` +
    `${newest}), and machines with an older one (schema ${current.version}) use it: ${names}; ` +
    "stop gate there and install this release on them (gate daemon stop)";
  throw new GateError("unavailable", message);
}
