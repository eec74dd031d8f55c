import { rmSync } from "node:fs";
import { selfCommand } from "../../server/runtime/self.ts";
import { DISK_THREADS } from "../daemon/disk_threads.ts";
import { CliError } from "../errors.ts";
import { backUp, openConfig, saveConfig } from "../hosts/edit/config_file.ts";
import { type Machine, machineOf } from "../hosts/machine.ts";
import { launchOf } from "../hosts/ours.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { createLaunchd } from "./launchd.ts";
import { MARK, type Program, type ServiceManager, type ServiceState } from "./manager.ts";
import { quote } from "../../server/shown/quote.ts";
import { createSystemd } from "./systemd.ts";

/** The service of this user: its file as it is and as it should be. */
export interface Service {
  manager: ServiceManager;
  /** The content that this program would write. */
  wanted: string;
  /** The current content; null for a missing file. */
  found: string | null;
}

/** Finds the service. @throws CliError on a system without a known manager */
export function findService(io: Io, machine: Machine = machineOf(io)): Service {
  const manager = managerOf(machine);
  return { manager, wanted: manager.render(programOf(io)), found: openConfig(manager.file).text };
}

/** The result of an installation. */
export interface Installed {
  outcome: "created" | "updated" | "unchanged";
  backup: string | null;
}

/** Writes the file and keeps a backup. @throws CliError for a file that gate did not write */
export async function writeService(io: Io, { manager, wanted }: Service): Promise<Installed> {
  const file = openConfig(manager.file);
  if (file.text === wanted) return { outcome: "unchanged", backup: null };
  refuseForeign(file.path, file.text);
  const backups = { home: placeOf(io).home, label: "service" };
  const backup = await saveConfig(file, wanted, backups, 0o644);
  return { outcome: file.text === null ? "created" : "updated", backup };
}

/** Stops the service and removes its file. Returns false when there was none. @throws CliError */
export async function removeService(io: Io, { manager, found }: Service): Promise<boolean> {
  refuseForeign(manager.file, found);
  const { enabled, running } = await manager.state();
  if (found === null && !enabled && !running) return false;
  await manager.deactivate();
  if (found !== null) {
    const file = openConfig(manager.file);
    backUp(file, { home: placeOf(io).home, label: "service" });
    rmSync(manager.file, { force: true });
  }
  await manager.forget();
  return true;
}

/** @throws CliError with the next step when this user cannot have services now */
export async function requireManager({ manager }: Service): Promise<void> {
  const obstacle = await manager.obstacle();
  if (obstacle) {
    throw new CliError(`Cannot manage a service: ${obstacle.why}`, { next: obstacle.next });
  }
}

/** The state of the service. Without a manager to ask it is not running. */
export async function stateOf({ manager }: Service): Promise<ServiceState> {
  const obstacle = await manager.obstacle();
  if (!obstacle) return await manager.state();
  return { enabled: false, running: false, pid: null, says: obstacle.why };
}

function programOf(io: Io): Program {
  const place = placeOf(io);
  const { command, args } = selfCommand();
  const env = { ...launchOf(machineOf(io), place).env, ...DISK_THREADS };
  return { command, args, env, home: place.home };
}

function managerOf(machine: Machine): ServiceManager {
  if (machine.os === "linux") return createSystemd(machine);
  if (machine.os === "darwin") return createLaunchd(machine);
  throw new CliError(
    "Cannot install a service on Windows: gate supports only launchd and systemd",
    {
      next: "put a shortcut to gate daemon start into the folder that Win+R shell:startup opens",
    },
  );
}

function refuseForeign(path: string, text: string | null): void {
  if (text === null || text.includes(MARK)) return;
  throw new CliError(`Cannot change "${path}": it was not written by gate`, {
    next: `mv ${quote(path)} ${quote(`${path}.old`)}, then the same command`,
  });
}
