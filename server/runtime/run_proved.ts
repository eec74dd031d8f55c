import { type ChildProcess, spawn } from "node:child_process";
import { Buffer } from "node:buffer";
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { constants as system, tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import type { Readable } from "node:stream";
import { echoOutput, printfOutput } from "./builtin_output.ts";
import { CAN_MAKE_PIPES, openPipes, type Pipe, readPipe } from "./pipes.ts";
import { findProgram, isUnchanged, type Program, programKey } from "./find_program.ts";

/** A proved command, with the program files that policy evaluated. */
export interface ProvedRun {
  steps: readonly Step[];
  /** Every program that it starts. */
  programs: readonly Program[];
  /** The targets of its redirects whose path led through a link. */
  links: readonly { path: string; real: string }[];
}

/** One pipeline; without stages it only succeeds, or begins a loop. */
interface Step {
  /** The outcome of the step before that starts it. */
  when: "always" | "success" | "failure";
  /** The length of the loop that it begins. */
  skips: number;
  stages: readonly Stage[];
}

interface Stage {
  argv: readonly string[];
  /** A shell would run this name itself. */
  builtin: boolean;
  variables: readonly (readonly [name: string, value: string])[];
  redirects: readonly Redirect[];
}

type Redirect =
  | { fd: 0 | 1 | 2; kind: "read" | "write" | "append"; path: string }
  | { fd: 0 | 1 | 2; kind: "duplicate"; of: 1 | 2 }
  | { fd: 0 | 1 | 2; kind: "text"; text: string };

/** How a proved command ended. */
export interface ProvedEnd {
  exit_code: number | null;
  error?: string;
}

/** Programs that do what a builtin does. */
const [CAT, TEST] = ["cat", "test"].map((name) =>
  ["/bin", "/usr/bin"].map((folder) => `${folder}/${name}`).find((path) => existsSync(path))
);

/** Whether this machine can connect programs without a shell. */
export const CAN_RUN_PROVED = process.platform !== "win32" && CAN_MAKE_PIPES && TEST !== undefined;

/** Ends the whole command. */
class Exit extends Error {
  readonly status: number;

  constructor(status: number, why = "exit") {
    super(why);
    this.status = status;
  }
}

/** A program or file is not the one that policy evaluated, so the command ends. */
class Changed extends Error {}

/** The standard streams of a command, as numbers of open files. */
type Streams = [input: number, output: number, errors: number];

/** Runs one proved command: gate starts each program itself and connects their streams. */
export class ProvedJob {
  /** Standard output and standard error of all programs, in the order of writing. */
  readonly output: Promise<Readable>;
  readonly ended: Promise<ProvedEnd>;
  readonly #run: ProvedRun;
  readonly #env: Record<string, string | undefined>;
  readonly #groups = new Set<number>();
  readonly #open = new Set<number>();
  readonly #ran = new Set<string>();
  /** The folder of the texts that it gives to programs; made for the first one. */
  #scratch: string | null = null;
  #cwd: string;
  #status = 0;
  #pipes: Pipe[] = [];
  #output = -1;
  #files = 0;
  #is_stopped = false;

  constructor(run: ProvedRun, cwd: string, env: Record<string, string | undefined>) {
    this.#run = run;
    this.#cwd = cwd;
    this.#env = env;
    const pipe = this.#takePipes().then(() => this.#openPipe());
    this.output = pipe.then(([read]) => {
      this.#open.delete(read);
      return readPipe(read);
    });
    this.ended = Promise.all([pipe, this.output]).then(([[, write]]) => this.#follow(write))
      .catch(endOf).finally(() => this.#cleanUp());
  }

  /** Signals every process that it started, and lets no further one start. */
  kill(signal: "SIGTERM" | "SIGKILL"): void {
    this.#is_stopped = true;
    for (const pid of this.#groups) signalGroup(pid, signal);
  }

  /** One pipe for the output, and those between the stages. */
  async #takePipes(): Promise<void> {
    this.#pipes = await openPipes(1 + pipesOf(this.#run.steps));
    for (const fd of this.#pipes.flat()) this.#keep(fd);
  }

  #openPipe(): Pipe {
    return this.#pipes.shift()!;
  }

  #cleanUp(): void {
    for (const fd of this.#open) closeSync(fd);
    this.#open.clear();
    if (this.#scratch !== null) rmSync(this.#scratch, { recursive: true, force: true });
  }

  async #follow(output: number): Promise<ProvedEnd> {
    this.#output = output;
    const nothing = this.#keep(openSync("/dev/null", constants.O_RDONLY));
    const { steps } = this.#run;
    for (let at = 0; at < steps.length; at++) {
      const { when, skips, stages } = steps[at]!;
      if (when !== "always" && (when === "success") !== (this.#status === 0)) at += skips;
      else if (this.#is_stopped) throw new Exit(143);
      else if (stages.length > 0) {
        this.#status = await this.#pipeline(stages, [nothing, output, output]);
      } else if (skips === 0) this.#status = 0;
    }
    return { exit_code: this.#status };
  }

  async #pipeline(stages: readonly Stage[], streams: Streams): Promise<number> {
    const ends: Promise<number>[] = [];
    let [input] = streams;
    for (const [at, stage] of stages.entries()) {
      const pipe = at < stages.length - 1 ? this.#openPipe() : null;
      const [, output, errors] = streams;
      ends.push(this.#command(stage, [input, pipe?.[1] ?? output, errors]));
      if (at > 0) this.#close(input);
      if (pipe) {
        this.#close(pipe[1]);
        input = pipe[0];
      }
    }
    return (await Promise.all(ends)).at(-1)!;
  }

  /** Starts a command before it returns, so that the caller may close its own ends of the pipes. */
  #command(command: Stage, streams: Streams): Promise<number> {
    const opened: number[] = [];
    const own: Streams = [...streams];
    try {
      for (const redirect of command.redirects) {
        own[redirect.fd] = redirect.kind === "duplicate"
          ? own[redirect.of]
          : this.#openFile(redirect, opened);
      }
      return command.builtin && command.argv[0] !== "which"
        ? this.#builtin(command, own)
        : this.#program(command, own);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return this.#say(`gate: ${error.message}\n`, own[2], 1);
    } finally {
      for (const fd of opened) this.#close(fd);
    }
  }

  /** The file of a redirect, opened where it led when it was judged. */
  #openFile(redirect: Exclude<Redirect, { kind: "duplicate" }>, opened: number[]): number {
    if (redirect.kind === "text") {
      opened.push(this.#textFile(redirect.text));
      return opened.at(-1)!;
    }
    const path = resolve(this.#cwd, redirect.path);
    const judged = this.#run.links.find((link) => link.path === path)?.real ?? path;
    try {
      const folder = realpathSync(dirname(judged));
      if (join(folder, basename(judged)) !== judged) {
        throw new Changed(leadsElsewhere(redirect.path));
      }
      const flags = judged === "/dev/null" ? 0 : constants.O_NOFOLLOW;
      opened.push(this.#keep(openSync(judged, flags | FLAGS[redirect.kind], 0o666)));
      return opened.at(-1)!;
    } catch (error) {
      const { code = "" } = error as { code?: string };
      if (code === "ELOOP") throw new Changed(leadsElsewhere(redirect.path));
      if (!(code in REFUSALS)) throw error;
      throw new Refusal(`${redirect.path}: ${REFUSALS[code]}`);
    }
  }

  #program(
    { argv: [name = "", ...words], variables }: Stage,
    streams: Streams,
  ): Promise<number> {
    const key = programKey(name, this.#cwd);
    const program = this.#run.programs.find((one) => one.name === key);
    if (!program) throw new Changed(`"${name}" is not the program that was judged`);
    if (!isUnchanged(program)) {
      throw new Changed(`the program "${program.path}" has changed since it was judged`);
    }
    this.#ran.add(name);
    const env = { ...this.#env, PWD: this.#cwd, ...Object.fromEntries(variables) };
    return isShellText(program.path)
      ? this.#spawn("/bin/sh", [program.path, ...words], streams, { env })
      : this.#spawn(program.path, words, streams, { env, argv0: name });
  }

  #spawn(
    path: string,
    words: readonly string[],
    streams: Streams,
    more: { env?: Record<string, string | undefined>; argv0?: string } = {},
  ): Promise<number> {
    return new Promise((resolve) => {
      const options = { cwd: this.#cwd, env: this.#env, detached: true, ...more };
      // The streams of the command may be closed by then.
      const failed = ({ code = "", message }: Error & { code?: string }) => {
        if (this.#is_stopped) resolve(143);
        else {
          const text = `gate: ${path}: ${REFUSALS[code] ?? message}\n`;
          resolve(this.#say(text, this.#output, code === "ENOENT" ? 127 : 126));
        }
      };
      let child: ChildProcess;
      try {
        child = spawn(path, words, { ...options, stdio: [...streams] });
      } catch (error) {
        return failed(error as Error);
      }
      const { pid } = child;
      if (pid !== undefined) this.#groups.add(pid);
      if (this.#is_stopped && pid !== undefined) signalGroup(pid, "SIGKILL");
      child.on("error", failed);
      child.on("exit", (code, signal) => {
        if (pid !== undefined && !signalGroup(pid, 0)) this.#groups.delete(pid);
        resolve(code ?? 128 + (system.signals[signal ?? "SIGKILL"] ?? 0));
      });
    });
  }

  #builtin({ argv: [name = "", ...words] }: Stage, streams: Streams): Promise<number> {
    const [, output, errors] = streams;
    switch (name) {
      case "exit":
        return Promise.reject(new Exit(words.length > 0 ? Number(words[0]) : this.#status));
      case ":":
      case "true":
        return Promise.resolve(0);
      case "false":
        return Promise.resolve(1);
      case "cd":
        return this.#changeFolder(words, errors);
      case "pwd":
        return this.#say(`${words[0] === "-P" ? realpathSync(this.#cwd) : this.#cwd}\n`, output);
      case "echo":
        return this.#say(echoOutput(words), output);
      case "printf":
        return this.#say(printfOutput(words), output);
      case "test":
        return this.#spawn(TEST!, words, streams);
      case "[":
        return this.#spawn(TEST!, words.slice(0, -1), streams);
      default:
        return this.#tell(name, words, streams);
    }
  }

  #changeFolder([to = this.#env["HOME"] ?? "/"]: string[], errors: number): Promise<number> {
    const folder = resolve(this.#cwd, to);
    try {
      if (!statSync(folder).isDirectory()) throw new Refusal("Not a directory");
      this.#cwd = folder;
      return Promise.resolve(0);
    } catch (error) {
      const { code = "", message } = error as Error & { code?: string };
      return this.#say(`gate: cd: ${to}: ${REFUSALS[code] ?? message}\n`, errors, 1);
    }
  }

  /** `command -v` and `type`: what a name means to bash. */
  async #tell(builtin: string, words: readonly string[], streams: Streams): Promise<number> {
    const is_short = builtin === "command";
    const names = is_short ? words.slice(1) : words;
    const found: string[] = [];
    const missing: string[] = [];
    for (const name of names) {
      const kind = OF_BASH.keywords.has(name) ? "keyword" : "builtin";
      const path = findProgram(name, this.#cwd, this.#env["PATH"] ?? "")?.path;
      if (OF_BASH.keywords.has(name) || OF_BASH.builtins.has(name)) {
        found.push(is_short ? name : `${name} is a shell ${kind}`);
      } else if (path !== undefined) {
        const is = this.#ran.has(name) ? `is hashed (${path})` : `is ${path}`;
        found.push(is_short ? path : `${name} ${is}`);
      } else missing.push(`gate: type: ${name}: not found`);
    }
    await Promise.all([
      this.#say(found.map((line) => `${line}\n`).join(""), streams[1]),
      this.#say(is_short ? "" : missing.map((line) => `${line}\n`).join(""), streams[2]),
    ]);
    return missing.length === 0 ? 0 : 1;
  }

  /** Writes a text to a stream. A program does it, so that a full pipe blocks no one here. */
  async #say(text: string, stream: number, status = 0): Promise<number> {
    if (text === "") return status;
    const file = this.#textFile(text);
    const written = this.#spawn(CAT!, [], [file, stream, stream]);
    this.#close(file);
    await written;
    return status;
  }

  #textFile(text: string): number {
    this.#scratch ??= mkdtempSync(join(tmpdir(), "gate-run-"));
    const path = join(this.#scratch, `text${this.#files++}`);
    writeFileSync(path, text, { mode: 0o600, flag: "wx" });
    const fd = this.#keep(openSync(path, constants.O_RDONLY));
    unlinkSync(path);
    return fd;
  }

  #keep(fd: number): number {
    this.#open.add(fd);
    return fd;
  }

  #close(fd: number): void {
    if (this.#open.delete(fd)) closeSync(fd);
  }
}

/** A redirect or a folder that the system refuses; the command fails and the next one runs. */
class Refusal extends Error {}

function isRefusal(error: unknown): error is Refusal {
  return error instanceof Refusal;
}

const FLAGS = {
  read: constants.O_RDONLY,
  write: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC,
  append: constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND,
};

const REFUSALS: Record<string, string> = {
  ENOENT: "No such file or directory",
  EACCES: "Permission denied",
  EISDIR: "Is a directory",
  ENOTDIR: "Not a directory",
  EROFS: "Read-only file system",
  EPERM: "Operation not permitted",
  ENXIO: "No such device or address",
  ETXTBSY: "Text file busy",
};

function leadsElsewhere(path: string): string {
  return `"${path}" leads to another file than when it was judged`;
}

function endOf(error: unknown): ProvedEnd {
  if (error instanceof Exit) return { exit_code: error.status };
  const why = error instanceof Error ? error.message : String(error);
  return { exit_code: null, error: `Cannot run the command: ${why}` };
}

/** Whether a program is a text without `#!`, which every shell reads as its own. */
function isShellText(path: string): boolean {
  const start = Buffer.alloc(80);
  let file = -1;
  try {
    file = openSync(path, constants.O_RDONLY);
    const length = readSync(file, start);
    return !start.subarray(0, length).includes(0) &&
      start.toString("latin1", 0, 2) !== "#!";
  } catch {
    return false; // not readable, so only the kernel can run it
  } finally {
    if (file !== -1) closeSync(file);
  }
}

function pipesOf(steps: readonly Step[]): number {
  return steps.reduce((sum, { stages }) => sum + Math.max(0, stages.length - 1), 0);
}

/** The names that bash runs itself. */
const OF_BASH = {
  keywords: namesIn(
    "if then else elif fi case esac for select while until do done in function time { } ! [[ ]] coproc",
  ),
  builtins: namesIn(
    ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare",
    "dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let",
    "local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source",
    "suspend test times trap true type typeset ulimit umask unalias unset wait",
  ),
};

function namesIn(...lines: string[]): Set<string> {
  return new Set(lines.join(" ").split(" "));
}

/** Whether the group still has a process. */
function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}
