import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { prove } from "../../../server/policy/prove/prove.ts";
import { commandsOf, stepsOf } from "../../../server/policy/prove/proved.ts";
import { findProgram } from "../../../server/runtime/find_program.ts";
import { listFolder } from "../../../server/runtime/real_path.ts";
import type { ProvedRun } from "../../../server/runtime/run_proved.ts";
import { runCommand, type RunOptions } from "../../../server/runtime/spawn.ts";

const top = realpathSync(mkdtempSync(join(tmpdir(), "gate-run-proved-")));
afterAll(() => rmSync(top, { recursive: true, force: true }));
/** One folder for both runs, so that every output is the same. */
const work = join(top, "work");
const MADE_AT = new Date("2026-01-01T00:00:00Z");

/** Makes the folder anew. */
function make(): void {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(join(work, "src", "deep"), { recursive: true });
  writeFileSync(join(work, "a.txt"), "one\ntwo\nthree\n");
  writeFileSync(join(work, "b.txt"), "two\nfour\n");
  writeFileSync(join(work, "src", "x.ts"), "let x = 1;\n");
  writeFileSync(join(work, "say.sh"), "#!/bin/sh\necho out; echo err >&2; exit 7\n", {
    mode: 0o755,
  });
  writeFileSync(join(work, "plain"), "echo plain $1\n", { mode: 0o755 });
  writeFileSync(join(work, "empty"), "", { mode: 0o755 });
  symlinkSync("a.txt", join(work, "link"));
  // An archive keeps the time of a file: both runs find the same one.
  for (const name of readdirSync(work, { recursive: true }).map(String)) {
    utimesSync(join(work, name), MADE_AT, MADE_AT);
  }
}

beforeEach(make);

const ENV = { PATH: "/usr/bin:/bin", HOME: top, LANG: "C.UTF-8" };
const OPTIONS = { cwd: work, env: ENV, timeout_ms: 20_000, max_output_bytes: 1_000_000 };

/** The proof of a text with the programs of this machine. */
function judged(text: string): ProvedRun {
  const proof = prove(text, { cwd: work, user_home: top, list: listFolder });
  if ("unproved" in proof) throw new Error(`${text}: ${proof.unproved.reason}`);
  const commands = commandsOf(proof.proved);
  const programs = commands.flatMap(({ argv: [name], folders }) =>
    folders.flatMap((folder) => findProgram(name, folder, ENV.PATH) ?? [])
  );
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

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Every file below a folder with its content and mode. */
function filesIn(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true }).map(String).sort()) {
    const path = join(folder, name);
    const { mode } = statSync(path);
    found[name] = `${mode.toString(8)} ${statSync(path).isFile() ? readFileSync(path) : ""}`;
  }
  return found;
}

const TEXTS = [
  "cat a.txt",
  "cat a.txt b.txt | sort | uniq -c | sort -rn | head -2",
  "cat missing",
  "cat missing 2>/dev/null",
  "cat missing || echo none",
  "cat missing && echo never",
  "cat a.txt && echo yes || echo no",
  "cat missing && echo a || echo b && echo c",
  "false; echo after",
  "true && false || true; echo done",
  "ls *.txt",
  "ls no*such",
  "wc -l *.txt src/*.ts",
  "echo one > new.txt; cat new.txt",
  "echo one > new.txt; echo two >> new.txt; cat < new.txt",
  "echo x > a.txt",
  "echo x >> link; cat a.txt",
  "echo x > link; ls -l link | cut -c1",
  "cat < missing; echo next",
  "cat > missing/x; echo next",
  "echo x > src; echo next",
  "sort < a.txt > sorted.txt && cat sorted.txt",
  "./say.sh",
  "./say.sh 2>/dev/null",
  "./say.sh 2>&1 | cat -n",
  "./say.sh 2>&1 >/dev/null",
  "./say.sh > both 2>&1; cat both",
  "./say.sh 2> errors >&2; cat errors",
  "./say.sh >&2",
  "./say.sh; ./say.sh; ./say.sh",
  "./say.sh && echo never; echo then",
  "./plain word",
  "./empty && echo fine",
  "seq 1 100000 | head -1",
  "yes | head -3",
  "yes | head -100000 | wc -l",
  "seq 1 50000 | sort -n | tail -1",
  "head -c 3000000 /dev/zero | wc -c",
  "cat a.txt | true",
  "cat a.txt | false",
  "false | cat a.txt",
  "false | true; echo ok",
  "sleep 0.05 | echo first",
  "cd src && pwd && ls",
  "cd src && cat x.ts; pwd",
  "cd missing; pwd",
  "cd missing && pwd; ls a.txt",
  "cd a.txt; pwd",
  "cd missing || echo cannot",
  "cd src/deep && pwd; cd / && pwd; cd && pwd",
  "cd src && echo y > y.ts && cat y.ts; ls",
  "cd . && pwd -P",
  "for f in a.txt b.txt; do head -1 $f; echo --; done",
  'for f in *.txt; do wc -c "$f"; done',
  "for a in 1 2; do for b in x y; do echo $a $b; done; done",
  "for f in a.txt missing b.txt; do cat $f; done",
  "for f in a.txt b.txt; do grep -q three $f && echo found; done",
  "false && for f in a b; do echo $f; done; echo end",
  "x=3; head -n $x a.txt",
  "x='a b'; echo \"$x\"",
  "name=a.txt && wc -c $name",
  "cat <<'EOF'\nfirst $HOME\n  `second`\nEOF",
  "cat <<'EOF' > made.txt\nbody\nEOF\ncat made.txt",
  "cat <<'EOF' | sort -r\na\nb\nc\nEOF",
  "cat /dev/stdin <<'E'\nvia stdin\nE",
  "echo",
  "echo -n x; echo y",
  "echo -e 'a\\tb\\nc' ; echo -e 'x\\cy'; echo z",
  "echo -E 'a\\tb'; echo -ne 'q\\n'; echo -nx; echo - a; echo --version",
  "echo -e '\\x41\\0102\\u00e9'",
  "echo 'a\\nb'",
  "echo *",
  "printf 'a\\tb\\n'",
  "printf '%s-%s\\n' a b c",
  "printf '%s\\n' x y z | sort -r",
  "printf '%5s|%-5s|\\n' ab cd",
  "printf '%d %i\\n' 7 -12 3",
  "printf 'a%%b\\n' x y",
  "printf 'no newline'",
  "printf '%s' \"\"; echo .",
  "test -f a.txt && echo file",
  "test -d a.txt || echo no folder",
  "[ -e missing ] || echo missing",
  "[ a = a ] && echo same; [ a != a ]; echo next",
  "[ 3 -lt 12 ] && echo less",
  "[ -n '' ]",
  "test ! -s empty && echo empty",
  "[ -x say.sh ] && [ -L link ] && [ -r a.txt ] && echo all",
  "exit 3",
  "exit",
  "false; exit",
  "echo a; exit 4; echo b",
  "cd missing || exit 9; echo never",
  "for f in 1 2 3; do echo $f; [ $f = 2 ] && exit 5; done; echo never",
  "command -v ls",
  "command -v echo; command -v if; command -v no-such-program",
  "type ls; type cd; type for; type no-such-program",
  "ls a.txt; type ls",
  "which sh > /dev/null && echo found",
  "true; echo ok",
  ":; echo ok",
  "env | grep -c '^PATH='",
  "LC_ALL=C sort b.txt",
  "LC_ALL=C env | grep LC_ALL",
  "pwd; env | grep '^PWD='",
  "cd src && env | grep '^PWD='",
  "sh -c 'echo $0 $1' zero one",
  "sh -c 'kill -PIPE $$'; echo after",
  "sh -c 'exit 200'",
  "sh -c 'echo $PPID' | grep -c .",
  "printf 'x\\n' | tee t1 t2 | cat; cat t1 t2",
  "find . -name '*.ts' -exec wc -c {} \\;",
  "find . \\( -name a.txt -o -name b.txt \\) -type f | sort",
  "grep -n two *.txt",
  "grep -c nothing a.txt",
  "sed -n '2p' a.txt; sed 's/o/0/g' b.txt",
  "awk '{ print NR \": \" $1 }' a.txt",
  "tr a-z A-Z < a.txt",
  "cut -c1-2 a.txt | paste -sd, -",
  "xargs -n1 echo < b.txt",
  "xargs echo got <<'E'\na b\nc\nE",
  "mkdir -p d/e && touch d/e/f && ls -R d",
  "cp a.txt c.txt && mv c.txt d.txt && cat d.txt && rm d.txt; ls",
  "chmod 600 a.txt; ls -l a.txt | cut -c1-10",
  "touch 'a b' && ls 'a b'; rm 'a b'",
  "ls 'no such file'",
  "ls -d src/ s*/",
  "diff a.txt b.txt",
  "cmp -s a.txt b.txt; echo compared",
  "cat a.txt - < b.txt",
  "head -1 a.txt;\n\ntail -1 a.txt\n",
  "# a comment\necho a \\\n  b",
  'echo \'single $x\' "double \\$x \\"q\\"" plain\\ word',
  "echo ünïcode '日本'",
  "echo {} [ ] = != !",
  "basename /a/b/c.txt .txt; dirname /a/b",
  "date -u -d @0 +%Y",
  "sleep 0.01; echo slept",
  "timeout 5 echo quick",
  "timeout 0.05 sleep 5; echo timed",
  "nice echo nice",
  "env X=1 sh -c 'echo $X'",
  "stat -c %s a.txt",
  "dd if=a.txt of=out.bin bs=2 2>/dev/null; cat out.bin",
  "tar cf t.tar a.txt && tar tf t.tar",
  "ls -1 | wc -l",
  "seq 5 | tail -2 > five; cat five",
  "cat a.txt > copy 2>&1 && cmp a.txt copy && echo equal",
  "echo e1 >&2; echo o1; echo e2 >&2; echo o2",
  "sh -c 'echo a; echo b >&2; echo c' 2>&1 | cat",
  "sh -c 'sleep 0.02; echo late' | cat; echo end",
];

/** Without the name that the shell or gate puts before its own messages. */
const plain = (output: string) => output.replace(/^(\/bin\/bash: line \d+|gate): /gm, "");

describe("a proved command without a shell", () => {
  test.runIf(process.platform === "linux")(
    "pipes that were opened ahead reach no program, and none stays open",
    async () => {
      const proved = judged("cat a.txt | wc -l; cat b.txt");
      const all = () =>
        Promise.all(Array.from({ length: 5 }, () => runCommand("", { ...OPTIONS, proved })));
      await all();
      const opened = async (options: Partial<RunOptions>) => {
        const { output } = await runCommand("ls /proc/self/fd | cat", { ...OPTIONS, ...options });
        return output.trim().split("\n").length;
      };
      // Deno hands a program its three streams twice.
      const twice = "Deno" in globalThis ? 3 : 0;
      const inherited = await opened({ proved: judged("ls /proc/self/fd | cat") });
      expect(inherited).toBeLessThanOrEqual(await opened({}) + twice);
      const before = readdirSync("/proc/self/fd").length;
      for (let more = 0; more < 6; more++) await all();
      expect(readdirSync("/proc/self/fd").length).toBeLessThan(before + 20);
    },
  );

  test.each(TEXTS)("does what bash does: %s", async (text) => {
    const shell = await runCommand(text, OPTIONS);
    const files = filesIn(work);
    make();
    const own = await runCommand(text, { ...OPTIONS, proved: judged(text) });
    expect({ ...own, output: plain(own.output), duration_ms: 0, files: filesIn(work) })
      .toEqual({ ...shell, output: plain(shell.output), duration_ms: 0, files });
  });

  test("starts no shell, and finds no program by its name", async () => {
    const proved = judged("env | sort");
    const { output } = await runCommand("env | sort", { ...OPTIONS, proved });
    expect(output).not.toMatch(/^(SHLVL|_|BASH\w*)=/m);
    const env = { ...ENV, PATH: "/nowhere" };
    const moved = await runCommand("cat a.txt", { ...OPTIONS, env, proved: judged("cat a.txt") });
    expect(moved).toMatchObject({ exit_code: 0, output: "one\ntwo\nthree\n" });
  });

  test("does not run a program that was replaced", async () => {
    const proved = judged("./say.sh");
    writeFileSync(join(work, "other"), "#!/bin/sh\necho other\n", { mode: 0o755 });
    renameSync(join(work, "other"), join(work, "say.sh"));
    const { exit_code, output, error } = await runCommand("./say.sh", { ...OPTIONS, proved });
    expect({ exit_code, output }).toEqual({ exit_code: null, output: "" });
    expect(error).toContain("has changed since it was judged");
  });

  test.each([
    [
      "its file becomes a link",
      "echo x > new.txt",
      () => symlinkSync("a.txt", join(work, "new.txt")),
    ],
    ["its folder becomes a link", "echo x > src/new.txt", () => {
      renameSync(join(work, "src"), join(work, "was"));
      mkdirSync(join(top, "elsewhere"), { recursive: true });
      symlinkSync(join(top, "elsewhere"), join(work, "src"));
    }],
  ])("opens no other file for a redirect: %s", async (_name, text, swap) => {
    const proved = judged(text);
    swap();
    const before = filesIn(work);
    const { exit_code, error } = await runCommand(text, { ...OPTIONS, proved });
    expect(exit_code).toBeNull();
    expect(error).toMatch(/leads to another file|was judged/);
    expect(filesIn(work)).toEqual(before);
  });

  test("a redirect through a link opens the file to which it led when it was judged", async () => {
    const proved = judged("echo x > link");
    rmSync(join(work, "link"));
    symlinkSync("b.txt", join(work, "link"));
    expect(await runCommand("", { ...OPTIONS, proved })).toMatchObject({ exit_code: 0 });
    expect(readFileSync(join(work, "a.txt"), "utf8")).toBe("x\n");
    expect(readFileSync(join(work, "b.txt"), "utf8")).toBe("two\nfour\n");
  });

  test("ends every program of a pipeline at its time-out, and starts no further one", async () => {
    const text = "sleep 60 | sleep 61; touch never";
    const run = { ...OPTIONS, timeout_ms: 200, proved: judged(text) };
    const { exit_code, error, duration_ms } = await runCommand(text, run);
    expect(exit_code).toBeNull();
    expect(error).toContain("Timed out after 0.2 s");
    // The programs sleep for a minute.
    expect(duration_ms).toBeLessThan(30_000);
    expect(readdirSync(work)).not.toContain("never");
  });

  test("ends when it is stopped, also a program that ignores the signal", async () => {
    const text = "sh -c 'trap \"\" TERM; echo ready; sleep 30'";
    const stop = new AbortController();
    const running = runCommand(text, { ...OPTIONS, signal: stop.signal, proved: judged(text) });
    setTimeout(() => stop.abort(), 200);
    const { exit_code, error } = await running;
    expect({ exit_code, error: error?.slice(0, 7) }).toEqual({ exit_code: null, error: "Stopped" });
  });

  test("ends what a program left in the background, and does not wait for it", async () => {
    const text = "sh -c 'sleep 60 & echo started'; echo done";
    const run = await runCommand(text, { ...OPTIONS, proved: judged(text) });
    // Waiting would end at the time-out, without an exit code.
    expect(run).toMatchObject({ exit_code: 0, output: "started\ndone\n" });
  });

  test("cuts a long output", async () => {
    const text = "seq 1 1000000";
    const run = { ...OPTIONS, max_output_bytes: 1_000, proved: judged(text) };
    const { output, truncated } = await runCommand(text, run);
    expect(truncated).toBe(true);
    expect(output.length).toBeLessThanOrEqual(1_000);
    expect(output).toMatch(/^1\n2\n[^]*\n1000000\n$/);
  });
});
