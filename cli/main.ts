import { VERSION } from "../server/constants.ts";
import type { Io, Signal } from "./io.ts";

/** The one that every runtime has at hand: importing it by name takes longer. */
const { process } = globalThis;

/** The entry: hands arguments, environment and streams on. `--version` loads nothing more. */
async function main(argv: string[]): Promise<void> {
  // Without node:path, which every start would wait for.
  const isTool = /(?:^|[\\/])scenario-tool[^\\/]*$/.test(process.argv0);
  const called = isTool ? "scenario-tool" : "gate";
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
    console.log(`${called} ${VERSION}`); // touching process.stdout would double the time of the start
    return;
  }
  if (called === "scenario-tool") {
    const scenario = await import("./scenario/main.ts");
    return leave(await scenario.main(argv, { ...processIo(), version: VERSION }));
  }
  if (argv.length === 1 && argv[0] === "prompt") {
    // A shell waits for this before each line: no parser of arguments is loaded.
    const { beginEarly } = await import("./daemon/early.ts");
    const early = beginEarly(process.env, "viewer");
    const { promptText } = await import("./daemon/prompt.ts");
    const text = await promptText({ env: { ...process.env }, cwd: workingFolder(), early });
    if (text) console.log(text.trimEnd()); // cheaper than process.stdout, which a shell waits for
    return process.exit(0);
  }
  if (argv.length === 2 && argv[0] === "hook" && !argv[1]!.startsWith("-")) {
    // A host waits for this before each tool: nothing is loaded that it can do without.
    const { beginEarly } = await import("./daemon/early.ts");
    const early = beginEarly(process.env, "agent");
    const { runHook } = await import("./hook/run.ts");
    const io = { env: { ...process.env }, cwd: workingFolder(), pid: process.pid, early };
    return process.exit(await runHook(argv[1]!, io));
  }
  const { run } = await import("./run.ts");
  leave(await run(argv, processIo()));
}

function processIo(): Io {
  // Whoever reads us may close early (`gate log | head`): that is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A command that listens for this itself has something to put in order first.
    if (process.stdout.listenerCount("error") > 1) return;
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
  return {
    env: { ...process.env },
    cwd: workingFolder(),
    pid: process.pid,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    onSignal,
    onFault: hearFaults(),
    killGroup,
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    return "/"; // deleted under our feet; no project ever is at the root
  }
}

/** The scenario tool has a code of its own: with 1, a scenario has failed. */
const FAULT =
  /(?:^|[\\/])scenario-tool[^\\/]*$/.test(process.argv0) || process.argv[2] === "scenario" ? 3 : 1;

/** A fault that nothing caught ends the process; a person is told in words, never by a stack. */
function hearFaults(): Io["onFault"] {
  const handlers = new Set<(error: unknown) => void>();
  for (const kind of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(kind, (error: unknown) => {
      for (const handle of handlers) handle(error);
      const message = error instanceof Error ? error.message : String(error);
      process.stderr.write(`gate: Unexpected failure: ${JSON.stringify(message)}\n`);
      process.exit(FAULT);
    });
  }
  return (handler) => void handlers.add(handler);
}

function onSignal(handler: (signal: Signal) => void): () => void {
  const signals: Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
  const handlers = signals.map((signal) => [signal, () => handler(signal)] as const);
  for (const [signal, hear] of handlers) process.on(signal, hear);
  return () => handlers.forEach(([signal, hear]) => process.off(signal, hear));
}

/**
 * Ends the process once both streams have taken what was written. Bun calls back a write of nothing
 * before earlier ones are out; only the end of a stream comes after all of it.
 */
function leave(code: number): void {
  process.exitCode = code;
  process.stdout.end(() => process.stderr.end(() => process.exit(code)));
}

await main(process.argv.slice(2));
