import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { prove } from "../../../../server/policy/prove/prove.ts";
import { commandsOf, type Proof } from "../../../../server/policy/prove/proved.ts";
import { type Call, Laboratory, SHELLS } from "./shells.ts";

const FILES = ["a.txt", "b.txt", "c d.txt", ".hidden.txt", "src/x.ts", "src/y.ts", "src/deep/z.ts"];
const lab = new Laboratory([...FILES, "10", "9", "B", "a"]);
afterAll(() => lab.remove());

const OPTIONS = { cwd: lab.cwd, user_home: lab.home, list: lab.list };
const [BASH] = SHELLS;

/** The calls of `say` that a proof promises, sorted; null if the text is not proved. */
function promised(text: string): Call[] | null {
  const proof = prove(text, OPTIONS);
  if ("unproved" in proof) return null;
  return commandsOf(proof.proved).filter(({ argv }) => argv[0] === "say")
    .map(({ argv, folders }) => [folders[0]!, ...argv.slice(1)]).sort();
}

function reasonOf(proof: Proof): string {
  return "unproved" in proof ? proof.unproved.reason : "proved";
}

/** The calls that are in `calls` more often than in `others`. */
function beyond(calls: readonly Call[], others: readonly Call[]): string[] {
  const left = others.map((call) => JSON.stringify(call));
  return calls.map((call) => JSON.stringify(call)).filter((call) => {
    const at = left.indexOf(call);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

/** Each text with the words of its programs. */
const PROVED: [text: string, ...calls: string[]][] = [
  ["say", ""],
  ["say a b", "a|b"],
  ["  say\ta  b ", "a|b"],
  ["say 'a b' \"c d\" e\\ f", "a b|c d|e f"],
  ["say a'b'\"c\"d", "abcd"],
  ["say ''", ""],
  [
    `say 'it is $HOME and \`id\`' "say \\"hi\\" for \\$5 \\\\"`,
    'it is $HOME and `id`|say "hi" for $5 \\',
  ],
  ["say 's/\\./x/' \"a\\.b\"", "s/\\./x/|a\\.b"],
  ["say \\( a \\) \\; \\* \\$x \\#y \\!", "(|a|)|;|*|$x|#y|!"],
  ["say --opt=x a=b -n +3 @x x@y %s 50% 1,2 a:b .", "--opt=x|a=b|-n|+3|@x|x@y|%s|50%|1,2|a:b|."],
  ["say {} ! = != ]", "{}|!|=|!=|]"],
  ["say ünï 'é 日本'", "ünï|é 日本"],
  ["say a; say b\nsay c;", "a", "b", "c"],
  ["say a && say b || say c", "a", "b", "c"],
  ["say a &&\nsay b |\nsay c", "a", "b", "c"],
  ["say a | say b | say c", "a", "b", "c"],
  ["say a 2>&1 | say b 2>/dev/null", "a", "b"],
  ["say a > out.1 2>&1", "a"],
  ["say a >> 'o u t' 2> err x", "a|x"],
  ["say a < a.txt", "a"],
  ["say a >&2", "a"],
  ["say \\\n  a \\\n  b", "a|b"],
  ["# a comment\nsay a\n\n# another: done.\nsay b", "a", "b"],
  ["say *.txt", "a.txt|b.txt|c d.txt"],
  ["say .h*.txt src/*.ts s*/x*", ".hidden.txt|src/x.ts|src/y.ts|src/x.ts"],
  ["say 'c '*.t*t", "c d.txt"],
  ["say s*/ */deep/", "src/|src/deep/"],
  ["say no*such", "no*such"],
  ['x=3; say $x "$x"', "3|3"],
  ["x='a b' && y=c && say \"$x\" $y", "a b|c"],
  ['x=\nsay "$x"', ""],
  ["for f in a b 'c d'; do say \"$f\"; done", "a", "b", "c d"],
  ['for f in *.txt\ndo\n  say "$f"\ndone; say end', "a.txt", "b.txt", "c d.txt", "end"],
  ["for a in 1 2; do for b in x y; do say $a $b; done; done", "1|x", "1|y", "2|x", "2|y"],
  ["LC_ALL=C NO_COLOR=1 say a", "a"],
  ["say <<'EOF'\nhe said $HOME `id`\n  EOF\nEOF\nsay b", "", "b"],
  ['say a <<"X" > here.out\nbody\nX\n', "a"],
  [
    "say -m \"$(cat <<'EOF'\nFirst line (of two)\n\nsecond\nEOF\n)\"",
    "-m|First line (of two)\n\nsecond",
  ],
  ["echo hi | say a; printf '%s\\n' x y | say b", "a", "b"],
  ["[ -f a.txt ] && say yes; test a = a && say same", "yes", "same"],
  ["say a; false || exit 3", "a"],
  ["true && say a; false || say b; : ; say c", "a", "b", "c"],
];

describe("a text that is proved", () => {
  test.each(PROVED)("%j", (text, ...calls) => {
    const words = calls.map((call) => [lab.cwd, ...call === "" ? [] : call.split("|")]);
    const proof = prove(text, OPTIONS);
    expect(reasonOf(proof)).toBe("proved");
    const found = promised(text)!.map((call) => call.filter((word) => word !== ""));
    expect(found).toEqual(words.sort());
  });

  test.each(SHELLS)("runs the same in $name, or the shell refuses it", (shell) => {
    for (const [text] of PROVED) {
      const ran = lab.run(text, shell);
      expect(beyond(ran, promised(text)!), text).toEqual([]);
      // Neither loops nor variables nor here-documents of the other shells exist in fish.
      if (shell.name === "fish" || text.includes("no*such") || text.includes("||")) continue;
      expect(ran, text).toEqual(promised(text));
    }
  });
});

/** Each text with a part of the reason. */
const UNPROVED: [text: string, reason: string][] = [
  ["", "ends too early"],
  [" \n", "ends too early"],
  ["say $(id)", "command substitution"],
  ["say `id`", "command substitution"],
  ['say "$(id)"', "command substitution"],
  ['say "`id`"', "command substitution"],
  ["say <(id)", "redirect"],
  ["say >(id)", "redirect"],
  ["say $x", "does not set"],
  ["say ${x}", "variable inside"],
  ["x=1; say a$x", "variable inside"],
  ["x=1; say ${x}", "variable inside"],
  ['x=1; say "a$x"', "variable inside"],
  ["x=1; say $x[1]", "variable inside"],
  ["x='a b'; say $x", "without quotes"],
  ["x=; say $x", "without quotes"],
  ["x='*'; say $x", "without quotes"],
  ["x=say; $x a", "place of a program"],
  ["~", "a folder in the place"],
  ["./src && say", "a folder in the place"],
  ["say; src/deep | say", "a folder in the place"],
  ["say && x=1; say $x", "not always set"],
  ["for f in a b; do x=$f; done; say $x", "not always set"],
  ["for f in a; do say $f; done; say $f", "does not set"],
  ["x=1 || say", '"||"'],
  ["PATH=/tmp; say", "programs may read"],
  ["RANDOM='a[$(id)]'; ls", "programs may read"],
  ["path=/tmp; say", "programs may read"],
  ["http_proxy=x; say", "programs may read"],
  ["IFS=x; say", "programs may read"],
  ["GIT_PAGER=evil git log", "before a program"],
  ["LD_PRELOAD=x say", "before a program"],
  ["x=1 say", "before a program"],
  ["x+=1; say", '"x+=1"'],
  ["a[0]=1; say", "brackets"],
  ["x=(1 2); say", "subshell"],
  ["say =ls", 'begins with "="'],
  ["say %self", 'begins with "%self"'],
  ["say ~root", '"~"'],
  ["say ~+", '"~"'],
  ["say a~b", '"~"'],
  ["say a=~/x", '"~"'],
  ["say ^x", '"^"'],
  ["say {a,b}", "braces"],
  ["say a{1..3}", "braces"],
  ["say ?", "?"],
  ["say [ab]", "brackets"],
  ["say **", "differently"],
  ["say .*", "differently"],
  ["say src//*.ts", "differently"],
  ["say a*(e:id:)", "subshell"],
  ["ls a | cp * x", "order differs"],
  ["say a & say b", "background"],
  ["say a &", "background"],
  ["say a |& say b", '"|&"'],
  ["say a &> f", "background"],
  ["say a >& f", "redirect"],
  ["say a >| f", "redirect"],
  ["say a >! f", "redirect"],
  ["say a 3> f", "redirect"],
  ["say a12> f", "number"],
  ["say 12> f", "number"],
  ["say a2>&1", "number"],
  ["say a 2>&-", "redirect"],
  ["say a > /dev/tcp/localhost/80", "redirect"],
  ["say a > /dev/stdout", "redirect"],
  ["say a > *.txt", "glob"],
  ["touch a.md; say *.md", "may change which files"],
  ["echo a > z.txt && ls *.txt", "may change which files"],
  ["tee z.txt | cat *.txt", "may change which files"],
  ["cat *.txt | tee z.txt", "may change which files"],
  ["cat *.txt | sort -o z.txt", "may change which files"],
  ["for f in a b; do cat *.txt > z.txt; done", "may change which files"],
  ["git checkout a; ls *", "may change which files"],
  ["x=1; say > $x", "variable"],
  ["say > a > b", "two"],
  ["say > a | say", "two"],
  ["say | say < a", "two"],
  ["> f", "redirect without"],
  ["say <<< x", "redirect"],
  ["say <<EOF\n$(id)\nEOF", "redirect"],
  ["say <<-'EOF'\nx\nEOF", "redirect"],
  ["say <<'EOF'\nx", "without its end"],
  ["say <<'EOF'\nEOF", "empty"],
  ["say <<'EOF'", "its line"],
  ["say <<'A' <<'B'\nA\nB", "here-documents"],
  ["say <<'A' |\nA\nsay", "its line"],
  ["say <<'A' 'x\ny'\nA\n", "its line"],
  ["say <<'A' \\\n x\nA\n", "its line"],
  ["say <1-5>x", "redirect"],
  ["(say a)", "subshell"],
  ["{ say a; }", "braces"],
  ["f() { say; }; f", "subshell"],
  ["if true; then say; fi", '"if"'],
  ["while true; do say; done", '"while"'],
  ["case a in a) say;; esac", '"case"'],
  ["[[ a ]] && say", "brackets"],
  ["(( 1 )) && say", "subshell"],
  ["! say", '"!"'],
  ["time say", '"time"'],
  ["coproc say", '"coproc"'],
  ["function f say", '"function"'],
  ["repeat 3 say", '"repeat"'],
  ["noglob say", '"noglob"'],
  ["and say", '"and"'],
  ["not say", '"not"'],
  ["begin; say; end", '"begin"'],
  ["do say", '"do"'],
  ["for f in; do say; done", '"for"'],
  ["for f in a < b; do say; done", "redirect among the words"],
  [`ls ${"* ".repeat(40)}`, "very many globs"],
  ["for f in a; do say", "without its end"],
  ["for f in a; { say; }", '"do"'],
  ["for f; do say; done", '"for"'],
  ["for PATH in a; do say; done", "programs may read"],
  ["for ((i=0;i<3;i++)); do say; done", '"for"'],
  ["for f in a; do say; done | say", "pipeline"],
  ["for f in a; do say; done > x", 'sign ">"'],
  ["eval say", '"eval"'],
  ["exec say", '"exec"'],
  ["source x", '"source"'],
  [". x", "folder"],
  ["alias ls=say", '"alias"'],
  ["hash -p /bin/bash cat", '"hash"'],
  ["export X=1", '"export"'],
  ["set -x", '"set"'],
  ["trap 'say' EXIT", '"trap"'],
  ["command say", '"command"'],
  ["builtin cd /", '"builtin"'],
  ["enable -f x y", '"enable"'],
  ["exit $x", "does not set"],
  ["exit 'a[$(id)]'", '"exit"'],
  ["exit 1 2", '"exit"'],
  ["say | exit 1", '"exit"'],
  ["printf -v x a", '"printf"'],
  ["printf '%n' 'a[$(id)]'", '"printf"'],
  ["printf '%d' 'a[$(id)]'", '"printf"'],
  ["printf '%*d' 1 2", '"printf"'],
  ["test -v 'a[$(id)]'", '"test"'],
  ["[ 'a[$(id)]' -eq 1 ]", '"["'],
  ["[ a", '"["'],
  ["echo -e 'a\\nb' > f", '"echo"'],
  ["echo 'a\\c' | say", '"echo"'],
  ["cd -", "not certain"],
  ["cd -P x", "not certain"],
  ["cd +1", "not certain"],
  ["cd a b", "not certain"],
  ["cd ''", "not certain"],
  ["cd src/..", "not certain"],
  ["cd src && cd ..", "not certain"],
  ["cd src | say", "pipeline"],
  ["cd src; say *.ts", "may fail"],
  ["cd src > x", '"cd"'],
  ["./", "folder"],
  ["..", "folder"],
  ["src/", "folder"],
  ["- say", '"-"'],
  ["-x", '"-x"'],
  ["%1", '"%1"'],
  ["*", "glob"],
  ["say a#b", '"#"'],
  ["say a # say b", '"#"'],
  ["# it's\nsay", "comment"],
  ["# a; say b\nsay", "comment"],
  ["say a\\\nb", "backslash"],
  ["say \\\n# x\nsay", "empty one"],
  ["say \\n", "backslash"],
  ["say 'a\\\\b'", "quoted text"],
  ["say 'a\\'", "quoted text"],
  ["say 'a''b'", "quoted text"],
  ['say "a\\`b"', "command substitution"],
  ['say "!x"', "quoted text"],
  ["say !x", '"!"'],
  ["say 'a", "not closed"],
  ['say "a', "not closed"],
  ["say $'a\\nb'", "variable"],
  ['say $"a"', "variable"],
  ["say a\r", "unusual character"],
  ["say\u00a0a", "unusual character"],
  ["say a\0b", "unusual character"],
  ["say \u2028 a", "unusual character"],
  ["say \ud800", "unusual character"],
  ["say \u202ea", "unusual character"],
  ["say a;; say b", '";;"'],
  ["say a ||", "too early"],
  ["say a && && say b", "background"],
  ["; say a", "no program"],
  ["say a | | say b", "no program"],
  ["say -m \"$(cat <<'EOF'\nit is (open\nEOF\n)\"", "quoted text"],
  ["say -m \"$(cat <<'EOF'\nit's\nEOF\n)\"", "command substitution"],
  [`say ${"a ".repeat(40_000)}`, "long"],
  [`${"say;".repeat(300)}`, "many commands"],
  [`${"x=1;".repeat(15_000)}`, "many commands"],
  [`say ${"a ".repeat(16_000)}`, "many words"],
  [`say ${'"a"'.repeat(16_000)}`, "many parts"],
  [`say ${"a*".repeat(16_000)}`, "many"],
  [`${"for f in 1 2 3 4; do ".repeat(8)}say${"; done".repeat(8)}`, "set"],
];

describe("a text that is not proved", () => {
  test.each(UNPROVED)("%j: %s", (text, reason) => {
    expect(reasonOf(prove(text, OPTIONS))).toContain(reason);
  });

  test("names the part that prevents it", () => {
    const text = "say a && say $(id) b";
    const proof = prove(text, OPTIONS);
    const [from] = "unproved" in proof ? proof.unproved.span : [0];
    expect(text.slice(from, from + 5)).toBe("$(id)");
  });
});

describe("the folders of a command", () => {
  const CASES: [text: string, ...folders: string[]][] = [
    ["cd src && say", "/w/src"],
    ["cd src; say", "/w/src /w"],
    ["cd src || say", "/w"],
    ["cd src || cd lib && say", "/w/lib /w/src"],
    ["cd src && say; say", "/w/src", "/w/src /w"],
    ["true && false || cd src && say", "/w/src /w"],
    ["cd .. && say", "/"],
    ["cd /x/y && say", "/x/y"],
    ["cd src || exit 1; say", "/w/src"],
    ["cd && say", "/h"],
    ["cd ~/a && say", "/h/a"],
    ["x=src; cd $x && say", "/w/src"],
    ["true && cd src 2>/dev/null && say", "/w/src"],
  ];
  test.each(CASES)("%s", (text, ...folders) => {
    const proof = prove(text, { cwd: "/w", user_home: "/h" });
    if ("unproved" in proof) throw new Error(proof.unproved.reason);
    const said = commandsOf(proof.proved).filter(({ argv }) => argv[0] === "say");
    expect(said.map((one) => one.folders.join(" "))).toEqual(folders);
  });
});

describe("properties", () => {
  const word = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: "grapheme", maxLength: 8 }),
    fc.string({ unit: fc.constantFrom(..." '\"\\$`!*?[]{}()<>|&;#~=%^\n\tab"), maxLength: 10 }),
  ).filter((text) => !/[^\P{C}\n\t]|[^\P{Z} ]/u.test(text));
  const quoted = (text: string) =>
    [...text].map((char) => /[\w./-]/.test(char) ? char : char === "'" ? '"\'"' : `'${char}'`)
      .join("").replaceAll("''", "").replace(/^$/, "''");

  test("quoted words come back from the proof and from the shells as they are", () => {
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
        const text = `say ${words.map(quoted).join(" ")}`;
        const calls = promised(text);
        // A backslash before the end of a quote means another thing in fish.
        if (words.some((one) => one.includes("\\"))) {
          if (calls !== null) expect(calls).toEqual([[lab.cwd, ...words]]);
          return;
        }
        expect(calls).toEqual([[lab.cwd, ...words]]);
        expect(lab.run(text, BASH!)).toEqual(calls);
      }),
      { numRuns: 100 },
    );
  });

  const piece = fc.constantFrom(
    ..."say|say |a|b.txt|*.txt| |;|&&|||\n|\\|'|\"|$|`|$x|\"$x\"|x=1|x=a |(|)|{|}|[|]|>|<|2>|>&|&|!|#|=|~|^|%|?|*|for x in a b; do |; done|done|\\\n|<<'E'\n|E\n|cd src|src/|.|-|:|,|@|echo |test |\t|'a b'|\"c d\"|\\;|\\*|if |then |fi|{a,b}|$(say z)|`say z`|1|&1"
      .split("|").filter((one) => one !== ""),
    "|",
    "||",
  );

  test.each(SHELLS)("$name never runs more than a proof promises", (shell) => {
    let proved = 0;
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
        const text = `say ${pieces.join("")}`;
        const proof = prove(text, OPTIONS);
        if ("unproved" in proof) return;
        proved++;
        const allowed = commandsOf(proof.proved).filter(({ argv }) => argv[0] === "say")
          .flatMap(({ argv, folders }) => folders.map((folder) => [folder, ...argv.slice(1)]));
        expect(beyond(lab.run(text, shell), allowed)).toEqual([]);
      }),
      { numRuns: 3_000 },
    );
    expect(proved).toBeGreaterThan(50);
  });
});
