import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../../server/policy/evaluate.ts";
import { evaluateCommand } from "../score.ts";

const policy = compilePolicy({
  global: null,
  project: {
    defaultEffect: "ask",
    allowedCommands: [
      ...["npm test", "npm run build *", "pnpm test", "pytest", "cargo test", "go test", "make"],
      ...["make CC=clang", "npm test --workspace=a", "echo", "pytest -p no:cacheprovider"],
    ],
  },
  override_global: false,
});
const effectOf = (command: string) => evaluateCommand(command, policy).decision.effect;

describe("a rule about a task", () => {
  test.each([
    "npm test",
    "npm test --silent",
    "npm run build --if-present",
    "npm run build -- --mode=test",
    "npm test --workspace=a",
    "pytest -v -k name tests/a.py --tb=short",
    "pytest -p no:cacheprovider",
    "cargo test --release -p core name",
    "go test -v -run=Name",
    "make -j4 all",
    "make CC=clang",
    "CI=1 npm test",
    "name=1; npm test",
    "env FORCE_COLOR=1 pytest",
  ])("covers %s", (command) => {
    expect(effectOf(command)).toBe("allow");
  });

  test.each([
    ["another folder", "npm test --prefix ../other"],
    ["another folder", "npm -C ../other test"],
    ["another workspace", "npm test --workspace=b"],
    ["the options of the task", "npm test -- --require ./x.js"],
    ["a config file", "cargo test --config build.rustc-wrapper=./x"],
    ["a program around it", "go test -exec ./x"],
    ["another makefile", "make -f other.mk"],
    ["code in a variable of make", "make CC=./x"],
    ["code in an option of make", "make --eval=all:"],
    ["a plugin", "pytest -p evil"],
    ["a config file", "pytest -c other.ini"],
    ["a variable that it reads", "PYTEST_ADDOPTS='-p evil' pytest"],
    ["the same by env", "env RUSTC_WRAPPER=./x cargo test"],
    ["the same by export", "export GOFLAGS=-exec=./x; go test"],
    ["the same by declare", "declare -x MOCHA_OPTS=x; npm test"],
    ["the same by set", "set -a; RUSTC_WRAPPER=./x; cargo test"],
    ["the same in a subshell", "(export RUSTC_WRAPPER=./x; cargo test)"],
    ["the same in a branch", "true && export RUSTC_WRAPPER=./x; cargo test"],
  ])("does not cover %s: %s", (_, command) => {
    expect(effectOf(command)).toBe("ask");
  });
});

test.each([
  "xargs --replace=. ./canary.sh notes.txt",
  "xargs -I. ./canary.sh",
  "xargs -I{} ./canary.sh {}",
  "xargs ./canary.sh",
])("a program that xargs runs for the lines of a terminal is blocked: %s", (command) => {
  const blocking = compilePolicy({
    global: null,
    project: { defaultEffect: "allow", blockedCommands: ["./canary.sh"] },
    override_global: false,
  });
  expect(evaluateCommand(command, blocking).decision.effect).toBe("deny");
});

describe("a script that a shell may find among the programs", () => {
  const policy = compilePolicy({
    global: null,
    project: {
      defaultEffect: "allow",
      blockedCommands: ["rm -rf", "git push"],
      allowedCommands: ["bash build.sh", "source env.sh"],
    },
    override_global: false,
  });
  const effectOf = (command: string) => evaluateCommand(command, policy).decision.effect;

  test.each([
    "source rm -rf x",
    ". rm -rf x",
    "bash rm -rf x",
    "sh -x rm -rf x",
    "cd sub && . git push",
    "bash -- git push --force",
  ])("is judged as that program: %s", (command) => expect(effectOf(command)).toBe("ask"));

  test.each(["bash build.sh", "source env.sh", ". ./rm -rf x", "bash ./git push"])(
    "leaves other scripts alone: %s",
    (command) => expect(effectOf(command)).toBe("allow"),
  );
});
