import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SUBJECTS, World } from "./world.ts";

/** The arguments that make each shell print its completions for the last word of a line. */
const SHELLS: Record<string, (words: string[]) => string[]> = {
  bash: (words) => [
    "--norc",
    "-c",
    `eval "$(gate completion bash)"; complete -p gate >/dev/null || exit 9
     COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gate; printf '%s\\n' "\${COMPREPLY[@]}"`,
    "bash",
    ...words,
  ],
  zsh: (words) => [
    "-f",
    "-c",
    `autoload -Uz compinit; compinit -u -D; eval "$(gate completion zsh)"
     [[ -n $_comps[gate] ]] || exit 9
     compadd() { print -rl -- $values }; _files() { print -r -- :files }
     words=("$@"); CURRENT=$#; _gate; true`,
    "zsh",
    ...words,
  ],
  fish: (words) => [
    "--no-config",
    "-c",
    `gate completion fish | source; complete -C "${words.join(" ")}" | string split -f1 \\t; true`,
  ],
};

describe("completion in real shells, with the executable", () => {
  let world: World;
  let held: string;

  beforeAll(async () => {
    world = await World.create("executable");
    const bin = join(world.folder, "bin");
    mkdirSync(bin);
    symlinkSync(SUBJECTS.executable[0], join(bin, "gate"));
    world.env["PATH"] = `${bin}:${world.env["PATH"]}`;
    await world.init();
    const { body } = await world.api("POST", "/api/actions?project=demo", {
      tool: "write_file",
      input: { path: "docs/it's $(a) `b`.txt", content: "x" },
    }, "agent");
    held = body.id;
  });

  afterAll(() => world.close());

  describe.each(Object.keys(SHELLS).filter(isInstalled))("%s", (shell) => {
    const offers = (line: string) => {
      const args = SHELLS[shell]!(line.split(" "));
      const options = { env: world.env, cwd: world.project, encoding: "utf8" as const };
      return execFileSync(shell, args, options).split("\n").filter((one) => one !== "").sort();
    };

    test.each([
      ["gate app", ["approve"]],
      ["gate daemon st", ["start", "status", "stop"]],
      ["gate global-setup --dry-run --ho", ["--host"]],
      ["gate init --policy-template s", ["strict"]],
      ["gate pending --project d", ["demo"]],
      ["gate nothing-like-it", []],
    ])("%j completes to %j", (line, values) => {
      expect(offers(line)).toEqual(values);
    });

    test("gate approve completes to the id of a held action", () => {
      expect(offers("gate approve ")).toEqual([held]);
    });
  });

  test("bash completes the value after --option=", () => {
    const args = SHELLS.bash!(["gate", "log", "--risk", "=", "h"]);
    expect(execFileSync("bash", args, { env: world.env, encoding: "utf8" })).toBe("high\n");
  });

  test("without a daemon, completion offers commands only and starts no daemon", async () => {
    await world.run(["daemon", "stop"]);
    const ask = (...words: string[]) =>
      execFileSync("bash", SHELLS.bash!(words), { env: world.env, encoding: "utf8" });
    expect(ask("gate", "approve", "")).toBe("\n");
    expect(ask("gate", "appr")).toBe("approve\n");
    expect(await world.run(["daemon", "status"])).toMatchObject({ code: 1 });
  });
});

function isInstalled(shell: string): boolean {
  return spawnSync(shell, ["-c", "true"]).status === 0;
}
