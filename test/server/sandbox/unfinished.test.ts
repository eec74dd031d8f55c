import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { policyTemplate } from "../../../server/policy/templates.ts";
import { engineOnce } from "../../../server/sandbox/engine.ts";
import { namedSince, unfinishedIn } from "../../../server/sandbox/unfinished.ts";
import { createTestGate } from "../../helpers.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { connect } from "./agent.ts";
import { ENGINE } from "./stage.ts";

const ENV = { PATH: process.env["PATH"], GIT_EDITOR: "true", GIT_CONFIG_GLOBAL: "/dev/null" };

/** A gate over a repository with four commits of one file, and a session of an agent. */
async function openRepository() {
  const gate = await createTestGate({
    policies: policyTemplate("balanced"),
    files: { "f.txt": "0\n" },
    sandbox: engineOnce(),
  });
  const run = await connect(gate);
  const at = (path: string) => join(gate.root, path);
  const git = (...args: string[]) => {
    try {
      return execFileSync("git", args, { cwd: gate.root, env: ENV, stdio: "pipe" }).toString();
    } catch (error) {
      return String((error as { stderr?: unknown }).stderr);
    }
  };
  git("init", "-q", "-b", "main");
  for (const [key, value] of [["user.name", "a"], ["user.email", "a@b.c"]]) {
    git("config", key!, value!);
  }
  for (const line of ["one", "two", "three"]) {
    writeFileSync(at("f.txt"), `${line}\n`);
    git("add", "-A");
    git("commit", "-qm", line);
  }
  /** Runs Python in the sandbox. `G` is git's folder, by a name that the text does not show. */
  const sandboxed = async (code: string) => {
    const done = await run(`python3 - <<'PY'\nimport os\nG = '.gi' + 't/'\n${code}\nPY`, {
      wait_ms: 15_000,
    });
    expect(done).toMatchObject({ execution: "succeeded", decision: { sandbox: {} } });
    return done;
  };
  return { gate, at, git, sandboxed };
}

/** A program of the project that a strategy of this name leads git to. */
const STRATEGY = `os.makedirs('git-merge-..'); open('x', 'w').write('#!/bin/sh\\ntouch planted\\n')
os.chmod('x', 0o755)`;

describe.runIf(ENGINE !== null)("a person goes on with an operation of git", () => {
  test("no command runs that a sandboxed command added to a rebase", async () => {
    const { at, git, sandboxed, gate } = await openRepository();
    git("-c", "sequence.editor=sed -i '1s/pick/edit/;$aexec touch own'", "rebase", "-i", "HEAD~2");
    const todo = at(".git/rebase-merge/git-rebase-todo");
    expect(readFileSync(todo, "utf8")).toContain("exec touch own");
    const done = await sandboxed(
      "open(G + 'rebase-merge/git' + '-rebase-todo', 'a').write('e' + 'xec touch planted\\n x touch planted\\n')",
    );
    expect(done.message).toContain("git-rebase-todo");
    expect(readFileSync(todo, "utf8")).not.toContain("planted");
    expect(readFileSync(todo, "utf8")).toContain("pick");
    const event = (await gate.audit()).find(({ type }) => type === "guard.restored");
    const [{ quarantine }] = (event!.data as { paths: [{ quarantine: string }] }).paths;
    expect(readFileSync(quarantine, "utf8")).toContain("exec touch planted");
    git("rebase", "--continue");
    expect(existsSync(at("planted"))).toBe(false);
    expect(existsSync(at(".git/rebase-merge"))).toBe(false);
  });

  test("commands that the person wrote stay while a sandboxed command works", async () => {
    const { at, git, sandboxed } = await openRepository();
    git("-c", "sequence.editor=sed -i '1s/pick/edit/;$aexec touch own'", "rebase", "-i", "HEAD~2");
    await sandboxed("open('g.txt', 'w').write('1')");
    git("rebase", "--continue");
    expect(existsSync(at("own"))).toBe(true);
  });

  test("no strategy of a rebase is a program of the project", async () => {
    const { at, git, sandboxed } = await openRepository();
    git("-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-i", "HEAD~2");
    await sandboxed(`${STRATEGY}\nopen(G + 'rebase-merge/strategy', 'w').write('../../x')`);
    expect(existsSync(at(".git/rebase-merge/strategy"))).toBe(false);
    writeFileSync(at("g.txt"), "x");
    git("add", "g.txt");
    git("rebase", "--continue");
    expect(existsSync(at("planted"))).toBe(false);
  });

  test("no strategy of a cherry-pick is a program of the project", async () => {
    const { at, git, sandboxed } = await openRepository();
    const head = git("rev-parse", "HEAD").trim();
    const opts = "[options]\\n\\tstrategy = ../../x\\n";
    await sandboxed(
      [
        STRATEGY,
        "os.makedirs(G + 'sequencer')",
        `open(G + 'sequencer/todo', 'w').write('pick ${head} a\\npick ${head} a\\n')`,
        ...["head", "abort-safety"].map((name) =>
          `open(G + 'sequencer/${name}', 'w').write('${head}\\n')`
        ),
        `open(G + 'sequencer/opts', 'w').write('${opts}')`,
      ].join("\n"),
    );
    expect(existsSync(at(".git/sequencer/opts"))).toBe(false);
    git("cherry-pick", "--continue");
    expect(existsSync(at("planted"))).toBe(false);
  });
});

describe("files of unfinished operations", () => {
  const found = (files: Record<string, string>) => {
    const git = createTempFolder("unfinished");
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(git, name)), { recursive: true });
      writeFileSync(join(git, name), text);
    }
    return unfinishedIn(git).map(({ path, named, rest }) => [
      path.slice(git.length + 1),
      named,
      rest,
    ]);
  };

  test("that name no program are none", () => {
    expect(found({
      "rebase-merge/git-rebase-todo": "pick 1 exec\n# exec true\nlabel x\nreset x\n",
      "rebase-merge/strategy": "ort\n",
      "sequencer/opts": "[options]\n\tstrategy = ours\n\tsignoff = true\n",
    })).toEqual([]);
  });

  test("that name one are found, and lines of a rebase without the others", () => {
    expect(found({
      "rebase-merge/git-rebase-todo": "pick 1 a\n  exec touch x\nx\ttrue\nbreak\n",
      "rebase-merge/strategy": "theirs-of-mine\n",
      "sequencer/opts": "[options]\n\tstrategy = ./x\n",
    })).toEqual([
      ["rebase-merge/git-rebase-todo", ["  exec touch x", "x\ttrue"], "pick 1 a\nbreak\n"],
      ["rebase-merge/strategy", ["theirs-of-mine"], null],
      ["sequencer/opts", ["./x"], null],
    ]);
  });

  test("count as a whole where gate cannot tell", () => {
    const git = createTempFolder("unfinished");
    mkdirSync(join(git, "sequencer"));
    writeFileSync(join(git, "sequencer/opts"), "[options] strategy = x\n");
    symlinkSync("sequencer", join(git, "rebase-merge"));
    expect(unfinishedIn(git)).toEqual([
      { path: join(git, "rebase-merge"), named: [], rest: null },
      { path: join(git, "sequencer/opts"), named: [], rest: null },
    ]);
  });

  test("are new if they name a program that they did not name before", () => {
    const file = (named: string[]) => [{ path: "todo", named, rest: null }];
    expect(namedSince(file(["exec a"]), file(["exec a"]))).toEqual([]);
    expect(namedSince(file(["exec a", "exec b"]), file(["exec b"]))).toEqual([]);
    expect(namedSince(file(["exec a"]), file(["exec a", "exec b"]))).toHaveLength(1);
    expect(namedSince(file(["exec a"]), file([]))).toHaveLength(1);
    expect(namedSince(file([]), file([]))).toEqual([]);
    expect(namedSince([], file(["exec a"]))).toHaveLength(1);
  });
});
