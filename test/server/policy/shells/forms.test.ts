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
    "HISTFILE=.env; history -r; history",
    "HISTFILE=pwned; history -s x; history -a",
    "x=.env; read -t 0 x <<< a.txt; cat $x",
    "x=.env; read -q x <<< y; cat $x",
    "x=.env; printf -v x; cat $x",
    "readonly x=.env\nx=a.txt\ncat $x",
    "readonly x=.env; unset x; cat $x",
    "readonly x=.env; read x <<< a.txt; cat $x",
    "x=.env; unset -n x; cat $x",
    "x=.env; local x=a.txt; cat $x",
    "x=.env; f() { local x=a.txt; }; f; cat $x",
    "x=.env; f() { declare x=a.txt; }; f; cat $x",
    "set -- .env; shift 2; cat $1",
    "set -- .env; false && set -- a.txt; cat $1",
    "f() { canary; }; false && f() { ls; }; f",
    "a=(a.txt .env); i=0; ((i++)); cat ${a[$i]}",
    "a=(a.txt .env); i=0; let i++; cat ${a[$i]}",
    "a=(a.txt .env); i=0; [[ $((++i)) -eq 1 ]]; cat ${a[$i]}",
    "x=.env.1; y=0; ((y=4)); cat ${x:0:$y}",
    'IFS=; set -- .e nv; cat "$*"',
    'IFS=; a=(.e nv); cat "${a[*]}"',
    'IFS=; set -- can ary; "$*"',
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
    "cat $(echo '\\056env')",
    `x=$(echo '\\0056env'); cat "$x"`,
    `eval "$(echo 'ls\\ncanary')"`,
    `sh -c "$(echo 'ls\\ncanary')"`,
    "echo 'a\\n.env' | xargs cat",
    "for x in $(echo 'a\\n.env'); do cat $x; done",
    "((x > pwned))",
    "(( \\;: >pwned ))",
    "echo $'x\\' ; canary #'",
    "[[ x > pwned ]]",
    "[[ a || canary ]]",
    "function f {\ncanary\n}",
  ],
  zsh: [
    "x=a.txt; echo .env | read x; cat $x",
    "x=ls; echo canary | read x; $x",
    "x=a.txt; echo | { x=.env; }; cat $x",
    ": | cd sub; cat .env c.txt",
    "f() { ls; }; : | f() { canary; }; f",
    "a=(a.txt .env); cat ${a[2]}",
    "a=(.env a.txt); cat ${a[1]}",
    "a=(a.txt .env); cat $a",
    "a=(canary ls); ${a[1]}",
    "a=(a.txt b); a[2]=.env; cat ${a[1]} ${a[2]}",
    "argv=(.env); cat $1",
    "set -- a.txt; argv[1]=.env; cat $1",
    "x=a.txt; typeset -T X x; X=.env; cat $x",
    "typeset -L4 x; x=.envfoo; cat $x",
    "x=.env; read -e x <<< a.txt; cat $x",
    "set -- a.txt .env; shift 1+0; cat $1",
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
    "cat {$HOME}/.ssh/id",
    "echo 'x\\' y '; canary #'",
    "cat \\x2eenv",
    "cat \\u002eenv",
    "cat .e\\x6ev",
    "and canary",
    "set PATH sub $PATH; ls",
    "string join '' canary | source",
    "complete -c cat -a '(canary)'; complete -C 'cat '",
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
