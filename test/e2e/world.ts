import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { DENO, denoFolder } from "../deno_folder.ts";
import { installedBun, thisMachine } from "../../dist/targets.ts";
import { readTokenFile } from "../../server/auth/token_file.ts";
import { identify } from "../../server/runtime/processes.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The command line of gate on each runtime. */
export const SUBJECTS = {
  deno: [DENO, "run", "--cached-only", "--allow-all", "--no-prompt", join(ROOT, "cli/main.ts")],
  node: ["node", join(ROOT, "dist/node/gate.mjs")],
  bun: [bunPath(), join(ROOT, "cli/main.ts")],
  executable: [join(ROOT, "dist/bin", process.platform === "win32" ? "gate.exe" : "gate")],
} as const;

export type Subject = keyof typeof SUBJECTS;

/** The default policy of the test projects. */
export const POLICIES = {
  defaultEffect: "ask",
  allowedPaths: ["src/**"],
  askPaths: ["docs/**"],
  blockedPaths: [
    { pattern: ".env", reason: "secrets stay with people", alternative: "write .env.example" },
  ],
  allowedCommands: ["echo"],
  maxBashOutputBytes: 2000,
};

/** The exit code and output of a program. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface WorldOptions {
  /** Restricts PATH to a shell and a few tools. */
  isBare?: boolean;
  /** `token` lets the reviewer's token decide; `none` leaves the home as a new user finds it. */
  proof?: "token" | "none";
}

/** Writes the global config of a home in which the reviewer's token decides. */
export function decideByToken(home: string): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, "config.json"), JSON.stringify({ approvals: { proof: "token" } }));
}

/** One gate with its own home, project, port and a minimal environment. */
export class World {
  readonly folder = mkdtempSync(join(tmpdir(), "gate-world-"));
  readonly home = join(this.folder, "home");
  readonly gateHome = join(this.home, ".gate");
  readonly project = join(this.folder, "project");
  readonly port: number;
  readonly env: Record<string, string>;
  #command: readonly string[];
  readonly #tokens = new Map<string, string>();

  private constructor(subject: Subject, port: number, { isBare, proof }: Required<WorldOptions>) {
    this.#command = SUBJECTS[subject];
    this.port = port;
    mkdirSync(this.home, { mode: 0o700 });
    mkdirSync(this.project);
    if (proof === "token") decideByToken(this.gateHome);
    this.env = {
      HOME: this.home,
      PATH: isBare ? bareBin(join(this.folder, "bin")) : process.env["PATH"]!,
      GATE_PORT: String(port),
      NO_COLOR: "1",
      ...(subject === "deno" ? denoFolder() : {}),
    };
  }

  static async create(
    subject: Subject,
    { isBare = false, proof = "token" }: WorldOptions = {},
  ): Promise<World> {
    return new World(subject, await freePort(), { isBare, proof });
  }

  /** Runs all later commands with this program, as after an upgrade. */
  use(command: readonly string[]): void {
    this.#command = command;
  }

  /** Writes the project's config, registers it and starts the daemon. */
  async init(given: object = POLICIES): Promise<void> {
    // With a sandbox, fewer commands are held, and some tests write more than an agent in a day; a
    // test that wants the sandbox or the budget says so.
    const policies = {
      ...{ sandbox: { mode: "off" }, maxChangedFilesPerSession: 1_000_000 },
      ...given,
    };
    this.write("gate.config.json", JSON.stringify({ id: "demo", policies }, null, 2));
    must(await this.run(["init", "--yes"]));
    must(await this.run(["daemon", "start"]));
  }

  write(path: string, text: string, mode = 0o644): string {
    const file = join(this.project, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
    return file;
  }

  /** Runs one command to its end. */
  async run(args: string[], options: { input?: string; cwd?: string } = {}): Promise<Ended> {
    const child = this.spawn(args, options.cwd);
    const output = { stdout: "", stderr: "" };
    child.stdout!.on("data", (chunk) => output.stdout += chunk);
    child.stderr!.on("data", (chunk) => output.stderr += chunk);
    child.stdin!.end(options.input ?? "");
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    return { code, ...output };
  }

  /** Runs a command that must succeed and print JSON. */
  // deno-lint-ignore no-explicit-any
  async json(args: string[]): Promise<any> {
    return JSON.parse(must(await this.run(args)).stdout);
  }

  spawn(args: string[], cwd = this.project): ChildProcess {
    const [command, ...first] = this.command(args);
    return spawn(command!, first, { cwd, env: this.env, stdio: "pipe" });
  }

  command(args: string[]): string[] {
    return [...this.#command, ...args];
  }

  /** One request to the daemon, with a token of that scope. */
  async api(method: string, path: string, body?: unknown, scope = "reviewer") {
    const headers = { authorization: `Bearer ${await this.token(scope)}`, ...JSON_TYPE };
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers,
      ...(method === "GET" ? {} : { body: JSON.stringify(body ?? {}) }),
    });
    // deno-lint-ignore no-explicit-any
    return { status: response.status, body: await response.json() as any };
  }

  async token(scope: string): Promise<string> {
    const known = this.#tokens.get(scope);
    if (known) return known;
    // Reading what the daemon wrote takes no program of its own.
    const found = readTokenFile(this.gateHome, scope);
    const token = "token" in found
      ? found.token
      : must(await this.run(["token", "--scope", scope])).stdout.trim();
    this.#tokens.set(scope, token);
    return token;
  }

  daemonPid(): Promise<number> {
    return this.json(["api", "GET", "/api/daemon/status"]).then(({ pid }) => pid);
  }

  /** Kills the daemon with SIGKILL. */
  async kill(pid: number): Promise<void> {
    process.kill(pid, "SIGKILL");
    await until("the daemon is gone", () => !isRunning(pid));
  }

  /** Runs `work` while the daemon is stopped, so that it accepts connections but never answers. */
  async whileFrozen<T>(work: () => Promise<T>): Promise<T> {
    const pid = await this.daemonPid();
    process.kill(pid, "SIGSTOP");
    try {
      return await work();
    } finally {
      process.kill(pid, "SIGCONT");
    }
  }

  async close(): Promise<void> {
    await this.run(["daemon", "stop"]).catch(() => {});
    this.remove();
  }

  /** Removes only the folder, for tests that start the daemon themselves. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const JSON_TYPE = { "content-type": "application/json" };

/** Returns `ended` if its exit code is 0. @throws Error with its output otherwise */
export function must(ended: Ended): Ended {
  if (ended.code === 0) return ended;
  throw new Error(`exit ${ended.code}\n${ended.stdout}\n${ended.stderr}`);
}

/** Polls until the condition holds. @throws Error after the deadline, with `what` */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  deadline_ms = 60_000,
): Promise<NonNullable<T>> {
  const end = Date.now() + deadline_ms;
  while (Date.now() < end) {
    const value = await condition();
    if (value) return value as NonNullable<T>;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`timed out after ${deadline_ms} ms: ${what}`);
}

/** A free TCP port on loopback. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

function isRunning(pid: number): boolean {
  return identify(pid) !== null;
}

function bunPath(): string {
  return installedBun(ROOT, thisMachine(process.platform, process.arch, isMusl()));
}

function isMusl(): boolean {
  return existsSync("/etc/alpine-release");
}

const TOOLS = ["sh", "bash", "cat", "seq", "printf", "ls", "rm", "sleep", "env", "git"];

// Node, Deno and Bun must not be on this PATH.
function bareBin(folder: string): string {
  mkdirSync(folder);
  for (const tool of TOOLS) {
    const found = execFileSync("sh", ["-c", `command -v ${tool} || true`]).toString().trim();
    if (found.startsWith("/")) symlinkSync(found, join(folder, tool));
  }
  return folder;
}
