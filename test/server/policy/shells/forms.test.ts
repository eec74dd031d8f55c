import { afterAll, describe, expect, test } from "vitest";
import { Box, pathOf, SHELLS } from "./box.ts";
import { Judge } from "./judge.ts";

/*
 * Forms that some shell reads in a way of its own. A default that allows needs no proof, so the
 * interpreter must know them all. Each of them acts in the named shell if it is installed.
 */
const box = new Box();
const pristine = new Box();
afterAll(() => [box, pristine].forEach((one) => one.close()));
const judge = new Judge(pristine);

const CODE = "'a[$(canary)]'";
const ACTING: Record<string, string[]> = {
  bash: [
    `x=${CODE}; echo \${PWD:x}`,
    `x=${CODE}; echo \${@:x}`,
    `x=${CODE}; echo \${PWD:0:x}`,
    `x=${CODE}; y=(1 2); echo \${y[x]}`,
    `x=${CODE}; y=([x]=1)`,
    `x=${CODE}; y[x]=1`,
    `x=${CODE}; [[ -v x[x] ]]`,
    `x=${CODE}; [[ x -eq 0 ]]`,
    `x=${CODE}; declare -i y=x`,
    `x=${CODE}; let y=x`,
    `x=${CODE}; echo $((x))`,
    `x=y; y=${CODE}; echo $((x))`,
    `x='a['; x+='$(canary)]'; echo $((x))`,
    `for x in ${CODE}; do echo $((x)); done`,
    `read x <<< ${CODE}; echo $((x))`,
    `f() { echo $(( $1 )); }; f ${CODE}`,
    `set -- ${CODE}; echo $(($1))`,
    `test -v ${CODE}`,
    `printf -v ${CODE} x`,
    `read ${CODE} <a.txt`,
    `a=(1); unset ${CODE}`,
    "mapfile -C canary -c 1 <a.txt",
    "echo x >[!z]ink",
    "echo x > l*k",
    "echo x > ?ink",
    "cat [l]ink",
    "x='[l]ink'; cat $x",
    "cat [[:alpha:]]ink",
    "x='[[:alpha:]]ink'; cat $x",
  ],
  dash: [
    "echo $'x\\' ; canary #'",
    "[[ x > pwned ]]",
    "[[ a || canary ]]",
    "function f {\ncanary\n}",
  ],
  zsh: [
    "n=(.env); cat $n[1]",
    "f=sub/x/.env; cat $f:t",
    'f=sub/x/.env; cat "$f:t"',
    "x='$(canary)'; echo ${(e)x}",
    "ls *(.e_'canary'_)",
    "ls *(e_canary_)",
    "ls *(.ex'canary'x)",
    "functions[ls]=canary; ls",
    "functions=(ls canary); ls",
    ": ${functions[ls]:=canary}; ls",
    "read 'functions[ls]' <<< canary; ls",
    "commands[ls]=./sub/ls; ls",
    "path=(sub $path); ls",
    "fpath=(sub); autoload ls; ls",
    "f() { canary; }; chpwd_functions=(f); cd sub",
    "zmodload zsh/mapfile; echo $mapfile[.env]",
    "zmodload zsh/mapfile; mapfile[pwned]=x",
    "zstyle -e x y canary; zstyle -s x y z",
    "cat ''~/.ssh/id",
    'cat ""~/.ssh/id',
    "cat $(:)~/.ssh/id",
    "cat **/*",
    "cat ./**/*",
    "cd work home && cat .ssh/id",
    "setopt extendedglob; cat .e#nv",
    "set -o extendedglob; cat .e#nv",
    "echo&!canary",
    "repeat 1 canary",
    "read x <<< =(canary)",
    "cat < =(canary)",
    "disable -r if; zmodload zsh/files; zf_mv a.txt pwned",
  ],
  fish: [
    "echo 'x\\' y '; canary #'",
    "cat \\x2eenv",
    "cat \\u002eenv",
    "cat .e\\x6ev",
    "and canary",
    "set PATH sub $PATH; ls",
    "string join '' canary | source",
  ],
};

const CASES = Object.entries(ACTING).flatMap(([shell, codes]) =>
  codes.map((code) => [shell, code] as const)
);

test.each(CASES)("a default that allows does not let %s run %j", async (shell, code) => {
  expect(judge.evaluate("permissive", code).decision.effect).not.toBe("allow");
  if (pathOf(SHELLS[shell]![0]!) === null) return;
  const { ran, read, shown, changed } = await box.run(shell, code);
  expect([...ran, ...read, ...(shown ? ["shown"] : []), ...changed]).not.toEqual([]);
});

describe("stays allowed by default", () => {
  test.each([
    'x=1; echo "$((x + 1))"',
    "x=a.txt; cat ${x%.txt}.txt",
    'x=a.txt; cat "${x:0:5}"',
    'l=(a b); for i in "${l[@]}"; do echo $i; done',
    "l=(a b); echo ${l[1]} ${#l[@]}",
    "cat [a-c].txt",
    "ls *.@(md|txt)",
    "ls src/**/*.ts",
    "[[ -n $x && -f a.txt ]] && ls",
    "[[ $x == a || $y == b ]] && ls",
    "f() { echo a; }; f",
    "function f { echo a; }; f",
    "cat <<'E'\na[`b`] [$(c)](d)\nE",
    "echo 'a[$(b)]'",
    "grep -n 'a\\.b' a.txt",
    "tr -d '\\\\' < a.txt",
    'echo $HOME:/a "$x:$y" $x.txt',
    "git show HEAD~1 --stat",
    "options=-l; ls $options",
    "set -euo pipefail; ls",
    "env - ls",
  ])("%j", (code) => expect(judge.evaluate("permissive", code).decision.effect).toBe("allow"));
});
