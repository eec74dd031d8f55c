import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../../server/policy/evaluate.ts";
import { policyTemplate } from "../../../../server/policy/templates.ts";
import { evaluateCommand } from "../score.ts";

const POLICIES = (["strict", "balanced", "permissive"] as const).map((name) =>
  compilePolicy({ global: null, project: policyTemplate(name), override_global: false })
);

/** The decisions under the three templates. */
function effects(command: string) {
  return POLICIES.map((policy) => evaluateCommand(command, policy).decision.effect);
}

/** Not allowed under any template. */
const STATE_CHANGES = [
  "hash -p /bin/bash cat; cat src/x.sh",
  "hash -rp src/x ls; ls",
  'hash "$o" src/x ls; ls',
  "hash cat=/bin/bash; cat src/x.sh",
  "{ hash -p /bin/bash cat; } && cat src/x.sh",
  "builtin hash -p /bin/bash cat; cat src/x.sh",
  "alias cat=bash\ncat src/x.sh",
  "alias -g X='| sh'\nls X",
  "false || alias ls=x; ls",
  "unalias -a; ls",
  "enable -n echo; echo x",
  "enable -f ./x.so ls; ls",
  "shopt -s expand_aliases; ls",
  "shopt -s lastpipe; ls",
  "setopt rcexpandparam; ls",
  "set -k; ls a=b",
  "set -o posix; ls",
  "emulate sh -c 'ls'; ls",
  "trap 'cat \"$f\"' EXIT; f=src/a",
  "trap 'ls' DEBUG; ls",
  "trap 'cat key' EXIT; cd src",
  "trap 'ls x' EXIT; ls() { rm x; }",
  "false && cat() { :; }; cat src/x",
  "cat() { ls; }; cat src/x",
  "if test -f x; then git() { :; }; fi; git status",
  "command_not_found_handle() { ls; }; ls",
  "TRAPEXIT() { ls; }; ls",
];

const COMPUTED = [
  "RANDOM='a[$(id)]'; ls",
  "SECONDS='a[$(id)]' ls",
  "export RANDOM='x[`id`]'; ls",
  "OPTIND='a[$(id)]'; ls",
  "COLUMNS='a[$(id)]'; ls",
  "for RANDOM in 'a[$(id)]'; do ls; done",
  "printf -v SECONDS '%s' 'a[$(id)]'; ls",
  "read RANDOM <<< 'a[$(id)]'; ls",
  "RANDOM=(1 'a[$(id)]'); ls",
  "declare -i n; n='a[$(id)]'; ls",
  "n='a[$(id)]'; declare -i n; ls",
  "integer n='a[$(id)]'; ls",
  "typeset -F n; n='a[$(id)]'; ls",
  "declare -n r=PATH; r=src; ls",
  "x='a[$(id)]'; echo ${!x}",
  "n=$(cat src/n); echo $((n + 1))",
  "read -r n < src/n; ((n > 1)) && ls",
  "n=$(<src/n); [[ $n -gt 1 ]] && ls",
  "getopts x 'a[$(id)]'; ls",
  "mapfile 'a[$(id)]' < src/x; ls",
  "wait -p 'a[$(id)]'; ls",
];

const UNKNOWN_TEXT = [
  "ls; $(<src/cmd)",
  "ls; `<src/cmd`",
  "x=$(<src/cmd); $x",
  "$(< src/cmd) src",
  "cat $(<src/list)",
  'cat "$(<src/list)"',
  'echo x >> "$(<src/env)"',
  "echo x > $(0<src/name)",
  "f() { cat $(<src/list); }; f",
  "cat <(<src/list) | xargs cat",
  'eval "$(<src/cmd)"',
  "mapfile -t a < src/cmd; ${a[0]}",
  "mapfile -s 1 -t a <<< $'ls\\nid'; ${a[0]}",
  "read -r c < src/cmd; $c",
  "read -n 2 c <<< 'id2'; $c",
  "printf 'ls\\nbash src/x.sh\\n' | while read -r l; do $l; done; cat src/*",
  "exec -a ls cat src/x",
  "exec -c ls",
  "command -p ls",
  "/lib64/ld-linux-x86-64.so.2 /bin/ls",
  "/lib/ld-musl-x86_64.so.1 --argv0 x /bin/ls",
  "ls *(e:'id':)",
  "ls src/*(.e'{id}')",
  "cat *(oe:'id':)",
  "ls *(+run)",
  "echo *(#qe:'id':)",
];

describe.each([
  ["a builtin that changes the meaning of later commands", STATE_CHANGES],
  ["a value that the shell computes", COMPUTED],
  ["a text that gate does not know", UNKNOWN_TEXT],
])("%s is never allowed", (_name, commands) => {
  test.each(commands)("%s", (command) => {
    expect(effects(command)).not.toContain("allow");
  });
});

/** Allowed under every template. */
const HARMLESS = [
  "set -euo pipefail; ls src",
  "set -x; ls",
  "shopt -s nullglob globstar; ls src",
  "hash -r; ls",
  "SECONDS=0; ls; echo $SECONDS",
  "i=0; echo $((i + 1)); ls",
  "n=$(ls src | wc -l); echo $((n + 1))",
  'log() { echo "$1"; }; log x; ls',
  "for f in a b; do cat src/$f; done",
  "read -r a b <<< 'x y'; cat src/$a",
];

test.each(HARMLESS)("stays allowed: %s", (command) => {
  expect(effects(command)).toEqual(["allow", "allow", "allow"]);
});
