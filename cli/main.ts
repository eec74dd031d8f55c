import { VERSION } from "../server/constants.ts";
import type { Io, Signal } from "./io.ts";

/** The global object: importing `node:process` makes the start slower. */
const { process } = globalThis;

/** Neither node:path nor a pattern, which would slow down every start. */
const IS_TOOL = process.argv0.split("/").pop()!.split("\\").pop()!.startsWith("scenario-tool");

/** Passes arguments, environment and streams to the program; `--version` loads nothing else. */
async function main(argv: string[]): Promise<void> {
  const called = IS_TOOL ? "scenario-tool" : "gate";
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
    const { print } = await import("../server/runtime/print.ts");
    return await print(`${called} ${VERSION}\n`).catch(cannotPrint);
  }
  if (called === "scenario-tool") {
    const scenario = await import("./scenario/main.ts");
    return leave(await scenario.main(argv, { ...processIo(), version: VERSION }));
  }
  if (argv.length === 1 && argv[0] === "prompt") {
    // A shell waits for this before each prompt, so the argument parser is not loaded.
    const { promptText } = await import("./daemon/prompt.ts");
    const io = { env: { ...process.env }, cwd: workingFolder(), is_alone: true };
    const text = await promptText(io);
    if (text) console.log(text.trimEnd()); // faster than opening process.stdout
    return process.exit(0);
  }
  if (argv.length === 2 && argv[0] === "hook" && !argv[1]!.startsWith("-")) {
    // A host waits for this before each tool call, so the daemon is asked before more is loaded.
    const { beginHook } = await import("./hook/begin.ts");
    const begun = await beginHook(argv[1]!, process.env);
    const { runHook } = await import("./hook/run.ts");
    const io = { env: { ...process.env }, cwd: workingFolder(), pid: process.pid, begun };
    return process.exit(await runHook(argv[1]!, io));
  }
  if (argv.length === 3 && argv[0] === "hook" && argv[1] === "run") {
    const { runWalled } = await import("./hook/walled_run.ts");
    return leave(await runWalled(argv[2]!, processIo()));
  }
  if (argv.length === 3 && argv[0] === "sandbox-relay") {
    const { relay } = await import("../server/runtime/relay.ts");
    return relay(argv[1]!, Number(argv[2]));
  }
  if (argv.length > 1 && argv[0] === "sandbox-confine") {
    const { confine } = await import("../server/runtime/confine.ts");
    return await confine(argv.slice(1));
  }
  const { run } = await import("./program.ts");
  leave(await run(argv, processIo()));
}

function processIo(): Io {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A command with a handler of its own cleans up and ends the process itself.
    if (process.stdout.listenerCount("error") > 1) return;
    cannotPrint(error);
  });
  // Nobody can be told that messages are lost; the exit code stays that of the command.
  process.stderr.on("error", () => {});
  return {
    env: { ...process.env },
    cwd: workingFolder(),
    pid: process.pid,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    onSignal,
    interrupt: () => void process.kill(process.pid, "SIGINT"),
    onFault: hearFaults(),
    killGroup,
  };
}

/** Ends the process. A reader may close the pipe early (`gate log | head`): that is no failure. */
function cannotPrint({ code, message }: NodeJS.ErrnoException): void {
  if (code === "EPIPE") return process.exit(0);
  const reason = code === "ENOSPC" ? "the disk is full" : message;
  const next = "make room where the output goes, then the same command";
  console.error(`gate: Cannot write the output: ${reason}\n  try: ${next}`);
  process.exit(FAULT);
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has already ended.
  }
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    return "/"; // the folder was deleted; "/" never belongs to a project
  }
}

/** The scenario tool exits with 3: its exit code 1 means that a scenario failed. */
const FAULT = IS_TOOL || process.argv[2] === "scenario" ? 3 : 1;

/** An uncaught error ends the process with a message and no stack trace. */
function hearFaults(): Io["onFault"] {
  const handlers = new Set<(error: unknown) => void>();
  for (const kind of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(kind, (error: unknown) => {
      for (const handle of handlers) handle(error);
      const message = error instanceof Error ? error.message : String(error);
      process.stderr.write(`gate: Unexpected failure: ${asAscii(message)}\n`);
      process.exit(FAULT);
    });
  }
  return (handler) => void handlers.add(handler);
}

/** A JSON string that no terminal acts on. */
function asAscii(text: string): string {
  return JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function onSignal(handler: (signal: Signal) => void): () => void {
  const signals: Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
  const handlers = signals.map((signal) => [signal, () => handler(signal)] as const);
  for (const [signal, hear] of handlers) process.on(signal, hear);
  return () => handlers.forEach(([signal, hear]) => process.off(signal, hear));
}

/**
 * Ends the process after both streams are flushed. It ends the streams, because Bun calls back an
 * empty write before earlier writes are flushed.
 */
function leave(code: number): void {
  process.exitCode = code;
  process.stdout.end(() => process.stderr.end(() => process.exit(code)));
}

await main(process.argv.slice(2));
