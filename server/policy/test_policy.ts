import { GateError } from "../errors.ts";
import type { CompiledPolicy } from "./policy.ts";
import { evaluate } from "./evaluate.ts";
import type { Access, EvaluationOptions, PathFacts, Request, Surroundings } from "./request.ts";
import type { PolicyTestInput, PolicyTestResult } from "./schema.ts";

const ACCESS: Record<string, Access> = {
  write: "write",
  write_file: "write",
  edit_file: "write",
  move_file: "write",
  read: "read",
  read_file: "read",
  delete: "delete",
  delete_file: "delete",
};

const COMMANDS = new Set(["command", "run_command", "bash", "shell"]);

/** Evaluates a question without recording anything. @throws GateError `invalid` */
export function testPolicy(
  policy: CompiledPolicy,
  input: PolicyTestInput,
  around: EvaluationOptions,
  clock: () => number,
): PolicyTestResult {
  const request = toRequest(input, around);
  const started = clock();
  const options = input.sandbox === false ? { ...around, sandbox: null } : around;
  const evaluation = evaluate(policy, request, options);
  const elapsed_us = Math.max(0, Math.round((clock() - started) * 10_000) / 10);
  const { decision, matched, unsure, analysis, span, sandbox_refused } = evaluation;
  return {
    ...decision,
    matched,
    unsure,
    elapsed_us,
    sandbox_refused,
    ...(analysis ? { analysis } : {}),
    ...(span ? { span } : {}),
  };
}

function toRequest(input: PolicyTestInput, around: Surroundings): Request {
  for (const name of ["command", "cwd", "content"] as const) {
    if (input[name]?.isWellFormed() === false) {
      throw refuse(`"${name}" is not well-formed text; correct it`);
    }
  }
  const action = input.action ?? (input.command === undefined ? "write" : "command");
  const cwd = absolute(input.cwd ?? ".", around.roots[0] ?? "/");
  if (COMMANDS.has(action)) {
    if (input.command !== undefined && input.path !== undefined) {
      throw refuse("it has a command and a path; give one of them");
    }
    const command = input.command ?? input.path;
    if (command === undefined) throw refuse("a command is missing; give one");
    return { kind: "command", command, cwd, tool: "run_command" };
  }
  const access = Object.hasOwn(ACCESS, action) ? ACCESS[action] : undefined;
  if (access === undefined) return toolRequest(action, input, cwd);
  if (input.command !== undefined) {
    throw refuse(`the action "${action}" takes a path, not a command; give a path`);
  }
  if (input.path === undefined || input.path === "") {
    throw refuse(`the action "${action}" needs a path; give one`);
  }
  const tool = action.includes("_") ? action : `${action}_file`;
  return { kind: "path", access, path: lookUp(absolute(input.path, cwd), around), tool };
}

/** The tool call that a question describes, as an agent would make it. */
export function toolOf(
  question: PolicyTestInput,
): { tool: string; input: Record<string, unknown> } {
  const { path, command, cwd, content } = question;
  const action = question.action ?? (command === undefined ? "write" : "command");
  if (COMMANDS.has(action)) {
    return { tool: "run_command", input: { command: command ?? path, ...cwd && { cwd } } };
  }
  const access = Object.hasOwn(ACCESS, action) ? ACCESS[action] : undefined;
  if (access === undefined) return { tool: action, input: { ...question.input } };
  const tool = `${access}_file`;
  const at = cwd === undefined || path === undefined ? path : absolute(path, cwd);
  return { tool, input: { path: at, ...access === "write" && { content: content ?? "" } } };
}

function toolRequest(tool: string, input: PolicyTestInput, cwd: string): Request {
  const { path, command, content } = input;
  // Without this check a misspelt action would count as a tool without rules.
  if (input.input === undefined && (path !== undefined || command !== undefined)) {
    const known = "write, read, delete, command or a tool's name";
    throw refuse(`"${tool}" is no action; use ${known}, for a tool of the host with its "input"`);
  }
  const given = Object.entries({ path, command, content, ...input.input });
  return {
    kind: "tool",
    tool,
    searches: true,
    cwd,
    input: Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  };
}

function refuse(why: string): GateError {
  return new GateError("invalid", `Cannot test the policy: ${why}`);
}

function absolute(path: string, cwd: string): string {
  if (path.startsWith("/") || /^[A-Za-z]:[\\/]/.test(path)) return path;
  return path === "." ? cwd : `${cwd}/${path}`;
}

/** The facts about a path; the policy denies a path that the disk cannot resolve. */
function lookUp(path: string, around: Surroundings): PathFacts {
  try {
    return around.resolve(path);
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return { lexical: path, real: "", unresolved: error.message };
  }
}
