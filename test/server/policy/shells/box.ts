import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { isProgram } from "../../../../server/runtime/is_program.ts";

/** The shells that an agent's host may use, and how each runs a text. */
export const SHELLS: Record<string, string[]> = {
  bash: ["bash", "--norc", "-c"],
  "bash --posix": ["bash", "--norc", "--posix", "-c"],
  dash: ["dash", "-c"],
  zsh: ["zsh", "-f", "-c"],
  fish: ["fish", "--no-config", "--private", "-c"],
};

const FOLDERS = ["/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin"];
const TOOLS =
  ("bash dash sh zsh fish cat ls head tail wc grep echo printf pwd sort uniq cut tr sed find test true false stat " +
    "file mkdir touch cp mv env xargs nice timeout nohup tee awk basename dirname seq realpath")
    .split(" ");
/** Their real programs would do what a text may not do here. */
const DANGEROUS = ["canary", "rm", "git", "sudo", "npm", "node"];
const SECRET = "k3y-0f-th3-b0x";
const MASKED = ["work/.env", "work/sub/.env", "home/.ssh/id"];
const FILES: Record<string, string> = {
  "work/a.txt": "a\nb\n",
  "work/notes.md": "canary script\n",
  "work/with space.txt": "c\n",
  "work/empty": "",
  "work/src/a.ts": "canary script\n",
  "work/docs/b.md": "b\n",
  "work/sub/c.txt": "c\n",
  // Programs take this name for an option that reads a file.
  "work/sub/-f.env": "c\n",
  // Names of masked files that a program may get from here.
  "work/list": "x .env\nlink\n",
  "work/act.sh": "canary script\n",
  "work/sub/ls": "#!/bin/sh\ncanary script\n",
  "work/sub/cat": "#!/bin/sh\ncanary script\n",
};
const PROGRAM = /act\.sh$|sub\/(ls|cat)$/;
const LIMIT_MS = 2_000;
/** A read updates an access time that is older than the last change. */
const OLD = new Date(1_000_000);
const WRITTEN = new Date(2_000_000);

/** The path of a program on this machine; null if it is not installed. */
export function pathOf(program: string): string | null {
  return FOLDERS.map((folder) => join(folder, program)).find(isProgram) ?? null;
}

/** A recorder that ran. */
export interface Call {
  folder: string;
  argv: string[];
}

/** The deeds of a text in a box. */
export interface Deed {
  ran: Call[];
  /** The masked files that were read. */
  read: string[];
  /** The content of one is in the output. */
  shown: boolean;
  /** The files that were made, changed or deleted. */
  changed: string[];
}

/** A folder with a small project in which shells run: nothing else is on their PATH or in their home. */
export class Box {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "gate-box-")));
  readonly root = join(this.base, "work");
  readonly home = join(this.base, "home");
  readonly bin = join(this.base, "bin");
  readonly #log = join(this.base, "log");
  readonly #only_recorders: boolean;
  /** The text that ran before, for a message. */
  #last = "nothing";
  #before = new Map<string, string>();

  /** `only_recorders`: no program but `cat` does anything but to record its call. */
  constructor({ only_recorders = false } = {}) {
    mkdirSync(this.bin);
    for (const tool of TOOLS) {
      const real = pathOf(tool);
      if (only_recorders && tool !== "cat") this.#record(tool);
      else if (real) symlinkSync(real, join(this.bin, tool));
    }
    DANGEROUS.forEach((name) => this.#record(name));
    this.#only_recorders = only_recorders;
    this.#fill();
  }

  get env(): Record<string, string> {
    // Less nesting than any default: a function that calls itself ends at once.
    const limits = { FUNCNEST: "6" };
    // fish makes folders there.
    const fish = join(this.base, "fish");
    const folders = { XDG_CONFIG_HOME: fish, XDG_DATA_HOME: fish, XDG_CACHE_HOME: fish };
    return { PATH: this.bin, HOME: this.home, LANG: "C.UTF-8", ...limits, ...folders };
  }

  /** Runs a text in a shell of `SHELLS`. */
  run(shell: string, code: string): Promise<Deed> {
    const [program, ...options] = SHELLS[shell]!;
    return this.deedOf(() => this.#spawn(pathOf(program!)!, [...options, code]));
  }

  /** Runs anything that acts in this box, and compares the box before and after. */
  async deedOf(act: () => Promise<string>): Promise<Deed> {
    for (const file of MASKED) utimesSync(join(this.base, file), OLD, WRITTEN);
    const output = await act();
    const read = MASKED.filter((file) => {
      try {
        return statSync(join(this.base, file)).atimeMs !== OLD.getTime();
      } catch {
        return false; // it is deleted, and listed as changed
      }
    });
    const shown = output.includes(SECRET);
    const ran = existsSync(this.#log) ? callsIn(readFileSync(this.#log, "utf8")) : [];
    rmSync(this.#log, { force: true });
    const after = this.#picture();
    const changed = [...new Set([...after.keys(), ...this.#before.keys()])]
      .filter((file) => after.get(file) !== this.#before.get(file));
    if (changed.length > 0) this.#fill();
    return { ran, read, shown, changed };
  }

  close(): void {
    rmSync(this.base, { recursive: true, force: true });
  }

  /** A program that fails where a file is missing, as many do. */
  #record(name: string): void {
    const path = join(this.bin, name);
    // One write, so that the records of programs that run at once do not mix.
    const record = `printf '%s\\037' "$PWD" '${name}' "$@" '\x1e' >> '${this.#log}'`;
    const fail = `case "$*" in *missing*) exit 1;; esac`;
    writeFileSync(path, `#!/bin/sh\n${record}\n${fail}\n`);
    chmodSync(path, 0o755);
  }

  #spawn(program: string, args: string[]): Promise<string> {
    return new Promise((done, failed) => {
      const child = spawn(program, args, {
        cwd: this.root,
        env: this.env,
        stdio: ["ignore", "pipe", "pipe"],
        detached: true,
      });
      let output = "";
      const kill = () => {
        try {
          globalThis.process.kill(-child.pid!, "SIGKILL");
        } catch {
          // The group has ended.
        }
      };
      const timer = setTimeout(() => {
        kill();
        // A process in another group may hold the pipes.
        child.stdout.destroy();
        child.stderr.destroy();
      }, LIMIT_MS);
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (chunk: { toString(encoding: string): string }) => {
          if (output.length < 100_000) output += chunk.toString("latin1");
        });
      }
      child.on("error", (cause) => {
        clearTimeout(timer);
        failed(
          new Error(`Cannot run ${JSON.stringify(args.at(-1))} after ${this.#last}`, { cause }),
        );
      });
      child.on("close", () => {
        clearTimeout(timer);
        this.#last = JSON.stringify(args.at(-1));
        kill();
        done(output);
      });
    });
  }

  #fill(): void {
    for (const folder of [this.root, this.home]) rmSync(folder, { recursive: true, force: true });
    for (
      const [name, content] of [
        ...Object.entries(FILES),
        ...MASKED.map((name) => [name, `KEY=${SECRET}\n`] as const),
      ]
    ) {
      const path = join(this.base, name);
      mkdirSync(dirname(path), { recursive: true });
      const is_program = PROGRAM.test(name);
      writeFileSync(path, is_program && this.#only_recorders ? "" : content);
      if (is_program) chmodSync(path, 0o755);
    }
    for (const file of MASKED) utimesSync(join(this.base, file), OLD, WRITTEN);
    symlinkSync(".env", join(this.root, "link"));
    this.#before = this.#picture();
  }

  /** Each file with what changes when it is written. */
  #picture(): Map<string, string> {
    const found = new Map<string, string>();
    // A name may be no UTF-8: a shell that reads a program as a script writes such files.
    const walk = (folder: string) => {
      const bytes = Buffer.from(folder, "latin1");
      for (const entry of readdirSync(bytes, { withFileTypes: true, encoding: "latin1" })) {
        const path = join(folder, entry.name);
        const name = relative(this.base, path);
        if (entry.isDirectory()) {
          found.set(name, "folder");
          walk(path);
        } else if (entry.isFile()) {
          const { size, mtimeMs, ino, mode } = statSync(Buffer.from(path, "latin1"));
          found.set(name, `${size} ${mtimeMs} ${ino} ${mode}`);
        } else found.set(name, "other");
      }
    };
    for (const folder of [this.root, this.home]) walk(folder);
    return found;
  }
}

function callsIn(log: string): Call[] {
  return log.split("\x1e\x1f").slice(0, -1).map((record) => {
    const [folder, ...argv] = record.split("\x1f").slice(0, -1);
    return { folder: folder!, argv };
  });
}

/** Whether a file's name is that of the canary file. */
export function isCanaryFile(path: string): boolean {
  return basename(path) === "pwned";
}
