import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { configWrittenBy } from "../../server/actions/review/accept_written.ts";
import { runsOwnCode } from "../../server/actions/own_code.ts";
import { stepAsAction } from "../../server/actions/show/check_shown.ts";
import { describeSandbox } from "../../server/actions/show/sandbox_text.ts";
import { unnamedFiles } from "../../server/actions/show/unnamed_files.ts";
import { conflictParts, contentParts, diffParts, type Part } from "./diff.ts";

import type { Io } from "../io.ts";
import { ago, marked, markedBelow, paint } from "../terminal/output.ts";
import { listedLine, visibleText } from "../terminal/visible.ts";
import { toolOf } from "../../server/actions/tools.ts";
import { agentName, personName } from "../../server/shown/agent_name.ts";
import { builtinSubject } from "../../server/shown/builtin_rules.ts";
import { commandText } from "../../server/shown/command_text.ts";

/** An action's command, path or purpose, on one line that is safe to print. */
export function summarize(
  { tool, path, command, rollback_of, title, moved_to }:
    & Pick<Action, "tool" | "path" | "command" | "rollback_of">
    & Partial<Pick<Action, "title" | "moved_to">>,
): string {
  const what = title ? `a plan: ${title}` : PURPOSES[tool] ?? tool;
  const purpose = rollback_of === null ? what : `the rollback of action ${rollback_of}`;
  const paths = moved_to ? `${path} to ${moved_to}` : path;
  return listedLine(command ?? paths ?? purpose);
}

/** The purpose of tools without a path and a command; a list shows their name beside it. */
const PURPOSES: Record<string, string> = {
  apply_changes: "the changes that a command made to its copy",
  submit_plan: "a plan of several actions",
};

/** The person who asked for a rollback, which belongs to the agent's session; null for an agent. */
export function personBehind(
  { rollback_of, decision, decided_by }: Pick<Action, "rollback_of" | "decision" | "decided_by">,
): string | null {
  // An agent's rollback is decided by policy, or was held: then the decision is to ask.
  const isPersons = rollback_of !== null && decision.effect === "allow" && decision.rule === null;
  return isPersons && decided_by !== "policy" ? decided_by : null;
}

/** The agent or the person who submitted an action, in one column. */
export function submitterOf(action: Action): string {
  const person = personBehind(action);
  return person === null ? agentName(action.agent) : personName(person);
}

/** Who decided. An agent that withdraws its own action has a name that it chose. */
function deciderOf({ status, decided_by, agent }: Action): string | null {
  return status === "cancelled" && decided_by === agent ? `agent "${agent}"` : decided_by;
}

/**
 * The status of an action, and of its execution if it was approved. What the policy approves is
 * "allowed"; what a person approves is "approved".
 */
export function statusOf(
  { status, execution, decided_by }: Pick<Action, "status" | "execution" | "decided_by">,
): string {
  if (status !== "approved") return status;
  const word = decided_by === "policy" ? "allowed" : status;
  return execution === "none" ? word : `${word}, ${execution}`;
}

/** Everything that a person needs to review an action, and its results. */
export function actionCard(io: Io, action: ActionDetail, now: number): string {
  const facts = [
    ...originFacts(action, now),
    ...inputFacts(action),
    ...boundFacts(action),
    ...outcomeFacts(action, now),
  ];
  return [factLines(io, facts), ...sections(io, action), ...stepSections(io, action)].join("\n\n");
}

/** A card for a screen that shows its beginning first. */
export interface ScreenCard {
  /** The effects of the action and why it is held; a person reads all of it before an approval. */
  card: string;
  /** Where it comes from, and until when it waits. */
  more: string;
}

/** The parts of `actionCard` in the order in which a person needs them for a decision. */
export function screenCard(io: Io, action: ActionDetail, now: number): ScreenCard {
  const bound = factLines(io, boundFacts(action));
  const parts = [
    factLines(io, inputFacts(action)),
    ...sections(io, action),
    ...stepSections(io, action),
    ...bound === "" ? [] : [bound],
  ];
  const more = [...originFacts(action, now), ...outcomeFacts(action, now)];
  return { card: parts.join("\n\n"), more: factLines(io, more) };
}

type Fact = [string, string | null];

function originFacts(action: ActionDetail, now: number): Fact[] {
  return [
    ["id", action.id],
    ["status", statusOf(action) + laterOf(action)],
    ["project", `${action.project_id}  ${action.root}`],
    ["machine", action.machine ?? null],
    ["asked by", personBehind(action)],
    ["agent", agentName(action.agent)],
    ["submitted", when(action.created_at, now)],
  ];
}

function inputFacts(action: ActionDetail): Fact[] {
  const rule = action.decision.rule;
  return [
    ["tool", action.tool],
    ["path", action.path],
    ["to", targetOf(action)],
    ["really", unnamedFiles(action).slice(0, 20).join("\n") || null],
    ["config", configWrittenBy(action) && ACCEPTED_TOO],
    ["plan", action.lease?.title ?? null],
    // The agent chooses the lines of the title, so they could look like this one.
    ["steps", action.lease && leaseLine(action.lease)],
    ["command", action.command],
    ...takenFacts(action),
    ["in", action.cwd],
    ["rolls back", action.rollback_of],
    ["replays", action.replay_of],
    ["decision", `${action.decision.effect}: ${action.decision.reason}`],
    ["sandbox", sandboxOf(action)],
    ["outside", outsideOf(action)],
    ["rule", rule && ruleText(rule)],
    ["instead", action.decision.alternative],
    ["risk", `${action.risk.level} ${action.risk.score}`],
    ...action.risk.factors.map((f): Fact => ["", factor(f)]),
  ];
}

function ruleText({ pattern, source, list }: NonNullable<Action["decision"]["rule"]>): string {
  if (source === "builtin") return `built into gate, about ${builtinSubject(list)}`;
  return `${pattern}  (${source} ${list})`;
}

/** The digest and the programs that an approval is bound to. */
function boundFacts(action: ActionDetail): Fact[] {
  return [
    ...action.scripts.slice(0, 10).map(({ path, sha256, is_frozen }, i): Fact => [
      i === 0 ? "fixed" : "",
      `${path}  ${sha256.slice(0, 12)}${is_frozen ? "" : "  (only until it starts)"}`,
    ]),
    ...programFacts(action.programs ?? []),
    ["not fixed", action.unbound],
    ["remember", trustsOwnCode(action) ? OWN_CODE : null],
    ...Object.entries(action.shortened ?? {}).map(([name, { bytes, sha256 }]): Fact => [
      "excerpt",
      `gate kept an excerpt of the ${name}: ${bytes} bytes, SHA-256 ${sha256}`,
    ]),
    ...action.restored.slice(0, 20).map((one, i): Fact => [
      i === 0 ? "undone" : "",
      describeRestored(one),
    ]),
    ["reversible", reversibilityOf(action)],
    ["approvals", action.approvals && approvalsLine(action.approvals)],
  ];
}

function outcomeFacts(action: ActionDetail, now: number): Fact[] {
  return [
    ["expires", action.status === "pending" ? whenDue(action.expires_at, now) : null],
    ["decided by", deciderOf(action)],
    ["decided", action.decided_at && when(action.decided_at, now)],
    ["reason", action.reason],
    ["exit code", action.exit_code === null ? null : String(action.exit_code)],
    ["error", action.error],
    ["digest", action.digest],
  ];
}

function factLines(io: Io, facts: readonly Fact[]): string {
  return facts.filter(([, value]) => value !== null).map(([name, value]) => {
    const text = markedBelow(visibleText(value!), INDENT, io.stdout);
    return `${paint(io, "dim", name.padEnd(10))}  ${text}`;
  }).join("\n");
}

/** The number of a plan's steps, and how long its approval holds. */
function leaseLine({ seconds, ends_at, steps }: NonNullable<ActionDetail["lease"]>): string {
  const holds = ends_at === null ? `${seconds} s from the approval on` : `until ${ends_at}`;
  const size = steps.length === 1 ? "1 step" : `${steps.length} steps, in this order`;
  return `${size}; an approval holds ${holds}`;
}

/** The steps of a plan, each like a card of its own. */
function stepSections(io: Io, action: ActionDetail): string[] {
  const steps = action.lease?.steps ?? [];
  return steps.flatMap((step) => {
    const own = stepAsAction(action, step);
    const { decision, risk, cwd, path, command, tool, scripts, unbound, digest } = own;
    const head = `── step ${step.number} of ${steps.length} `.padEnd(40, "─");
    const facts: Fact[] = [
      ["tool", tool],
      ["path", path],
      ["to", targetOf(own)],
      ["really", unnamedFiles(own).slice(0, 20).join("\n") || null],
      ["command", command],
      ["in", cwd],
      ["decision", `${decision.effect}: ${decision.reason}`],
      ["sandbox", sandboxOf(own)],
      ["outside", outsideOf(own)],
      ["risk", `${risk.level} ${risk.score}`],
      ...risk.factors.map((one): Fact => ["", factor(one)]),
      ...scripts.slice(0, 10).map((one): Fact => [
        "fixed",
        `${one.path}  ${one.sha256.slice(0, 12)}`,
      ]),
      ...programFacts(own.programs ?? []),
      ["not fixed", unbound],
      ["digest", digest],
      ["done by", step.action_id],
    ];
    return [`${paint(io, "bold", head)}\n${factLines(io, facts)}`, ...sections(io, own)];
  });
}

/** Why the agent wants to leave the sandbox, and what it met there. */
function outsideOf({ outside }: ActionDetail): string | null {
  if (outside === null) return null;
  const { reason, earlier } = outside;
  const wish = `the agent wants it to run outside the sandbox: ${reason}`;
  if (!earlier) return wish;
  const { execution, action_id, sandbox, met } = earlier;
  const walls = met.length > 0 ? [`it may have met: ${met.join("; ")}`] : [];
  const there = [describeSandbox(sandbox), ...walls].join(". ");
  return `${wish}; in the sandbox it ${execution} (${action_id}): ${there}`;
}

function sandboxOf({ decision: { sandbox, effect }, execution }: ActionDetail): string | null {
  if (!sandbox) return null;
  const verb = effect === "ask" && execution === "none" ? "would run in it" : "runs in it";
  const wide = `it can write only ${sandbox.writable.join(", ")}`;
  return `${verb}: ${describeSandbox(sandbox)}; ${wide}`;
}

/** How many approvals a route asks for and has, and who is asked. */
export function approvalsLine(
  { route, need, have, asked, ordered, answered }: NonNullable<ActionDetail["approvals"]>,
): string {
  const names = asked.map(({ name }) => name).join(", ");
  const who = names === "" ? "" : `; asked ${ordered ? "now" : "are"} ${names}`;
  const given = answered.map(({ name, verdict }) => `${name} ${VERDICTS[verdict]}`).join(", ");
  return `${have} of ${need} (route ${route.id})${who}${given === "" ? "" : `; ${given}`}`;
}

const VERDICTS = { approve: "approved", reject: "rejected" } as const;

const ACCEPTED_TOO = "approving also accepts it: what it allows holds at once";

const OWN_CODE = "it runs code that an agent can change, such as tests, builds and scripts; to " +
  "remember this approval is to trust that code in every later version";

/** Whether a held command runs code that agents can change. */
function trustsOwnCode({ status, command, scripts, programs, analysis }: ActionDetail): boolean {
  const commands = analysis?.commands ?? [];
  return status === "pending" && command !== null && runsOwnCode({ scripts, programs, commands });
}

type ShownProgram = NonNullable<ActionDetail["programs"]>[number];

/** The program files, those that an agent can change first, because a long list is cut. */
function programFacts(programs: ShownProgram[]): Fact[] {
  const isChangeable = ({ changeable }: ShownProgram) => changeable !== undefined;
  const shown = programs.toSorted((a, b) => Number(isChangeable(b)) - Number(isChangeable(a)));
  const rest = programs.length - MOST_PROGRAMS;
  // Each fact has its own row, because a path may contain any text.
  const rows = shown.slice(0, MOST_PROGRAMS).flatMap(({ path, real, changeable }) => [
    path,
    ...real === undefined ? [] : [`  leads to ${real}`],
    ...changeable ? [CHANGEABLE[changeable]] : [],
  ]);
  if (rest > 0) rows.push(`and ${rest} more; gate show --json names them`);
  return rows.map((row, i) => [i === 0 ? "programs" : "", row]);
}

const MOST_PROGRAMS = 20;

const CHANGEABLE = {
  project: "  an agent can change this program: it lies in the folder of a project",
  temporary: "  an agent can change this program: it lies in a temporary folder",
};

/** The command behind held changes, and what became of the changes of a command. */
function takenFacts(action: ActionDetail): Fact[] {
  const { taken_from, held_back, signed } = action;
  const removed = taken_from ? signed?.folders?.emptied_folders ?? [] : [];
  const left_out = (taken_from ?? held_back)?.left_out;
  const more = (left_out?.count ?? 0) - MOST_LEFT_OUT;
  return [
    ["changes of", taken_from && `${taken_from.command}  (action ${taken_from.action_id})`],
    ["held back", held_back && heldLine(held_back)],
    ...removed.slice(0, MOST_LEFT_OUT).map((path, i): Fact => [
      i === 0 ? "removes" : "",
      `${path}  if it is empty then`,
    ]),
    ...(left_out?.files ?? []).slice(0, MOST_LEFT_OUT).map(({ path, why }, i): Fact => [
      i === 0 ? "left out" : "",
      `${path}  ${why}`,
    ]),
    ["", more > 0 ? `and ${more} more` : null],
  ];
}

const MOST_LEFT_OUT = 20;

function heldLine({ action_id, files, why }: NonNullable<ActionDetail["held_back"]>): string {
  if (action_id !== null) return `${files} changed files wait as action ${action_id}`;
  return why ?? "it changed no file of the project";
}

/** One guarded file that changed without permission. */
function describeRestored(
  { path, change, restored, quarantine }: ActionDetail["restored"][number],
) {
  const what = change === "rewritten"
    ? "was written again, with the same content"
    : `was ${change}`;
  const now = restored ? "" : "; gate could not restore it";
  return `${path} ${what} without permission${now}` + (quarantine ? `; found: ${quarantine}` : "");
}

/** The columns before the value of a fact. */
const INDENT = 12;

function factor({ weight, why, name }: ActionDetail["risk"]["factors"][number]): string {
  return `${weight > 0 ? "+" : ""}${weight}`.padEnd(5) + (why || name);
}

/** The new path of a moved file. */
function targetOf({ tool, path, changes }: ActionDetail): string | null {
  if (toolOf(tool).shows !== "two_paths") return null;
  return changes.find((change) => change.path !== path)?.path ?? null;
}

/** Whether a call of a host's own tool is approved, and its host has not been told. */
export function waitsForHost(action: ActionDetail): boolean {
  return isOfHost(action) && action.status === "approved" && action.execution === "none";
}

function isOfHost({ files, taken_from }: ActionDetail): boolean {
  return files !== null && taken_from === null;
}

/** Whether a command is approved but not run yet: the agent's process runs it. */
export function waitsForAgent(
  action: Pick<Action, "status" | "execution" | "command">,
): boolean {
  return action.command !== null && action.status === "approved" && action.execution === "none";
}

const REVERSIBLE = { reversible: "yes", partly: "partly", not: "no" } as const;

function reversibilityOf({ reversible, reversibility }: ActionDetail): string {
  if (!reversibility) return reversible ? "yes" : "no";
  return `${REVERSIBLE[reversibility.level]}: ${reversibility.why}`;
}

const RUNS_LATER = ", not run yet: the agent runs it when it asks for the result";
const RUNS_AT_HOST =
  ": its host runs it and reports the end; without a report gate gives it up a " +
  "minute after commandTimeoutSeconds";
const RUNS_AGAIN = ", not run: it goes through when the agent makes exactly the same call again";

function laterOf(action: ActionDetail): string {
  if (waitsForHost(action)) return RUNS_AGAIN;
  if (action.execution === "running" && isOfHost(action)) return RUNS_AT_HOST;
  return waitsForAgent(action) ? RUNS_LATER : "";
}

function when(at: string, now: number): string {
  return `${at}  (${ago(at, now)} ago)`;
}

function whenDue(at: string | null, now: number): string | null {
  if (at === null) return null;
  // The time from now until `at` equals the age of now, seen from `at`.
  return `${at}  (in ${ago(new Date(now).toISOString(), Date.parse(at))})`;
}

function sections(io: Io, action: ActionDetail): string[] {
  return parts(io, action).filter(({ text }) => text).map(({ title, text }) =>
    `${paint(io, "bold", `── ${title} `.padEnd(40, "─"))}\n${marked(text.replace(/\n+$/, ""))}`
  );
}

function parts(io: Io, action: ActionDetail): Part[] {
  const { analysis, output } = action;
  const hasRun = action.execution !== "none";
  const list = (title: string, lines: string[] | undefined): Part => ({
    title,
    text: visibleText(lines?.join("\n") ?? ""),
  });
  return [
    ...proposedParts(io, action),
    ...contentParts(io, action),
    ...conflictParts(io, action),
    list("output", output ? [output.text] : []),
    list(hasRun ? "ran" : "would run", commandsBesides(action)),
    list(hasRun ? "could write" : "would write", analysis?.writes),
    list(hasRun ? "could delete" : "would delete", analysis?.deletes),
    list("cannot be determined", analysis?.unresolved),
    list("changed", listsFiles(action) ? action.changes.map(changeLine) : []),
  ];
}

/** The commands of the analysis; none if the facts say the only one in the same words. */
function commandsBesides({ command, analysis }: ActionDetail): string[] {
  const commands = analysis?.commands.map(commandText) ?? [];
  return commands.length === 1 && commands[0] === command ? [] : commands;
}

/** Whether to list the files: the facts name a single file, and a host's changes have parts. */
function listsFiles({ command, changes, files }: ActionDetail): boolean {
  return command !== null || (changes.length > 1 && files === null);
}

function changeLine({ path, before_sha256, after_sha256 }: ActionDetail["changes"][number]) {
  const sign = before_sha256 === null ? "+" : after_sha256 === null ? "-" : "~";
  return `${sign} ${path}`;
}

function proposedParts(io: Io, { proposed, after }: ActionDetail): Part[] {
  const original = proposed?.command ?? proposed?.content;
  if (!original) return [];
  if (proposed?.content && after?.text) {
    return diffParts(io, "the reviewer's changes", proposed.content, after.text);
  }
  return [{ title: "the agent's original input", text: visibleText(original) }];
}
