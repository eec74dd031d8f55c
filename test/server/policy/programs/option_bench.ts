import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compilePolicy, evaluate } from "../../../../server/policy/evaluate.ts";
import { listFolder, resolvePath } from "../../../../server/runtime/real_path.ts";

/** Programs of a usual machine that stay in their folder, whatever their options are. */
const PROGRAMS = (
  "cat tac nl head tail less more wc sort uniq cut paste join comm diff cmp column fold fmt expand unexpand rev " +
  "strings xxd od hexdump base64 base32 file stat readlink realpath md5sum sha1sum sha256sum cksum b2sum grep " +
  "egrep zgrep jq ls du cp mv ln install rm touch mkdir tee truncate split csplit dd zip unzip gzip gunzip zcat " +
  "bzip2 xz zstd tar ar patch sed awk find xargs env nice timeout git curl openssl gcc as ld objdump nm readelf " +
  "strip objcopy size gdb make perl python3 node date printf tr seq shuf numfmt pr ptx tsort look sqlite3 setsid " +
  "stdbuf flock sum m4 cpp ctags iconv msgfmt man cpio shred mkfifo yq rg bc dc"
).split(" ");

const SECRET = "canary-7f3a";
const SCRIPT = "#!/bin/sh\necho x > ran\n";

/** The policy of the bench: everything is allowed but three things. */
const POLICY = compilePolicy({
  global: null,
  project: {
    defaultEffect: "allow",
    blockedPaths: [".env"],
    allowedPaths: ["**"],
    blockedCommands: ["canary.sh", "./canary.sh"],
    askPaths: ["guarded/**"],
  },
  override_global: false,
});

/** Something that a command did although the policy forbids it. */
export interface Act {
  command: string;
  did: string;
}

/** A folder with a secret, a guarded file and a forbidden program, in which allowed commands run. */
export class OptionBench {
  readonly #base = realpathSync(mkdtempSync(join(tmpdir(), "gate-options-")));
  readonly #root = join(this.#base, "project");
  readonly #options = new Map<string, string[]>();
  readonly programs = PROGRAMS.filter((name) => spawnSync("which", [name]).status === 0);
  readonly isTraced = spawnSync("strace", ["-V"]).status === 0;
  ran = 0;

  /** One random command; words are its arguments. */
  compose(next: () => number): string[] {
    const pick = <T>(from: readonly T[]) => from[Math.floor(next() * from.length)]!;
    const program = pick(this.programs);
    const words: string[] = [];
    const options = this.#optionsOf(program);
    for (let left = Math.floor(next() * 3) + 1; left > 0 && options.length > 0; left--) {
      const option = pick(options);
      if (option.endsWith("=")) words.push(option + pick(VALUES));
      else if (next() < 0.3 && /^-[^-]$/.test(option)) words.push(option + pick(VALUES));
      else if (next() < 0.5) words.push(option, pick(VALUES));
      else words.push(option);
    }
    for (let left = Math.floor(next() * 3); left > 0; left--) words.push(pick(OPERANDS));
    return [program, ...words];
  }

  /** Runs the command if the policy allows it, and returns what it did against the policy. */
  run(argv: readonly string[]): Act[] {
    this.#reset();
    const command = argv.map(quote).join(" ");
    const { decision } = evaluate(POLICY, { kind: "command", command, cwd: this.#root }, {
      roots: [this.#root],
      user_home: join(this.#base, "home"),
      gate_home: join(this.#base, "home/.gate"),
      port: 47000,
      resolve: resolvePath,
      list: listFolder,
    });
    if (decision.effect !== "allow") return [];
    this.ran++;
    return this.act(argv);
  }

  /** Runs the command in a new folder and returns what it did against the policy. */
  act(argv: readonly string[]): Act[] {
    this.#reset();
    const command = argv.map(quote).join(" ");
    const trace = join(this.#base, "trace");
    const limited = ["timeout", "-s", "KILL", "2", "bash", "-c", `ulimit -f 2000; ${command}`];
    const traced = this.isTraced
      ? ["strace", "-f", "-qq", "-s", "300", "-o", trace, "-e", "trace=%file,%process", ...limited]
      : limited;
    const { stdout } = spawnSync(traced[0]!, traced.slice(1), {
      cwd: this.#root,
      env: {
        PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        HOME: join(this.#base, "home"),
        TMPDIR: join(this.#base, "tmp"),
        TERM: "dumb",
        LC_ALL: "C",
      },
      input: "notes.txt\n",
      timeout: 5_000,
      maxBuffer: 4_000_000,
    });
    const seen = this.isTraced ? actsIn(readFileSync(trace, "utf8"), this.#base) : [];
    if (stdout?.includes(SECRET)) seen.push("printed the secret");
    if (existsSync(join(this.#root, "ran"))) seen.push("ran canary.sh");
    const guarded = join(this.#root, "guarded/a.txt");
    if (!existsSync(guarded) || readFileSync(guarded, "utf8") !== "guarded\n") {
      seen.push("changed guarded/a.txt");
    }
    return [...new Set(seen)].map((did) => ({ command, did }));
  }

  close(): void {
    rmSync(this.#base, { recursive: true, force: true });
  }

  #reset(): void {
    spawnSync("chmod", ["-R", "u+rwx", this.#base]);
    rmSync(this.#root, { recursive: true, force: true });
    for (const folder of ["project/guarded", "project/src", "home", "tmp"]) {
      mkdirSync(join(this.#base, folder), { recursive: true });
    }
    const files: [string, string][] = [
      [".env", `${SECRET}\n`],
      ["guarded/a.txt", "guarded\n"],
      ["notes.txt", "one\ntwo\n"],
      ["list.txt", ".env\n"],
      ["src/a.c", "int main(void) { return 0; }\n"],
    ];
    for (const [path, text] of files) writeFileSync(join(this.#root, path), text);
    writeFileSync(join(this.#root, "canary.sh"), SCRIPT, { mode: 0o755 });
  }

  /** The options that `--help` names: `-x`, `--long`, `--long=`. */
  #optionsOf(program: string): string[] {
    const known = this.#options.get(program);
    if (known) return known;
    const { stdout, stderr } = spawnSync(program, [HELP[program] ?? "--help"], {
      input: "",
      timeout: 5_000,
      encoding: "utf8",
      cwd: tmpdir(),
    });
    const found = `${stdout}\n${stderr}`.matchAll(/(?<![\w-])(--?[A-Za-z0-9][\w-]*)(\[?=)?/g);
    const options = [...new Set([...found].map(([, name, value]) => name! + (value ? "=" : "")))];
    this.#options.set(program, options);
    return options;
  }
}

const HELP: Record<string, string> = { git: "help", curl: "--help", openssl: "help" };

/** Files by name and by the usual ways to name them in an option. */
const VALUES = [
  ".env",
  "@.env",
  "file://.env",
  "x=.env",
  "./.env",
  "list.txt",
  "guarded/a.txt",
  "guarded/new",
  "guarded",
  "./canary.sh",
  "|./canary.sh",
  "notes.txt",
  "out",
  "3",
  "x",
  ".",
  "src",
  "/dev/stdin",
];
const OPERANDS = [
  "notes.txt",
  "src",
  ".",
  "src/a.c",
  "list.txt",
  "x",
  "canary.sh",
  "out",
  "-",
  "guarded",
];

/** The uses of the secret, guarded files, forbidden program and other folders in a trace. */
function actsIn(trace: string, base: string): string[] {
  const acts: string[] = [];
  for (const line of trace.split("\n")) {
    if (/ = -1 | \?$|O_PATH|<unfinished/.test(line)) continue;
    if (
      /open(at)?\([^"]*"(?:[^"]*\/)?\.env", O_(RDONLY|RDWR)/.test(line) &&
      !line.includes("O_DIRECTORY")
    ) {
      acts.push("opened .env");
    }
    if (/execve\("[^"]*canary\.sh"/.test(line)) acts.push("ran canary.sh");
    if (
      /["/]guarded["/]/.test(line) &&
      /O_(WRONLY|RDWR|CREAT|TRUNC)|^\d+ +(rename|unlink|link|symlink|mkdir|rmdir|chmod|fchmod|chown|utime|truncate|creat)/
        .test(line)
    ) {
      acts.push("changed guarded");
    }
    const target = /"(\/[^"]*)", [^"]*O_(WRONLY|RDWR|CREAT|TRUNC)/.exec(line)?.[1];
    if (target && !target.startsWith(base) && !/^\/(dev|proc|tmp)(\/|$)|__pycache__/.test(target)) {
      acts.push("wrote outside the project");
    }
  }
  return acts;
}

function quote(word: string): string {
  return /^[\w./=@:%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
