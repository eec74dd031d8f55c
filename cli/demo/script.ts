import { setTimeout as sleep } from "node:timers/promises";
import type { Action } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { scopedClient } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import type { Stage, ToolAnswer } from "./stage.ts";

/** One scene: its title, and a function that plays it and returns the lines that report it. */
export interface Scene {
  title: string;
  play: (stage: Stage) => Promise<string[]>;
}

const HELLO = "src/hello.txt";
const BEFORE = "hello from a person\n";
const AFTER = "hello from an agent\n";
const HELD = "README.md";

/** The scenes in order; each one verifies its effect on the disk and in the ledger. */
export const SCENES: readonly Scene[] = [
  { title: "The agent writes src/hello.txt, which the policy allows", play: allowed },
  { title: "It writes .env, which the policy blocks", play: blocked },
  { title: "It writes README.md, which no rule covers, so a person must approve it", play: held },
  { title: "It runs a command with a long output", play: capped },
  { title: "You roll back the first write", play: rolledBack },
  { title: "You verify the audit log", play: verified },
];

async function allowed(stage: Stage): Promise<string[]> {
  stage.write(HELLO, BEFORE);
  const answer = await stage.call("write_file", { path: HELLO, content: AFTER });
  check(answer.facts.status === "approved" && stage.read(HELLO) === AFTER, "the write", answer);
  return ["allowed by the policy and written to disk"];
}

async function blocked(stage: Stage): Promise<string[]> {
  const answer = await stage.call("write_file", { path: ".env", content: "KEY=1\n" });
  const rule = answer.facts.rule as { pattern?: string; source?: string } | null | undefined;
  const isBlocked = answer.refused && answer.facts.status === "blocked" && !!rule?.pattern;
  check(isBlocked && stage.read(".env") === null, "the block", answer);
  return [
    `blocked by the ${rule?.source} rule "${rule?.pattern}"`,
    `the agent learns the reason: ${answer.facts.reason}`,
    `and the alternative: ${answer.facts.alternative}`,
  ];
}

async function held(stage: Stage): Promise<string[]> {
  const waiting = stage.call("write_file", { path: HELD, content: "# Demo\n" });
  const action = await waitForHeld(stage);
  check(stage.read(HELD) === null, "the hold", null);
  const client = stage.reviewer.client;
  await unwrap(client.api.global.approvals[":id"].approve.$post({
    param: { id: action.id },
    json: { expected_digest: action.digest, reason: "reads well" },
  }));
  const answer = await waiting;
  const isDone = answer.facts.status === "approved" && answer.facts.action_id === action.id;
  check(isDone && stage.read(HELD) === "# Demo\n", "the approval", answer);
  return [
    `held: gate show ${action.id}`,
    "the file does not exist while the action is held",
    `approved: gate approve ${action.id}`,
    "the file is written, and the waiting agent gets its result",
  ];
}

async function capped(stage: Stage): Promise<string[]> {
  const answer = await stage.call("run_command", { command: "seq 1 5000" });
  const output = String(answer.facts.output ?? "");
  const isCapped = answer.facts.truncated === true && output.length < 5000;
  check(isCapped && answer.facts.exit_code === 0, "the capped command", answer);
  check(output.includes("1\n2\n3") && output.includes("5000"), "head and tail", answer);
  return [
    `exit 0; the agent gets ${output.length} of 23,893 bytes: the beginning, the end and a note`,
  ];
}

async function rolledBack(stage: Stage): Promise<string[]> {
  const client = scopedClient(stage.reviewer, "demo");
  const { items } = await unwrap(
    client.api.global.actions.$get({ query: { project: "demo", path: HELLO } }),
  );
  const write = items.find((action) => action.tool === "write_file");
  check(write !== undefined, "the ledger", null);
  const result = await unwrap(
    client.api.actions[":id"].rollback.$post({ param: { id: write!.id }, json: {} }),
  );
  check(result.outcome === "restored" && stage.read(HELLO) === BEFORE, "the rollback", null);
  return [`gate rollback ${write!.id}`, "the file has its old content again"];
}

async function verified(stage: Stage): Promise<string[]> {
  const client = scopedClient(stage.reviewer, "demo");
  const result = await unwrap(client.api.audit.verify.$get());
  check(result.ok && result.events > 8, "the audit log", null);
  return [`gate audit verify: ${result.events} events, the hash chain is intact`];
}

const HOLD_DEADLINE_MS = 15_000;

async function waitForHeld(stage: Stage): Promise<Action> {
  const deadline = Date.now() + HOLD_DEADLINE_MS;
  while (Date.now() < deadline) {
    const { client } = stage.reviewer;
    const { items } = await unwrap(client.api.global.approvals.pending.$get({ query: {} }));
    if (items[0]) return items[0];
    await sleep(20);
  }
  throw new CliError("Cannot finish the demo: the write was not held");
}

function check(isGood: boolean, step: string, answer: ToolAnswer | null): void {
  if (isGood) return;
  const facts = answer ? `: ${JSON.stringify(answer.facts).slice(0, 500)}` : "";
  throw new CliError(`Cannot finish the demo: ${step} failed${facts}`, {
    next: "gate demo --json",
  });
}
