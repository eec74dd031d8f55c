import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync } from "node:fs";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TOOLS = [
  "bash",
  "sh",
  "cat",
  "env",
  "tr",
  "rev",
  "base64",
  "xargs",
  "sed",
  "find",
  "nice",
  "timeout",
  "nohup",
  "true",
  "false",
];

/** A real bash whose every dangerous program is a recorder; nothing else is on its PATH. */
export class Oracle {
  readonly #base = realpathSync(mkdtempSync(join(tmpdir(), "gate-oracle-")));
  readonly #log = join(this.#base, "log");

  constructor() {
    mkdirSync(join(this.#base, "bin"));
    mkdirSync(join(this.#base, "work"));
    for (const tool of TOOLS) {
      const real = ["/bin", "/usr/bin"].map((folder) => join(folder, tool)).find(existsSync);
      if (real) symlinkSync(real, join(this.#base, "bin", tool));
    }
    for (const name of ["rm", "git"]) {
      const stub = join(this.#base, "bin", name);
      writeFileSync(
        stub,
        `#!/bin/sh\nprintf '%s\\037' ${name} "$@" >> ${this.#log}\necho >> ${this.#log}\n`,
      );
      chmodSync(stub, 0o755);
    }
  }

  /** Runs a command; the argument vectors that reached a recorder. */
  run(command: string): string[][] {
    rmSync(this.#log, { force: true });
    // Files that an earlier command has left would be matched by the globs of this one.
    rmSync(join(this.#base, "work"), { recursive: true, force: true });
    mkdirSync(join(this.#base, "work"));
    spawnSync(join(this.#base, "bin", "bash"), ["-c", command], {
      cwd: join(this.#base, "work"),
      env: { PATH: join(this.#base, "bin"), HOME: join(this.#base, "work") },
      stdio: "ignore",
      timeout: 3000,
      killSignal: "SIGKILL",
    });
    if (!existsSync(this.#log)) return [];
    return readFileSync(this.#log, "utf8").split("\n").filter(Boolean)
      .map((line) => line.split("\x1f").slice(0, -1));
  }

  close(): void {
    rmSync(this.#base, { recursive: true, force: true });
  }
}

/** Whether these arguments are one of the blocked commands. */
export function isForbidden([program, ...args]: string[]): boolean {
  const end = args.indexOf("--");
  const options = args.slice(0, end < 0 ? undefined : end).filter((arg) => arg.startsWith("-"));
  // Both programs refuse a whole command for one sign that is no option: `git push -?f`.
  const short = options.filter((arg) => /^-[A-Za-z0-9]+$/.test(arg)).join("");
  const long = (name: string) =>
    options.some((arg) => arg.length > 3 && arg.startsWith("--") && `--${name}`.startsWith(arg));
  if (program === "rm") {
    return (/[rR]/.test(short) || long("recursive")) && (short.includes("f") || long("force"));
  }
  const [verb] = args;
  // `--push` is short for `--push-option`, which takes the next word.
  if (args.some((arg, at) => at > 0 && arg.startsWith("--pu"))) return false;
  if (verb === "reset") return long("hard");
  if (verb === "clean") return short.includes("f") || long("force");
  return verb === "push" && (short.includes("f") || options.includes("--force"));
}
