import { readFileSync } from "node:fs";
import { normalize } from "node:path/posix";
import { compilePolicy, evaluate, type Surroundings } from "../../../server/policy/evaluate.ts";

/** One line of test/corpora/commands.jsonl. */
export interface CommandCase {
  id: string;
  category: string;
  command: string;
  expect: "stop" | "allow" | "any";
  effects?: Partial<Record<"reads" | "writes" | "deletes", string[]>>;
  unresolved?: boolean;
  argv?: string[];
}

export const ROOT = "/home/dev/project";

/** The surroundings of an imaginary machine. */
export const AROUND: Surroundings = {
  roots: [ROOT],
  user_home: "/home/user",
  gate_home: "/home/user/.gate",
  port: 47000,
  resolve: (path) => ({ lexical: normalize(path), real: normalize(path) }),
};

export const BLOCKED_COMMANDS = [
  "rm -rf",
  "git reset --hard",
  "git clean -f",
  "git push --force",
  "git push -f",
];

/** The policy of all command cases. */
const CORPUS_POLICY = compilePolicy({
  global: null,
  project: { defaultEffect: "allow", blockedCommands: BLOCKED_COMMANDS },
  override_global: false,
});

export const CASES = readFileSync(
  new URL("../../corpora/commands.jsonl", import.meta.url),
  "utf8",
).trim().split("\n").map((line) => JSON.parse(line) as CommandCase);

/** The evaluation of a command in the project root. */
export function evaluateCommand(command: string, policy = CORPUS_POLICY) {
  const text = command.replaceAll("{PORT}", "47000");
  return evaluate(policy, { kind: "command", command: text, cwd: ROOT }, AROUND);
}
