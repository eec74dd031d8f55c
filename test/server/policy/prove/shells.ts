import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listFolder } from "../../../../server/runtime/real_path.ts";

interface Shell {
  name: string;
  path: string;
  options: string[];
}

/** The shells of this machine, each with the options under which it reads no file of a person. */
export const SHELLS: readonly Shell[] = [
  { name: "bash", path: "/bin/bash", options: ["--noprofile", "--norc"] },
  { name: "dash", path: "/bin/dash", options: [] },
  { name: "zsh", path: "/bin/zsh", options: ["-f"] },
  { name: "fish", path: "/usr/bin/fish", options: ["--no-config"] },
].filter(({ path }) => existsSync(path));

/** A program that a shell started: its folder and its words. */
export type Call = string[];

/** A folder with a program `say` that notes how it is called, and some files to find. */
export class Laboratory {
  readonly #top = realpathSync(mkdtempSync(join(tmpdir(), "gate-prove-")));
  readonly cwd = join(this.#top, "work");
  readonly home = join(this.#top, "home");
  readonly #log = join(this.#top, "log");

  constructor(files: readonly string[]) {
    for (const folder of ["work", "home", "bin"]) mkdirSync(join(this.#top, folder));
    for (const file of files) {
      mkdirSync(join(this.cwd, file, ".."), { recursive: true });
      if (!file.endsWith("/.")) writeFileSync(join(this.cwd, file), `${file}\n`);
    }
    const say = `#!/bin/sh\nprintf '%s\\0' "$PWD" "$#" "$@" >> '${this.#log}'\nprintf '%s ' "$@"\n`;
    writeFileSync(join(this.#top, "bin", "say"), say, { mode: 0o755 });
    symlinkSync("/bin/cat", join(this.#top, "bin", "cat"));
  }

  /** The entries of a folder, as the prover asks for them. */
  readonly list = listFolder;

  /** The calls of `say` while a shell runs a text, sorted, because a pipeline has no order. */
  run(text: string, { path, options }: Shell): Call[] {
    writeFileSync(this.#log, "");
    spawnSync(path, [...options, "-c", text], {
      cwd: this.cwd,
      env: { PATH: join(this.#top, "bin"), HOME: this.home, LANG: "C.UTF-8" },
      stdio: "ignore",
      timeout: 20_000,
    });
    const fields = readFileSync(this.#log, "utf8").split("\0").slice(0, -1);
    const calls: Call[] = [];
    while (fields.length > 0) {
      const [folder, count] = fields.splice(0, 2);
      calls.push([folder!, ...fields.splice(0, Number(count))]);
    }
    return calls.sort();
  }

  /** The content of a file in the working folder; null if there is none. */
  read(file: string): string | null {
    const path = join(this.cwd, file);
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  }

  remove(): void {
    rmSync(this.#top, { recursive: true, force: true });
  }
}
