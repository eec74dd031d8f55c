import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../../server/policy/evaluate.ts";
import type { Policies } from "../../../../server/policy/schema.ts";
import { evaluateCommand } from "../score.ts";

const effectUnder = (project: Policies) => {
  const policy = compilePolicy({ global: null, project, override_global: false });
  return (command: string) => evaluateCommand(command, policy).decision.effect;
};

const open = effectUnder({
  defaultEffect: "allow",
  blockedPaths: [".env"],
  blockedCommands: ["git push --force", "git branch -D"],
});

describe("a program without a record", () => {
  test.each([
    ["names a file outside the project", "frob /etc/cron.d/x"],
    ["names it in an option", "frob --out=/etc/cron.d/x"],
    ["names it with blanks", "frob '/etc/cron.d/my file'"],
    ["names it in its input", "frob <<'EOF'\nget payload /etc/cron.d/x\nEOF"],
    ["names it in code", "frob 'write(\"/etc/cron.d/x\")'"],
    ["has an option like one of another program", "frob -k /etc/cron.d/x"],
    ["gets the names of files", "find . -type f -exec frob {} +"],
    ["gets the names of files from a list", "find . -type f | xargs frob"],
    ["gets an unknown word", 'frob "$FILE"'],
    ["runs an attached value", "frob '-Hgit push --force #' x"],
  ])("is held if it %s", (_, command) => {
    expect(open(command)).toBe("ask");
  });

  test.each([
    "frob",
    "frob build --release src/a.ts",
    "frob https://example.com/a/b",
    "frob s/a/b/ docs/a.md",
    "frob <<'EOF'\nsee https://example.com/a/b\nEOF",
    "frob /dev/null",
  ])("is not held for %j", (command) => {
    expect(open(command)).toBe("allow");
  });
});

describe("an allow rule about a program without a record", () => {
  const listed = effectUnder({
    defaultEffect: "ask",
    allowedCommands: ["frob", "frob --check a.ts", "deploy *", "grep"],
  });

  test.each([
    ["frob", "allow"],
    ["frob --check a.ts", "allow"],
    ["frob a.ts", "ask"],
    ["frob --fix", "ask"],
    ["deploy staging", "allow"],
    ["deploy --force staging", "ask"],
    ["grep -n x a.ts", "allow"],
    ["grep --frob x a.ts", "ask"],
  ])("%s: %s", (command, effect) => {
    expect(listed(command)).toBe(effect);
  });
});

describe("what the records say of single programs", () => {
  test.each([
    ["history writes a file", "history -w /etc/cron.d/x"],
    ["script writes its operand", "script -q -c 'true' /etc/cron.d/x"],
    ["tmux runs code", "tmux -c 'git push --force'"],
    ["mail runs code", "mail --exec='!git push --force'"],
    ["make writes a file", "make -s --eval='$(file >/etc/cron.d/x,DATA)' ."],
    ["mypy writes a report", "mypy a.py --junit-xml /etc/cron.d/x"],
    ["sed reads its script", "sed -f .env a.txt"],
    ["awk reads its program", "awk -f .env a.txt"],
    ["-d --force is -D", "git branch -d --force feature"],
    ["iconv writes a file", "iconv -f latin1 a.txt -o /etc/cron.d/x"],
    ["msgfilter runs a command", "msgfilter -P -i a.txt git push --force"],
  ])("%s", (_, command) => {
    expect(open(command)).not.toBe("allow");
  });

  test.each([
    "history",
    "script out.log",
    "tmux new-session -d",
    "git branch -d feature",
    "msgfilter -P -i a.txt /bin/cat",
    "kill %1",
  ])("%s is not held", (command) => {
    expect(open(command)).toBe("allow");
  });
});

test.each([
  ["sqlite3 -interactive data.db", "ask"],
  ["sqlite3 -html data.db 'select 1'", "allow"],
])("a program that writes a history into the home folder is held: %s", (command, effect) => {
  expect(open(command)).toBe(effect);
});
