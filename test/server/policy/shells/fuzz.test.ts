import { spawnSync } from "node:child_process";
import { afterAll, describe, expect, test } from "vitest";
import type { TemplateName } from "../../../../server/policy/templates.ts";
import { random } from "../interpret/disguise.ts";
import { isForbidden } from "../interpret/oracle.ts";
import { Box, type Call, type Deed, isCanaryFile, pathOf, SHELLS } from "./box.ts";
import { BUILTINS } from "./builtins.ts";
import { Judge, TEMPLATES } from "./judge.ts";
import { randomText, staysInside } from "./texts.ts";

/** A larger slice with other texts: `GATE_FUZZ=100000 GATE_SEED=7 GATE_SHELLS=bash,dash,zsh`. */
const { GATE_FUZZ, GATE_SEED, GATE_SHELLS } = globalThis.process.env;
const COUNT = Number(GATE_FUZZ ?? 150);
const SEED = Number(GATE_SEED ?? 1);
/** A text may wait until its time limit, so more run at once than there are cores. */
const WORKERS = 4;

const wanted = GATE_SHELLS?.split(",") ?? Object.keys(SHELLS);
const installed = wanted.filter((shell) => pathOf(SHELLS[shell]![0]!) !== null);
const absent = wanted.filter((shell) => !installed.includes(shell));
const boxes = Array.from({ length: WORKERS }, () => new Box());
/** The box that texts are evaluated in; nothing runs in it. */
const pristine = new Box();
afterAll(() => [...boxes, pristine].forEach((box) => box.close()));

const judge = new Judge(pristine);
const allowing = (code: string) => judge.allowing(code);

/** The deeds of a text that the template forbids. */
function offences(
  { ran, read, shown, changed }: Deed,
  template: TemplateName,
  code = "",
): string[] {
  // A default that allows lets a text run the scripts of the project that it names.
  const is_excused = template === "permissive" && RUNS_SCRIPT.test(code.replaceAll(/['"\\]/g, ""));
  const isBad = ({ argv }: Call) =>
    !(is_excused && argv.join(" ") === "canary script") && isForbiddenCall(argv, template);
  const isWritten = (file: string) =>
    template === "strict" || isCanaryFile(file) || MASKED.test(file);
  return [
    ...ran.filter(isBad).map(({ argv }) => `ran ${argv.join(" ")}`),
    ...(shown ? ["showed a masked file"] : []),
    ...(TELLS_LITTLE.test(code) ? [] : read.map((file) => `read ${file}`)),
    ...changed.filter(isWritten).map((file) => `changed ${file}`),
  ];
}

function isForbiddenCall(argv: string[], template: TemplateName): boolean {
  if (argv[0] === "canary" || isForbidden(argv)) return true;
  if (template === "permissive") return argv[0] === "sudo" || isPush(argv);
  return template === "strict" && !(argv[0] === "git" && READING.has(argv[1] ?? ""));
}

/** It names a script in the place of a program, or a shell that may get one. */
const RUNS_SCRIPT =
  /act\.sh|sh\b|\bsource\b|(^|[\s;&|])\.\s|(^|[\n;&|({])\s*(\.\/)?sub\/(ls|cat)\b/;
/** They tell only how large a file is, or of what kind. */
const TELLS_LITTLE = /\b(wc|du|file|stat)\b/;
const READING = new Set(["status", "diff", "log", "show"]);
const MASKED = /(^|\/)\.env$|\/\.ssh\//;
const isPush = (argv: string[]) => argv[0] === "git" && argv[1] === "push";

interface Miss {
  code: string;
  shell: string;
  template: TemplateName;
  offences: string[];
}

test(`an allowed text acts in no shell (GATE_SEED=${SEED}, ${COUNT} texts)`, async () => {
  console.log(`fuzz seed ${SEED}; shells: ${installed.join(", ")}`);
  if (absent.length > 0) console.warn(`NOT INSTALLED, so not tested: ${absent.join(", ")}`);
  const next = random(SEED);
  const misses: Miss[] = [];
  const counts: Record<string, number> = {};
  const ran: Record<string, number> = {};
  let at = 0;
  await Promise.all(boxes.map(async (box) => {
    while (at < COUNT) {
      if (++at % 5_000 === 0) {
        console.log(`${at} texts, allowed ${JSON.stringify(counts)}, acted ${misses.length}`);
      }
      const code = randomText(next);
      if (!staysInside(code)) continue;
      const templates = allowing(code);
      if (templates.length === 0) continue;
      for (const template of templates) counts[template] = (counts[template] ?? 0) + 1;
      for (const shell of installed) {
        ran[shell] = (ran[shell] ?? 0) + 1;
        const deed = await box.run(shell, code);
        for (const template of templates) {
          const found = offences(deed, template, code);
          if (found.length === 0) continue;
          misses.push({ code, shell, template, offences: found });
          console.error(JSON.stringify(misses.at(-1)));
        }
      }
    }
  }));
  console.log(`allowed: ${JSON.stringify(counts)}; run: ${JSON.stringify(ran)}`);
  expect(Math.min(...TEMPLATES.map((name) => counts[name] ?? 0))).toBeGreaterThan(0);
  expect(misses).toEqual([]);
}, 6 * 3_600_000);

describe("the oracle", () => {
  const ran = (...argv: string[]) => [{ folder: boxes[0]!.root, argv }];
  const CASES: [string, Deed][] = [
    ["canary x", { ran: ran("canary", "x"), read: [], shown: false, changed: [] }],
    ["cat .env", { ran: [], read: ["work/.env"], shown: true, changed: [] }],
    ["cat link >/dev/null", { ran: [], read: ["work/.env"], shown: false, changed: [] }],
    ["echo x >pwned", { ran: [], read: [], shown: false, changed: ["work/pwned"] }],
    ["cat a.txt; ls; echo cat .env canary", { ran: [], read: [], shown: false, changed: [] }],
    ["canary &", { ran: ran("canary"), read: [], shown: false, changed: [] }],
  ];

  test.each(
    installed.flatMap((shell) => CASES.map(([code, deed]) => [shell, code, deed] as const)),
  )(
    "in %s sees what %j does",
    async (shell, code, deed) => expect(await boxes[0]!.run(shell, code)).toEqual(deed),
  );

  test("a template's canary offends", () => {
    const deed = { ran: ran("canary"), read: ["work/.env"], shown: false, changed: ["work/pwned"] };
    for (const name of TEMPLATES) expect(offences(deed, name)).toHaveLength(3);
  });

  test.each([
    ["bash", "compgen -b; compgen -k"],
    [
      "zsh",
      "print -l ${(k)builtins} ${(k)reswords}; for m in $module_path/**/*.so(N); do " +
      "( zmodload ${${m#$module_path/}:r} && print -l ${(k)builtins} ) 2>&-; done",
    ],
    ["fish", "builtin --names"],
    // dash cannot list them; its program contains their names.
    [
      "dash",
      "for word in $(tr -c 'a-z.:[{}!' '\\n' <\"$0\" | sort -u); do case $(type \"$word\") in " +
      '*builtin|*keyword) echo "$word";; esac; done',
    ],
  ])("the grammar has every builtin of %s", (shell, code) => {
    const path = pathOf(shell);
    if (path === null) return console.warn(`NOT INSTALLED, so not compared: ${shell}`);
    const options = shell === "zsh" ? ["-fc"] : ["-c"];
    const { stdout } = spawnSync(path, [...options, code, path], { encoding: "utf8" });
    const known = new Set(Object.values(BUILTINS).flatMap((list) => list.split(" ")));
    const names = stdout.split("\n").filter((name) => /^[^_ ]+$/.test(name));
    expect(names.length).toBeGreaterThan(45);
    expect(names.filter((name) => !known.has(name)))
      .toEqual([]);
  });
});
