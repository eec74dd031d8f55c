import { expect, test } from "vitest";
import { openHooks, SPEAK } from "./stage.ts";

type Json = Record<string, unknown>;

const POLICIES = { defaultEffect: "ask" as const, allowedCommands: ["echo"] };
const UNSAID = "Its host says that it failed";

/** Submits a command, reports this outcome, and returns the action from the ledger. */
async function reported(host: string, report: (key: { cwd: string; key: string }) => Json) {
  const { gate, post, actions } = await openHooks(host, { policies: POLICIES });
  const { command, before } = SPEAK[host]!;
  const at = { cwd: gate.root, key: "k-1" };
  await post(before(command, { command: "echo no" }, at));
  expect((await post(report(at))).output).toEqual({});
  const [{ id }] = await actions() as unknown as [{ id: string }];
  return await gate.project.actions.detail(id);
}

// Codex reports no failure.
const TELLING = Object.keys(SPEAK).filter((host) => SPEAK[host]!.failed !== null);

test.each(TELLING)("%s: a failure is one, with its exit code", async (host) => {
  const { command, failed } = SPEAK[host]!;
  const action = await reported(host, (at) => failed!(command, { command: "echo no" }, at));
  expect(action).toMatchObject({ execution: "failed", exit_code: 3 });
});

const ROWS: [host: string, words: Json, error: string | null, more?: Json][] = [
  ["claude-code", { tool_response: { stdout: "half", interrupted: true } }, "Interrupted"],
  ["claude-code", { hook_event_name: "PostToolUseFailure", error: "no shell" }, "no shell"],
  ["claude-code", { hook_event_name: "PostToolUseFailure" }, UNSAID],
  ["claude-code", { tool_response: "plain" }, null, { output: { text: "plain" } }],
  ["codex", { tool_response: { content: [] } }, null],
  ["copilot-cli", { toolResult: undefined, error: "no shell" }, "no shell"],
  ["copilot-cli", { toolResult: undefined, error: { message: "no shell" } }, "no shell"],
  ["copilot-cli", { toolResult: { resultType: "denied" } }, UNSAID],
  ["copilot-cli", { toolResult: { resultType: "failure", textResultForLlm: "why" } }, "why"],
  ["gemini-cli", { tool_response: { error: { message: "no shell" } } }, "no shell"],
  ["gemini-cli", { tool_response: { llmContent: [{ text: "a" }, { text: "b" }] } }, null, {
    output: { text: "a\nb" },
  }],
  ["qwen-code", { hook_event_name: "PostToolUseFailure", error: "no shell" }, "no shell"],
  ["qwen-code", { tool_response: { llmContent: [{ text: "a" }, { text: "b" }] } }, null, {
    output: { text: "a\nb" },
  }],
  ["cursor", { tool_output: '{"exitCode":4}' }, UNSAID, { exit_code: 4 }],
  ["cursor", { hook_event_name: "postToolUseFailure", failure_type: "timeout" }, "timeout"],
  ["cursor", { tool_output: "plain" }, null, { output: { text: "plain" } }],
];

test.each(ROWS)("%s: %j is told as it was", async (host, words, error, more = {}) => {
  const { command, after } = SPEAK[host]!;
  const action = await reported(host, (at) => ({
    ...after(command, { command: "echo no" }, at),
    ...words,
  }));
  const execution = error === null ? "succeeded" : "failed";
  expect(action).toMatchObject({ execution, error, ...more });
});
