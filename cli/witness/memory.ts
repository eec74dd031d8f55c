import { chmodSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { platform } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { z } from "zod";
import { readSmallFile } from "../../server/runtime/small_file.ts";
import { userHome } from "../home.ts";
import type { Io } from "../io.ts";

/** The newest event of a project's ledger that a terminal of this user has seen. */
export const SeenHead = z.object({
  seq: z.number().int().min(1),
  hash: z.string(),
  at: z.string(),
});
export type SeenHead = z.infer<typeof SeenHead>;

/** The heads of one data folder, by project. */
export type SeenHeads = Record<string, SeenHead>;

const Memory = z.object({
  version: z.literal(1),
  homes: z.record(z.string(), z.record(z.string(), SeenHead)),
  /** The number of the newest acceptance that a terminal sent, by data folder and config. */
  accepted: z.record(z.string(), z.record(z.string(), z.number().int().min(1))).optional(),
});
type Memory = z.infer<typeof Memory>;

const MAX_BYTES = 8 * 1024 * 1024;
/** The oldest heads make room for new ones. */
const MOST_HEADS = 10_000;

/** The file of the heads: in the user's folder for state, outside of the gate's data folder. */
export function memoryPath(io: Pick<Io, "env">): string {
  return join(stateFolder(io), "gate", "heads.json");
}

/** The remembered heads of a data folder; `damage` says why the file could not be read. */
export function readHeads(
  io: Pick<Io, "env">,
  home: string,
): { heads: SeenHeads; damage: string | null } {
  try {
    return { heads: read(memoryPath(io)).homes[home] ?? {}, damage: null };
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return { heads: {}, damage: null };
    return { heads: {}, damage: "it is damaged" };
  }
}

/** Remembers newer heads of a data folder, and forgets these projects. Failures are ignored. */
export function writeHeads(
  io: Pick<Io, "env">,
  home: string,
  { newer = {}, gone = [] }: { newer?: SeenHeads; gone?: readonly string[] },
): void {
  const path = memoryPath(io);
  try {
    const memory = readOrBegin(path);
    const heads = memory.homes[home] ?? {};
    for (const [project, head] of Object.entries(newer)) {
      if ((heads[project]?.seq ?? 0) < head.seq) heads[project] = head;
    }
    for (const project of gone) delete heads[project];
    const kept = Object.entries(heads).sort(([, a], [, b]) => a.at < b.at ? 1 : -1);
    memory.homes[home] = Object.fromEntries(kept.slice(0, MOST_HEADS));
    save(path, memory);
  } catch {
    // A folder that cannot be written must not keep a command from its work.
  }
}

/** Forgets the heads and acceptances of a data folder that another one replaces. */
export function forgetHome(io: Pick<Io, "env">, home: string): void {
  const path = memoryPath(io);
  try {
    const memory = readOrBegin(path);
    delete memory.homes[home];
    delete memory.accepted?.[home];
    save(path, memory);
  } catch {
    // A folder that cannot be written must not keep a command from its work.
  }
}

/** The number of the newest acceptance of a config that a terminal sent; 0 before the first. */
export function readAccepted(io: Pick<Io, "env">, home: string, path: string): number {
  return readOrBegin(memoryPath(io)).accepted?.[home]?.[path] ?? 0;
}

/** Remembers the number of an acceptance. Failures are ignored. */
export function writeAccepted(
  io: Pick<Io, "env">,
  home: string,
  { path, number }: { path: string; number: number },
): void {
  try {
    const memory = readOrBegin(memoryPath(io));
    const all = memory.accepted ??= {};
    all[home] = { ...all[home], [path]: number };
    save(memoryPath(io), memory);
  } catch {
    // A folder that cannot be written must not keep a command from its work.
  }
}

function readOrBegin(path: string): Memory {
  try {
    return read(path);
  } catch {
    return { version: 1, homes: {} };
  }
}

function save(path: string, memory: Memory): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${crypto.randomUUID()}`;
  writeFileSync(temporary, JSON.stringify(memory), { mode: 0o600, flag: "wx" });
  renameSync(temporary, path);
  chmodSync(path, 0o600);
}

function read(path: string): Memory {
  return Memory.parse(JSON.parse(readSmallFile(path, MAX_BYTES)));
}

function stateFolder(io: Pick<Io, "env">): string {
  const { XDG_STATE_HOME: state, LOCALAPPDATA: local } = io.env;
  if (platform() === "win32") return local || join(userHome(io), "AppData", "Local");
  if (platform() === "darwin") return join(userHome(io), "Library", "Application Support");
  return state && isAbsolute(state) ? state : join(userHome(io), ".local", "state");
}
