import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type {
  ListeningPort,
  ProcessList,
  RunningProcess,
} from "../../../server/runtime/process_list.ts";

const FIXTURES = fileURLToPath(new URL("fixtures/", import.meta.url));

export const BOOT = "00000000-0000-4000-8000-000000000001";

/** A machine whose processes, folders, variables and ports are what a test says. */
export class TestMachine implements ProcessList {
  readonly machine = { boot_id: BOOT, pid_namespace: "[4026531836]" };
  running: RunningProcess[] = [];
  folders = new Map<number, string>();
  variables = new Map<number, Record<string, string>>();
  ports: ListeningPort[] = [];
  locked: Set<string> | null = new Set();
  /** How often the environment of a process was read. */
  reads = 0;

  /** Adds a process that began with these words, and returns its pid. */
  add(pid: number, line: string, more: Partial<RunningProcess> & { cwd?: string } = {}): number {
    const { cwd, ...rest } = more;
    this.running.push({
      ...{ pid, ppid: 1, uid: 1000, start_time: `${BOOT}:${pid}`, started_at: null },
      ...{ argv: line.split(" "), memory_bytes: 1024, ...rest },
    });
    if (cwd !== undefined) this.folders.set(pid, cwd);
    return pid;
  }

  listen(pid: number, port: number): void {
    this.ports.push({ pid, port, address: "127.0.0.1", family: 4 });
  }

  end(pid: number): void {
    this.running = this.running.filter((one) => one.pid !== pid);
    this.ports = this.ports.filter((one) => one.pid !== pid);
  }

  all = () => Promise.resolve([...this.running]);
  foldersOf = (pids: readonly number[]) =>
    Promise.resolve(new Map([...this.folders].filter(([pid]) => pids.includes(pid))));
  variablesOf = (pid: number, names: ReadonlySet<string>) => {
    this.reads++;
    const all = Object.entries(this.variables.get(pid) ?? {});
    return Promise.resolve(Object.fromEntries(all.filter(([name]) => names.has(name))));
  };
  listening = () => Promise.resolve([...this.ports]);
  lockedFiles = () => Promise.resolve(this.locked);
}

/** A home folder with the trees of the named agents, as they left them. */
export function homeWith(trees: Record<string, string>): string {
  const home = emptyHome();
  for (const [to, from] of Object.entries(trees)) {
    mkdirSync(dirname(join(home, to)), { recursive: true });
    cpSync(join(FIXTURES, from), join(home, to), { recursive: true });
  }
  return home;
}

export function emptyHome(): string {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "gate-agents-")));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** The path of a fixture. */
export function fixture(path: string): string {
  return join(FIXTURES, path);
}
