import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../../server/policy/evaluate.ts";
import { policyTemplate } from "../../../../server/policy/templates.ts";
import { evaluateCommand } from "../score.ts";

const policyOf = (name: "balanced" | "strict" | "permissive") =>
  compilePolicy({ global: null, project: policyTemplate(name), override_global: false });
const balanced = policyOf("balanced");
const strict = policyOf("strict");
const permissive = policyOf("permissive");
const effectOf = (command: string, policy = balanced) =>
  evaluateCommand(command, policy).decision.effect;

describe("code that only computes is allowed by balanced, and asked about by strict", () => {
  test.each([
    'python3 -c "print(1+1)"',
    "python3 -c 'print(\"a\", (1 + 2) * 3, -4.5)'",
    "python -c 'import sys; print(sys.version)'",
    'node -e "console.log(process.version)"',
    "node -p 'process.platform'",
    "node -p '[1, 2, 3].map(x => x * 2).join(\",\")'",
    "node -e 'const a = Math.max(1, 2); console.log(a.toFixed(2))'",
    "perl -e 'print 1 + 2'",
    'perl -e \'print "a" x 3, "\\n"\'',
    "perl -e 'my $n = 10; print \"$n\\n\" if $n > 3 && $n <= 10'",
    "perl -e 'for my $i (1..5) { printf(\"%d %.2f\\n\", $i, sqrt($i) / 2) }'",
    'perl -e \'print join(",", map { $_ * 2 } sort { $a <=> $b } (3, 1)), "\\n"\'',
    "perl -e 'my @a = (1, 2); print scalar(@a) % 2'",
    "ruby -e 'puts 1 + 2'",
    "ruby -e 'puts RUBY_VERSION'",
    "ruby -e '3.times { |i| puts i * 2 }'",
    "ruby -e 'puts [3, 1].sort.map { |x| x * 2 }.join(\",\")'",
    "ruby -e 'puts Math.sqrt(2).round(2)'",
    "awk '{print $1}' src/a.txt",
    "awk -F: '$3 > 5 {print $1, $2}' src/a.txt",
    "awk -F , 'NR==1 || /x y/ {n++} END {print n}' src/a.txt",
    "ls | awk '{s += $1} END {printf \"%d\\n\", s}'",
  ])("%s", (command) => {
    expect(effectOf(command)).toBe("allow");
    expect(effectOf(command, strict)).toBe("ask");
  });
});

describe("other code is asked about", () => {
  test.each([
    "python3 -c 'import json; print(1)'",
    "python3 -c 'import sys, os; print(1)'",
    "python3 -c 'print(open(\"a\").read())'",
    "python3 -c 'print(1/0)'",
    "python3 -c 'print(().__class__)'",
    "python3 -c 'print(f\"{x}\")'",
    "python3 -c 'print(sys.version)'",
    "python3 -c 'print(1' x",
    "python3 -c 'print(\"\\x41\")'",
    "python3 -c 'import sys; print(sys.modules)'",
    "python3 -i -c 'print(1)'",
    "python3 -c 'print(1)' -c 'x'",
    "python3 -cprint(1)",
    "python3 a.py -c 'print(1)'",
    "node -e 'require(\"fs\")'",
    "node -e 'process.exit()'",
    "node -e 'process.env.X'",
    "node -e 'console[\"constructor\"]'",
    "node -e 'console.log.constructor(\"x\")()'",
    "node -e 'console.log(`${x}`)'",
    "node -e 'const console = 1; console.log(1)'",
    "node -e 'console.log(/x/.exec(1))'",
    "node -e 'import(\"fs\")'",
    "node -r ./x.js -e 'console.log(1)'",
    "node -e 'console.log(1)' --require ./x.js",
    "perl -e 'system(\"x\")'",
    "perl -e 'print `x`'",
    "perl -e 'open(F, \"a\")'",
    'perl -e \'open(F, "." . "env"); print <F>\'',
    "perl -e 'print <a*>'",
    "perl -e 'print < a >'",
    "perl -e 'print <<X'",
    "perl -e 'print $ENV{X}'",
    "perl -e 'print %ENV'",
    "perl -e 'print \"$ENV{X}\"'",
    "perl -e 'my $x; print \"$x[0] @{[ `x` ]}\"'",
    "perl -e 'print @{\"ENV\"}'",
    "perl -e 'my $x = \"ENV\"; print %$x'",
    "perl -e 'my $x = \"main\"; print $x->{X}'",
    'perl -e \'"IO::File" -> new("a")\'',
    "perl -e 'my $x = \"system\"; &$x(1)'",
    "perl -e 'my $x = \"system\"; &{$x}(1)'",
    "perl -e 'print -e \"a\"'",
    "perl -e 'print -s \"a\"'",
    "perl -e 'print split(/(?{ x })/, 1)'",
    "perl -e 'print /(?{ x })/'",
    "perl -e 'print 1 / (2) /(?{ x })/'",
    "perl -e 's/a/x/e'",
    "perl -e 'use Foo'",
    "perl -e 'require \"a\"'",
    "perl -e 'do \"a\"'",
    "perl -e 'eval \"1\"'",
    "perl -e 'print FOO 1'",
    "perl -e 'local @ARGV = \"a\"; print <>'",
    "perl -e 'my @ARGV = 1; while (<>) { print }'",
    "perl -e 'print q(a)'",
    "perl -e '*x = 1'",
    'perl -e \'print split(",", "a,b")\'',
    "perl -e \"print \\$a'b . '; print 1; ' . system('x') . '1' . \\$a'print\"",
    "perl -e 'my $ENV; print $ENV{PATH}'",
    "perl -e 'my $ENV; print \"$ENV\", $ENV{PATH}'",
    "perl -e 'print 0 < a > 0'",
    "perl -e '$0 = 1'",
    "perl -e 'print $INC[0]'",
    "perl -ne 'print 1'",
    "perl -pe 'print 1' a",
    "perl -ie 'print 1'",
    "perl -E 'print 1'",
    "perl -MFoo -e 'print 1'",
    "perl -e 'print 1' -e 'x'",
    "perl -e 'print 1' a",
    "ruby -e 'system(\"x\")'",
    "ruby -e '`x`'",
    "ruby -e 'puts %x(ls)'",
    "ruby -e 'puts \"#{1}\"'",
    "ruby -e 'puts ENV'",
    "ruby -e 'puts File.read(\"a\")'",
    "ruby -e 'puts open(\"a\")'",
    "ruby -e '[1].map(&:system)'",
    "ruby -e '[\"x\"].inject(:system)'",
    'ruby -e \'1.send("system", "x")\'',
    "ruby -e 'puts $0'",
    "ruby -e 'puts gets'",
    "ruby -e 'p.instance_eval { 1 }'",
    "ruby -e 'require \"x\"'",
    "ruby -rfoo -e 'puts 1'",
    "ruby -ne 'puts 1'",
    "awk 'BEGIN {system(\"x\")}'",
    "awk 'BEGIN {\"x\" | getline}'",
    "awk '{print | \"sh\"}'",
    "awk '{print > \"a\"}'",
    "awk '{print > $1}' a",
    "awk 'BEGIN {while ((getline l < \"a\") > 0) print l}'",
    "awk 'BEGIN {print ENVIRON[\"X\"]}'",
    "awk '@load \"x\"'",
    "awk -f a.awk",
    "awk -v x=1 '{print x}'",
    "awk '{print}' x=1 a",
    "awk '{print}' -f a.awk",
  ])("%s", (command) => {
    expect(effectOf(command)).not.toBe("allow");
  });
});

describe("files in code are read", () => {
  test.each([
    ["awk 'BEGIN {while ((getline l < \".env\") > 0) print l}'", "deny"],
    ['awk \'BEGIN {f = "." "env"; getline l < f; print l}\'', "ask"],
    ['awk \'BEGIN {getline l < ("." "env"); print l}\'', "ask"],
    ['awk \'BEGIN {ARGV[1] = "." "env"; ARGC = 2} {print}\'', "ask"],
    ["awk '{print}' .env", "deny"],
    ["perl -ne print 'cat .env|'", "deny"],
    ["perl -pe 1 '|touch a'", "ask"],
    ["perl -ne print '< .env'", "deny"],
    ["perl -ne print a.txt", "allow"],
    ['awk \'$1 < "m" && $2 > "a" {print}\' a.txt', "allow"],
    ["awk '{print ARGV[0]}' a.txt", "allow"],
    ["python3 -c \"print(open('.env').read())\"", "ask"],
    ["node -e \"require('fs').readFileSync('.env')\"", "ask"],
  ])("%s: %s", (command, effect) => {
    expect(effectOf(command, permissive)).toBe(effect);
  });
});
