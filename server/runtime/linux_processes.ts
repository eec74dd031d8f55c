import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { readFileSync, readlinkSync } from "node:fs";
import type { ListeningPort, ProcessList, RunningProcess } from "./process_list.ts";

/** What of a process does not change while it runs. */
interface Lasting {
  start_time: string;
  uid: number | null;
  argv: string[];
}

const AT_ONCE = 32;
/** Long enough to recognize a program and to show it. */
const MOST_ARGUMENTS_BYTES = 8_192;
const MOST_ENVIRONMENT_BYTES = 1024 * 1024;
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

  async all(): Promise<RunningProcess[]> {
    const pids = await pidsIn("/proc");
    const seen = new Map<number, Lasting>();
    const found = await inTurn(pids, async (pid) => {
      const stat = parseStat(await textOf(`/proc/${pid}/stat`) ?? "");
      if (stat === null) return [];
      const start_time = `${this.machine.boot_id}:${stat.start_ticks}`;
      const known = this.#lasting.get(pid);
      // A process may replace its program once, right after it began.
      const isSettled = known?.start_time === start_time && known.argv.length > 0 &&
        this.#ageOf(stat.start_ticks) > 5_000;
      const lasting = isSettled ? known : await this.#look(pid, start_time);
      seen.set(pid, lasting);
      return [{
        pid,
        ppid: stat.ppid,
        ...lasting,
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
      textOf("/proc/net/tcp").then((text) => parseTcpTable(text ?? "", 4)),
      textOf("/proc/net/tcp6").then((text) => parseTcpTable(text ?? "", 6)),
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

  async #look(pid: number, start_time: string): Promise<Lasting> {
    const [line, owner] = await Promise.all([
      readFile(`/proc/${pid}/cmdline`).catch(() => null),
      stat(`/proc/${pid}`).catch(() => null),
    ]);
    const text = line?.subarray(0, MOST_ARGUMENTS_BYTES).toString("utf8") ?? "";
    const argv = text === "" ? [] : text.replace(/\0$/, "").split("\0");
    return { start_time, uid: owner?.uid ?? null, argv };
  }

  #ageOf(start_ticks: number): number {
    if (this.#booted_at === null) return 0;
    return Date.now() - this.#booted_at - start_ticks / TICKS_PER_SECOND * 1000;
  }

  /** The processes that hold each socket. Looks at all open files only for a socket that is new. */
  async #ownersOf(inodes: ReadonlySet<string>): Promise<Map<string, number[]>> {
    const pids = new Set(await pidsIn("/proc"));
    const isNew = [...inodes].some((inode) => !pids.has(this.#owners.get(inode) ?? -1));
    const wanted = isNew ? [...pids] : [...new Set(this.#owners.values())];
    const owners = new Map<string, number[]>();
    await inTurn(wanted, async (pid) => {
      for (const inode of await socketsOf(pid)) {
        if (inodes.has(inode)) owners.set(inode, [...owners.get(inode) ?? [], pid]);
      }
    });
    this.#owners = new Map([...owners].map(([inode, holders]) => [inode, holders[0]!]));
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

const LISTEN = "0A";

/** The listening sockets in `/proc/net/tcp` or `/proc/net/tcp6`. */
export function parseTcpTable(text: string, family: 4 | 6) {
  return text.split("\n").slice(1).map((line) => line.trim().split(/\s+/)).flatMap((fields) => {
    const [address = "", port = ""] = (fields[1] ?? "").split(":");
    if (fields[3] !== LISTEN || port === "") return [];
    return [{
      address: family === 4 ? addressOf4(address) : addressOf6(address),
      port: parseInt(port, 16),
      family,
      inode: fields[9] ?? "",
    }];
  });
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
  const targets = await Promise.all(
    names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => "")),
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

function bootedAt(): number | null {
  const text = attempt(() => readFileSync("/proc/stat", "utf8"));
  const seconds = /^btime (\d+)$/m.exec(text ?? "")?.[1];
  return seconds === undefined ? null : Number(seconds) * 1000;
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
