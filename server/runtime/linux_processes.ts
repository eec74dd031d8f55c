import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { readFileSync, readlinkSync } from "node:fs";
import { setImmediate as pause } from "node:timers/promises";
import type { ListeningPort, ProcessList, RunningProcess } from "./process_list.ts";

/** The facts of a process that do not change while it runs. */
interface Lasting {
  start_time: string;
  uid: number | null;
  argv: string[];
  stat: NonNullable<ReturnType<typeof parseStat>>;
  /** When `stat` was read. */
  read_at: number;
}

const AT_ONCE = 32;
/** Long enough to recognize a program and to show it. */
const MOST_ARGUMENTS_BYTES = 8_192;
const MOST_ENVIRONMENT_BYTES = 1024 * 1024;
const MOST_OPEN_FILES = 10_000;
const MOST_SOCKETS = 10_000;
/** After this time a socket without a known owner is looked for again. */
const UNOWNED_MS = 60_000;
/** Linux tells times in hundredths of a second to programs, on every machine. */
const TICKS_PER_SECOND = 100;

/** The processes of a Linux machine, read from `/proc`. */
export class LinuxProcesses implements ProcessList {
  readonly machine = {
    boot_id: attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? "",
    pid_namespace: attempt(() => readlinkSync("/proc/self/ns/pid").replace(/^pid:/, "")),
  };
  readonly #booted_at = bootedAt();
  readonly #page_bytes = pageBytes();
  #lasting = new Map<number, Lasting>();
  /** The process of each listening socket, by inode, as it was found last. */
  #owners = new Map<string, number>();
  /** The sockets whose process this user may not see, and when all processes were looked at. */
  #unowned = new Set<string>();
  #owned_at = -Infinity;

  async all(tolerated_ms = 0): Promise<RunningProcess[]> {
    const pids = await pidsIn("/proc");
    const present = new Set(pids);
    const seen = new Map<number, Lasting>();
    const now = performance.now();
    // Each process has its own time, so that one round does not read them all.
    const isRecent = (pid: number, { read_at, stat }: Lasting) =>
      now - read_at < tolerated_ms * (16 + pid % 16) / 32 && this.#isSettled(stat) &&
      (stat.ppid === 0 || present.has(stat.ppid));
    const found = await inTurn(pids, async (pid) => {
      const known = this.#lasting.get(pid);
      const lasting = known && isRecent(pid, known) ? known : await this.#read(pid, known);
      if (lasting === null) return [];
      seen.set(pid, lasting);
      const { stat, start_time, uid, argv } = lasting;
      return [{
        ...{ pid, ppid: stat.ppid, start_time, uid, argv },
        started_at: this.#booted_at === null
          ? null
          : this.#booted_at + stat.start_ticks / TICKS_PER_SECOND * 1000,
        memory_bytes: this.#page_bytes === null ? null : stat.memory_pages * this.#page_bytes,
      }];
    });
    this.#lasting = seen;
    return found.flat();
  }

  async foldersOf(pids: readonly number[]): Promise<Map<number, string>> {
    const found = await inTurn(pids, async (pid) => {
      const folder = await readlink(`/proc/${pid}/cwd`).catch(() => null);
      return folder === null ? [] : [[pid, folder.replace(/ \(deleted\)$/, "")] as const];
    });
    return new Map(found.flat());
  }

  async variablesOf(pid: number, names: ReadonlySet<string>): Promise<Record<string, string>> {
    const bytes = await readFile(`/proc/${pid}/environ`).catch(() => null);
    if (bytes === null || bytes.length > MOST_ENVIRONMENT_BYTES) return {};
    const pairs = bytes.toString("utf8").split("\0").flatMap((text) => {
      const at = text.indexOf("=");
      const name = text.slice(0, at);
      return at > 0 && names.has(name) ? [[name, text.slice(at + 1, at + 257)]] : [];
    });
    return Object.fromEntries(pairs);
  }

  async listening(): Promise<ListeningPort[]> {
    const tables = await Promise.all([
      listenersIn("/proc/net/tcp", 4),
      listenersIn("/proc/net/tcp6", 6),
    ]);
    const sockets = tables.flat();
    const owners = await this.#ownersOf(new Set(sockets.map(({ inode }) => inode)));
    return sockets.flatMap(({ inode, ...one }) =>
      (owners.get(inode) ?? []).map((pid) => ({ pid, ...one }))
    );
  }

  async lockedFiles(): Promise<Set<string> | null> {
    const text = await textOf("/proc/locks");
    return text === null ? null : parseLocks(text);
  }

  async #read(pid: number, known: Lasting | undefined): Promise<Lasting | null> {
    const read_at = performance.now();
    const stat = parseStat(await textOf(`/proc/${pid}/stat`) ?? "");
    if (stat === null) return null;
    const start_time = `${this.machine.boot_id}:${stat.start_ticks}`;
    const isKnown = known?.start_time === start_time && known.argv.length > 0 &&
      this.#isSettled(stat);
    const { uid, argv } = isKnown ? known : await this.#look(pid);
    return { start_time, uid, argv, stat, read_at };
  }

  /** A process may replace its program once, right after it began. */
  #isSettled({ start_ticks }: Lasting["stat"]): boolean {
    return this.#ageOf(start_ticks) > 5_000;
  }

  async #look(pid: number): Promise<Pick<Lasting, "uid" | "argv">> {
    const [line, owner] = await Promise.all([
      readFile(`/proc/${pid}/cmdline`).catch(() => null),
      stat(`/proc/${pid}`).catch(() => null),
    ]);
    const text = line?.subarray(0, MOST_ARGUMENTS_BYTES).toString("utf8") ?? "";
    const argv = text === "" ? [] : text.replace(/\0$/, "").split("\0");
    return { uid: owner?.uid ?? null, argv };
  }

  #ageOf(start_ticks: number): number {
    if (this.#booted_at === null) return 0;
    return Date.now() - this.#booted_at - start_ticks / TICKS_PER_SECOND * 1000;
  }

  /** The processes that hold each socket. Looks at all open files only for a socket that is new. */
  async #ownersOf(inodes: ReadonlySet<string>): Promise<Map<string, number[]>> {
    const pids = new Set(await pidsIn("/proc"));
    const now = performance.now();
    const isKnown = (inode: string) =>
      this.#unowned.has(inode) || pids.has(this.#owners.get(inode) ?? -1);
    const isAll = now - this.#owned_at >= UNOWNED_MS || ![...inodes].every(isKnown);
    const wanted = isAll ? [...pids] : [...new Set(this.#owners.values())];
    const owners = new Map<string, number[]>();
    await inTurn(wanted, async (pid) => {
      for (const inode of await socketsOf(pid)) {
        if (inodes.has(inode)) owners.set(inode, [...owners.get(inode) ?? [], pid]);
      }
    });
    this.#owners = new Map([...owners].map(([inode, holders]) => [inode, holders[0]!]));
    if (!isAll) return owners;
    this.#owned_at = now;
    this.#unowned = new Set([...inodes].filter((inode) => !owners.has(inode)));
    return owners;
  }
}

/** The fields of `/proc/<pid>/stat` that are used here; null for a process that has ended. */
export function parseStat(text: string) {
  // The name in parentheses may contain blanks and parentheses, so fields count from its end.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  if (fields.length < 22 || fields[0] === "Z" || fields[0] === "X") return null;
  return {
    ppid: Number(fields[1]),
    start_ticks: Number(fields[19]),
    memory_pages: Number(fields[21]),
  };
}

/** The listening sockets of one table. The table may hold 100,000 connections besides. */
async function listenersIn(path: string, family: 4 | 6): Promise<TcpSocket[]> {
  const bytes = await readFile(path).catch(() => new Uint8Array());
  const found: TcpSocket[] = [];
  for (let at = 0; at < bytes.length && found.length < MOST_SOCKETS;) {
    if (at > 0) await pause();
    const end = bytes.indexOf(NEWLINE, at + TABLE_BYTES) + 1 || bytes.length;
    found.push(...parseTcpTable(new TextDecoder().decode(bytes.subarray(at, end)), family));
    at = end;
  }
  return found;
}

/** Bytes between two pauses of the event loop. */
const TABLE_BYTES = 256 * 1024;
const NEWLINE = 10;
/** A line whose state is "listening": address, port and inode. */
const LISTENING = /^ *\d+: ([\dA-F]+):([\dA-F]+) +\S+ +0A +\S+ +\S+ +\S+ +\d+ +\d+ +(\d+) /gm;

interface TcpSocket extends Omit<ListeningPort, "pid"> {
  inode: string;
}

/** The listening sockets in `/proc/net/tcp` or `/proc/net/tcp6`. */
export function parseTcpTable(text: string, family: 4 | 6): TcpSocket[] {
  return [...text.matchAll(LISTENING)].map(([, address = "", port = "", inode = ""]) => ({
    address: family === 4 ? addressOf4(address) : addressOf6(address),
    port: parseInt(port, 16),
    family,
    inode,
  }));
}

/** The files in `/proc/locks` that a process holds, as `device:inode`. */
export function parseLocks(text: string): Set<string> {
  const found = text.matchAll(/ ([0-9a-f]+):([0-9a-f]+):(\d+) \d+ (?:\d+|EOF)$/gm);
  return new Set(
    [...found].map(([, major = "", minor = "", inode]) =>
      `${deviceOf(parseInt(major, 16), parseInt(minor, 16))}:${inode}`
    ),
  );
}

/** The device number that `stat()` tells for a device of these two numbers (glibc's `makedev`). */
function deviceOf(major: number, minor: number): bigint {
  const [high, low] = [BigInt(major), BigInt(minor)];
  return (low & 0xffn) | ((high & 0xfffn) << 8n) | ((low & ~0xffn) << 12n) |
    ((high & ~0xfffn) << 32n);
}

/** The kernel writes the four bytes in the order of the machine. */
function addressOf4(hex: string): string {
  return bytesOf(hex).reverse().join(".");
}

function addressOf6(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => bytesOf(word).reverse());
  const groups = Array.from(
    { length: 8 },
    (_, at) => ((bytes[at * 2] ?? 0) * 256 + (bytes[at * 2 + 1] ?? 0)).toString(16),
  );
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

function bytesOf(hex: string): number[] {
  return (hex.match(/../g) ?? []).map((pair) => parseInt(pair, 16));
}

async function socketsOf(pid: number): Promise<string[]> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const targets = await inTurn(
    names.slice(0, MOST_OPEN_FILES),
    (name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => ""),
  );
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
}

async function pidsIn(folder: string): Promise<number[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

async function textOf(path: string): Promise<string | null> {
  return await readFile(path, "utf8").catch(() => null);
}

/** Maps with a bounded number of reads at once, so that no other read has to wait for all of them. */
async function inTurn<T, R>(items: readonly T[], map: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    results.push(...await Promise.all(items.slice(at, at + AT_ONCE).map(map)));
  }
  return results;
}

/** When the machine was started, in milliseconds since 1970. */
function bootedAt(): number | null {
  const text = attempt(() => readFileSync("/proc/stat", "utf8"));
  const seconds = /^btime (\d+)$/m.exec(text ?? "")?.[1];
  if (seconds === undefined) return null;
  // The kernel tells whole seconds here. The uptime is more exact, but may be that of a container.
  const up = parseFloat(attempt(() => readFileSync("/proc/uptime", "utf8")) ?? "");
  const exact = Math.round(Date.now() - up * 1000);
  return Math.abs(exact - Number(seconds) * 1000) <= 2_000 ? exact : Number(seconds) * 1000;
}

/** The kernel tells each program the size of a page in its auxiliary vector: pairs of words, kind 6. */
function pageBytes(): number | null {
  const bytes = attempt(() => readFileSync("/proc/self/auxv"));
  for (let at = 0; bytes && at + 16 <= bytes.length; at += 16) {
    if (bytes.readBigUInt64LE(at) === 6n) return Number(bytes.readBigUInt64LE(at + 8));
  }
  return null;
}

function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
