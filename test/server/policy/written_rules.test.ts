import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../server/policy/evaluate.ts";
import { startCpuClock } from "../../cpu_clock.ts";
import { evaluateCommand } from "./score.ts";

const policy = compilePolicy({
  global: null,
  project: {
    defaultEffect: "allow",
    blockedCommands: ["rm -rf", "git push --force"],
    askCommands: ["npm publish"],
    blockedPaths: [".env", "*.pem", "config/secrets/**"],
  },
  override_global: false,
});

/** Texts before and behind which gate analyses no more. */
const PADS: Record<string, (text: string) => string> = {
  "many commands before": (text) => `${"a;".repeat(1_900)}${text}`,
  "too many commands to read": (text) => `${"a;".repeat(10_000)}${text}`,
  "a long word": (text) => `echo ${"a".repeat(70_000)}; ${text}`,
  "many words": (text) => `echo ${"a ".repeat(20_000)}; ${text}`,
  "many files": (text) =>
    `rm ${Array.from({ length: 900 }, (_, at) => `f${at}`).join(" ")}; ${text}`,
  "many pieces": (text) => `echo ${"'a'".repeat(9_000)}; ${text}`,
  "deep brackets": (text) => `${"( ".repeat(90)}true${" )".repeat(90)}; ${text}`,
  "text behind": (text) => `${text}\n${"a;".repeat(10_000)}`,
};

const DENIED = [
  "rm -rf x",
  "r''m -rf x",
  "sudo -u root rm -rf x",
  "env A=1 nice -n 5 rm -r -f x",
  "A=1 rm -rf x",
  "if true; then rm -rf x; fi",
  "(rm -rf x)",
  "x=$(rm -rf x)",
  "find . -name x | xargs rm -rf",
  "git -C sub push --force origin",
  "cat .env",
  "cat 'sub/.env'",
  "tool --file=.env",
  "cat sub/.ENV",
  "openssl rsa -in key.pem",
  "cat config/secrets/a",
  "cat < .env",
  "echo x > .env",
  "rm /etc/hosts",
  "rm -r ../other",
  "echo x > /etc/hosts",
  "cat /home/user/.gate/tokens",
  "gate approve 1",
  "bash <<'E'\nrm -rf x\nE",
];

/** A person may approve these: nothing in them is denied. */
const ASKED = [
  "echo rm -rf x",
  "printf '%s' .env",
  "rm x",
  "rm src/../x",
  "cat .env.example",
  "git push",
  "npm publish",
  "cat <<'E' > notes.md\nrm -rf x\ncat .env\nE",
  "ls # rm -rf x",
  "grep 'rm -rf x' notes.md",
];

describe.each(Object.entries(PADS))("%s", (_name, pad) => {
  test.each(DENIED)("does not hide %j", (text) => {
    expect(evaluateCommand(pad(text), policy).decision.effect).toBe("deny");
  });

  test.each(ASKED)("leaves the question about %j to a person", (text) => {
    expect(evaluateCommand(pad(text), policy).decision.effect).toBe("ask");
  });
});

test("the finding shows the denied part", () => {
  const { decision, span } = evaluateCommand(`${"a;".repeat(10_000)}rm -rf x; b`, policy);
  expect(decision).toMatchObject({ effect: "deny", rule: { pattern: "rm -rf" } });
  expect(decision.reason).toContain("too large to analyse");
  expect(span).toMatch(/^rm -rf x/);
});

test("a here-document that never ends hides nothing", () => {
  const text = `${"a;".repeat(10_000)}\ncat <<E\nrm -rf x\n`;
  expect(evaluateCommand(text, policy).decision.effect).toBe("deny");
});

/** Programs under rules, so often that nobody can meet all rules with all words behind them. */
const CROWDS: Record<string, string> = {
  "programs that start programs": "sudo rm ".repeat(5_900),
  "programs with options": "sudo rm -v ".repeat(5_900),
  "subcommands": "sudo git push ".repeat(4_500),
  "input of others": "xargs rm -r ".repeat(3_900),
  "variables": "env a=1 git ".repeat(3_900),
  "many commands": "git push -v;".repeat(5_400),
};

describe.each(Object.entries(CROWDS))("%s", (_name, crowd) => {
  test("hide nothing", () => {
    for (const text of [`${crowd}; rm -rf x`, `${crowd} git push --force`, `rm -rf x; ${crowd}`]) {
      expect(evaluateCommand(text, policy).decision.effect).toBe("deny");
    }
    expect(evaluateCommand(crowd, policy).decision.effect).not.toBe("allow");
  });

  test("cost no more than their length", () => {
    // A search from each program to the end of the text takes seconds.
    expect(Math.min(...[1, 2, 3].map(() => timeOf(crowd)))).toBeLessThan(400);
  });
});

function timeOf(text: string): number {
  const cpuMs = startCpuClock();
  evaluateCommand(text, policy);
  return cpuMs();
}
