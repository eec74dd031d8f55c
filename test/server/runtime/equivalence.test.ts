import { execFileSync } from "node:child_process";
import { cpSync, lstatSync, lutimesSync, mkdirSync, mkdtempSync } from "node:fs";
import { readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { prove } from "../../../server/policy/prove/prove.ts";
import { commandsOf, type ProvedCommand, stepsOf } from "../../../server/policy/prove/proved.ts";
import { findProgram } from "../../../server/runtime/find_program.ts";
import { listFolder } from "../../../server/runtime/real_path.ts";
import type { ProvedRun } from "../../../server/runtime/run_proved.ts";
import { runCommand, type RunResult } from "../../../server/runtime/spawn.ts";
import { random } from "../policy/interpret/disguise.ts";
import { randomText, staysInside } from "../policy/shells/texts.ts";

/**
 * `GATE_SESSIONS=benign.jsonl GATE_FUZZ=2000` runs that many commands of real sessions, one JSON
 * object with `command` a line, each in several folders; else the commands are random.
 */
const { GATE_SESSIONS, GATE_FUZZ, GATE_SEED } = globalThis.process.env;
const COUNT = Number(GATE_FUZZ ?? 25);
const SEED = Number(GATE_SEED ?? 1);
const LIMIT_MS = 10_000;

/** They read and write nothing outside the folder that they are given, and connect to nothing. */
const HARMLESS = new Set(
  ("git find grep egrep fgrep head tail ls cat sort uniq wc sed awk jq cut tr nl mkdir rmdir touch cp mv rm chmod ln " +
    "diff cmp comm base64 which od xxd hexdump md5sum sha1sum sha256sum cksum basename dirname seq rev tac paste fold fmt " +
    "column join expand unexpand split file stat tee du xargs node python3 bash sh test [ echo printf pwd cd true false : " +
    "type command sleep date tar gzip gunzip zcat zip unzip strings expr factor numfmt realpath readlink truncate mktemp env")
    .split(" "),
);
const ELSEWHERE =
  /https?:|ssh|@[\w.-]+:|\bgit (push|pull|fetch|clone|remote add|ls-remote|submodule|daemon|gui|credential)|\b(sudo|kill|date -s)\b|--global|--system|sleep [\d.]{3,}|\bstat .*(-f|--file-system)|mktemp|\$RANDOM/;

const top = realpathSync(mkdtempSync(join(tmpdir(), "gate-equal-")));
afterAll(() => rmSync(top, { recursive: true, force: true }));
const template = join(top, "template");
/** One folder for all runs, so that every output is the same. */
const work = join(top, "work");
const home = join(top, "home");
const ENV = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: home, LANG: "C.UTF-8" };
const WRITTEN = new Date(1_700_000_000_000);

const FILES: Record<string, string> = {
  "README.md": "# Shop\n\nA small project. TODO: more.\n",
  "package.json": '{"name":"shop","version":"1.2.3","scripts":{"test":"node test/a.test.js"}}\n',
  "src/index.ts":
    "export const price = 3; // TODO\nexport function sum(a: number) {\n  return a;\n}\n",
  "src/app.py": "import os\n\ndef main():\n    print('hello')\n\nmain()\n",
  "src/lib/util.js": "console.log('util');\nmodule.exports = {};\n",
  "test/a.test.js": "console.log('ok');\n",
  "docs/guide.md": "One\nTwo\nThree\nTwo\n",
  "data/people.csv": "name,age\nAnn,30\nBob,25\nCid,41\n",
  "data/log.txt": "INFO a\nERROR b\nWARN c\nERROR d\n",
  "a.txt": "b\na\nc\n",
  "notes.md": "word word\n",
  "with space.txt": "x y\n",
  "empty": "",
  "sub/c.txt": "c\n",
};

function makeTemplate(): void {
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(template, name)), { recursive: true });
    writeFileSync(join(template, name), content);
  }
  mkdirSync(home);
  const who = "[user]\n\tname = A\n\temail = a@b.example\n[init]\n\tdefaultBranch = main\n";
  writeFileSync(join(home, ".gitconfig"), who);
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      cwd: template,
      env: {
        ...ENV,
        GIT_AUTHOR_DATE: "2024-01-01T00:00:00Z",
        GIT_COMMITTER_DATE: "2024-01-01T00:00:00Z",
      },
    });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
  writeFileSync(join(template, "notes.md"), "word word changed\n");
  git("commit", "-qam", "second");
  writeFileSync(join(template, "a.txt"), "b\na\nc\nd\n");
}

let is_fresh = false;

/** Makes the folder anew, with the same times, unless nothing ran in it. */
function make(): void {
  if (is_fresh) return;
  is_fresh = true;
  rmSync(work, { recursive: true, force: true });
  cpSync(template, work, { recursive: true, verbatimSymlinks: true });
  const age = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) age(join(folder, entry.name));
      else lutimesSync(join(folder, entry.name), WRITTEN, WRITTEN);
    }
    lutimesSync(folder, WRITTEN, WRITTEN);
  };
  age(work);
  lutimesSync(top, WRITTEN, WRITTEN);
}

/** Every file below the folder with its content and mode; of git's own only what it records. */
function filesIn(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const walk = (name: string) => {
    for (const one of readdirSync(join(folder, name)).sort()) {
      const below = join(name, one);
      if (/^\.git\/(index|logs|.*\.lock)/.test(below)) continue;
      const path = join(folder, below);
      const stat = lstatSync(path);
      const mode = stat.mode.toString(8);
      if (stat.isSymbolicLink()) found[below] = `${mode} ${readlinkSync(path)}`;
      else if (stat.isFile()) found[below] = `${mode} ${readFileSync(path, "latin1")}`;
      else {
        found[below] = mode;
        if (stat.isDirectory()) walk(below);
      }
    }
  };
  walk("");
  return found;
}

/** The proof of a text with the programs of this machine; null if it has none, or may leave. */
function judge(text: string, cwd: string): ProvedRun | null {
  if (ELSEWHERE.test(text)) return null;
  const proof = prove(text, { cwd, user_home: home, list: listFolder });
  if ("unproved" in proof) return null;
  const commands = commandsOf(proof.proved);
  if (!commands.every(isHarmless)) return null;
  const places = commands.flatMap(({ argv: [name], builtin, folders }) =>
    folders.map((folder) => ({ builtin, program: findProgram(name, folder, ENV.PATH) }))
  );
  if (places.some(({ builtin, program }) => !builtin && program === null)) return null;
  const programs = places.flatMap(({ program }) => program ?? []);
  const paths = commands.flatMap(({ redirects, folders }) =>
    folders.flatMap((folder) =>
      redirects.flatMap((one) => "path" in one ? [resolve(folder, one.path)] : [])
    )
  );
  const links = paths.flatMap((path) => {
    const real = realOf(path);
    return real === path ? [] : [{ path, real }];
  });
  return { steps: stepsOf(proof.proved), programs, links };
}

/** Programs and paths of the scratch folder only. */
function isHarmless({ argv, redirects, folders }: ProvedCommand): boolean {
  const [program, ...words] = argv;
  const targets = redirects.flatMap((one) => "path" in one ? [one.path] : []);
  const isInside = (path: string) =>
    path.startsWith(`${top}/`) || !/(^|[=:'"\s(,])[/~]|\.\.(\/|$)/.test(path);
  return HARMLESS.has(basename(program)) && words.every(isInside) &&
    targets.every((path) => path === "/dev/null" || isInside(path)) &&
    folders.every((folder) => folder.startsWith(top));
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The commands, without repetition, each with the folder in which it runs. */
function* texts(): Generator<{ text: string; folder: string }> {
  const next = random(SEED);
  if (GATE_SESSIONS === undefined) {
    for (;;) {
      const text = randomText(next);
      if (staysInside(text)) yield { text, folder: "" };
    }
  }
  const lines = readFileSync(GATE_SESSIONS, "utf8").trim().split("\n");
  const commands = lines.map((line) =>
    (JSON.parse(line) as { command: string }).command
      .replaceAll("{ROOT}", work).replaceAll("{HOME}", home).replaceAll("{PORT}", "47000")
  );
  for (const folder of ["", "src", "data", "docs", "test"]) {
    for (const text of new Set(commands)) yield { text, folder };
  }
}

/**
 * Without the name that the shell or gate puts before its own messages. Programs that run at once may
 * write in another order, also within a line, and so does bash with its environment, to which it adds
 * two variables.
 */
function plain(output: string, text: string): string {
  const own = output.replace(/^(\/\S*bash: line \d+|gate): /gm, "");
  if (!/\||^(print)?env\b/.test(text)) return own;
  const words = own.split(/(?<=[\s\0])/);
  return words.filter((word) => !/^env|^printenv/.test(text) || !/^(_|SHLVL)=/.test(word))
    .sort().join("");
}

interface Ran extends Omit<RunResult, "duration_ms"> {
  files: Record<string, string>;
}

async function run(text: string, cwd: string, proved?: ProvedRun): Promise<Ran> {
  make();
  is_fresh = false;
  const options = { cwd, env: ENV, timeout_ms: LIMIT_MS, max_output_bytes: 1_000_000 };
  const { duration_ms: _, ...ran } = await runCommand(
    text,
    proved ? { ...options, proved } : options,
  );
  return { ...ran, output: plain(ran.output, text), files: filesIn(work) };
}

test(
  `proved commands do without a shell what bash does (GATE_SEED=${SEED}, ${COUNT} commands)`,
  async () => {
    makeTemplate();
    const different: object[] = [];
    let [tried, compared, changing] = [0, 0, 0];
    for (const { text, folder } of texts()) {
      if (compared >= COUNT) break;
      make();
      const cwd = join(work, folder);
      const proved = judge(text, cwd);
      if (!proved) continue;
      const [shell, own] = [await run(text, cwd), await run(text, cwd, proved)];
      if (++tried % 100 === 0) console.log(`${tried} commands, ${different.length} differ`);
      if (same(shell, own)) {
        compared++;
        continue;
      }
      // Programs that run at once may write in another order, and some outcomes depend on the moment.
      const shells = [shell, await run(text, cwd), await run(text, cwd)];
      const owns = [own, await run(text, cwd, proved), await run(text, cwd, proved)];
      if (!shells.some((one) => owns.some((other) => same(one, other)))) {
        if (!shells.every((one) => same(one, shell))) {
          changing++;
          continue;
        }
        different.push({ text, folder, shell: without(shell, own), own: without(own, shell) });
        console.error(JSON.stringify(different.at(-1)));
      }
      compared++;
    }
    console.log(`compared ${compared} commands; ${changing} differ from run to run in bash itself`);
    expect(compared).toBeGreaterThan(0);
    expect(different).toEqual([]);
  },
  // Each command runs up to six times, and each run has its own limit.
  120_000 + COUNT * 6 * LIMIT_MS,
);

function same(one: Ran, other: Ran): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The parts of a run that differ from the other run. */
function without(one: Ran, other: Ran): object {
  const files = Object.entries(one.files).filter(([name, text]) => other.files[name] !== text);
  return { ...one, files: Object.fromEntries(files) };
}
