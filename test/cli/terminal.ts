import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { PassThrough } from "node:stream";
import type { Io, Signal } from "../../cli/io.ts";
import { run } from "../../cli/program.ts";
import { denoFolder } from "../deno_folder.ts";
import { freePort } from "../e2e/world.ts";

/** The exit code and output of a command. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs commands in this process, with their own home, port and streams. */
export interface TestTerminal {
  folder: string;
  env: Io["env"];
  /** @param options.person makes the streams a terminal; `type` sends keys to it */
  run(args: string[], options?: RunOptions): Promise<Ended>;
  type(keys: string): void;
  /** Sends a signal to the running command. */
  signal(signal: Signal): void;
  /** The standard output of the running command so far. */
  printed(): string;
  /** Its standard error so far. */
  said(): string;
  /** Holds the clock of the running command; otherwise each look at it is 10 s later. */
  holdClock(): void;
  /** Ends `holdClock`. */
  letClockRun(): void;
  /** Moves the held clock on. */
  pass(ms: number): void;
  /** Gives the terminal of the running command another size. */
  resize(columns: number, rows: number): void;
  close(): void;
}

interface RunOptions {
  input?: string;
  cwd?: string;
  person?: boolean;
  /** The width of that terminal; 120 without it. */
  columns?: number;
  /** Its height; 40 without it. */
  rows?: number;
}

const STEP_MS = 10_000;

/** @param env overrides variables of a minimal environment with its own home and port */
export async function createTerminal(env: Io["env"] = {}): Promise<TestTerminal> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "gate-cli-")));
  mkdirSync(join(folder, "project"));
  const handlers = new Set<(signal: Signal) => void>();
  const port = String(await freePort());
  const deno = "Deno" in globalThis ? denoFolder() : {};
  const whole = { HOME: folder, PATH: process.env["PATH"], GATE_PORT: port, ...deno, ...env };
  let stdout: Collected;
  let stderr: Collected;
  let stdin: PassThrough;
  const clock = { now: 0, step: STEP_MS };
  return {
    holdClock: () => void (clock.step = 0),
    letClockRun: () => void (clock.step = STEP_MS),
    pass: (ms) => void (clock.now += ms),
    type: (keys) => void stdin.write(keys),
    folder,
    env: whole,
    signal: (signal) => handlers.forEach((handle) => handle(signal)),
    printed: () => stdout.text(),
    said: () => stderr.text(),
    resize: (columns, rows) => void Object.assign(stdout.stream, { columns, rows }).emit("resize"),
    close: () => rmSync(folder, { recursive: true, force: true }),
    async run(
      args,
      { input = "", cwd = join(folder, "project"), person = false, columns = 120, rows = 40 } = {},
    ) {
      const size = person ? { columns, rows } : null;
      stdout = collect(size);
      const own = stderr = collect(size);
      stdin = Object.assign(new PassThrough(), { isTTY: person, setRawMode: () => {} });
      if (!person) stdin.end(input);
      const code = await run(args, {
        env: whole,
        cwd,
        pid: process.pid,
        stdin,
        stdout: stdout.stream,
        stderr: own.stream,
        clock: () => clock.now += clock.step,
        onFault: () => {},
        interrupt: () => handlers.forEach((handle) => handle("SIGINT")),
        killGroup: () => {},
        onSignal(handler) {
          handlers.add(handler);
          return () => handlers.delete(handler);
        },
      });
      return { code, stdout: stdout.text(), stderr: own.text() };
    },
  };
}

interface Collected {
  stream: PassThrough;
  text(): string;
}

function collect(size: { columns: number; rows: number } | null): Collected {
  const chunks: Uint8Array[] = [];
  const stream = Object.assign(new PassThrough(), size && { isTTY: true, ...size });
  stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
}
