import { listOfAction } from "../../audit/store.ts";
import { detailConflicts } from "../conflicts/conflicts.ts";
import { droppedAt, shownText } from "../contents.ts";
import { lastDrop } from "../../db/blobs.ts";
import { droppedText } from "../../shown/dropped_text.ts";
import { type ActionServices, loadAction } from "../context.ts";
import { frozenScripts } from "../guarding/project_guard.ts";
import { describeApprovals } from "../review/approvals.ts";
import { describeBase } from "../review/rebase.ts";
import { confirmationOf } from "../review/confirmation.ts";
import { offeredWalls } from "../review/openable.ts";
import { obstacleTo } from "../review/recheck.ts";
import { type NewState, type Plan, type PlannedChange, signedOf, wantsOutside } from "../plan.ts";
import { standingOf } from "../review/lease.ts";
import type { ActionDetail, PlanStep } from "../schema.ts";
import { shownPath } from "../submit/target.ts";
import { type ActionRow, findEarlier, publicOf } from "../store.ts";
import { isGateTool, toolOf } from "../tools.ts";
import { elsewhere } from "../../db/elsewhere.ts";
import { outputOf, wallsMetBy } from "./answer.ts";
import { deletionOf } from "./deletion.ts";

/** The texts of all files in one answer together. */
const MAX_TEXTS = 4 * 1024 * 1024;

/** Everything that a reviewer needs for a decision. */
export async function detailOf(services: ActionServices, id: string): Promise<ActionDetail> {
  const row = await loadAction(services, id);
  const machine = await elsewhere(services.ledger, row.session_id);
  // The files of another machine cannot be looked at here.
  const base = machine === null ? await describeBase(services, row) : null;
  return {
    ...publicOf(row),
    ...await lostReversibility(services, row),
    ...await planned(services, row),
    files: await manyFiles(services, row.plan),
    conflicts: await detailConflicts(services, row),
    base,
    approvals: await describeApprovals(services, row),
    confirmation: confirmationOf(services, row),
    obstacle: machine === null
      ? await obstacleTo(services, row, { has_base: base !== null })
      : null,
    input: isGateTool(row.tool) ? null : row.plan?.input ?? null,
    proposed: await proposedOf(services, row),
    lease: await leaseOf(services, row),
    walls: machine === null ? await offeredWalls(services, row) : null,
    machine,
    shortened: row.plan?.shortened ?? null,
    restored: row.plan?.restored ?? [],
    held_back: row.plan?.held_back ?? null,
    taken_from: row.plan?.taken_from ?? null,
    output: row.output_sha256 === null ? null : await shownOutput(services, row),
    contents_dropped_at: await droppedAt(services, row),
    timeline: (await listOfAction(services.ledger, id))
      .map(({ seq, at, type, actor, data }) => ({ seq, at, type, actor, data })),
  };
}

/** The reversibility of an action whose old content was dropped; null if all of it is kept. */
async function lostReversibility(
  { ledger }: ActionServices,
  { plan }: ActionRow,
): Promise<Pick<ActionDetail, "reversible" | "reversibility"> | null> {
  const replaced = (plan?.changes ?? []).flatMap(({ before }) => before?.sha256 ?? []);
  const at = await lastDrop(ledger, [...new Set(replaced)]);
  if (at === null) return null;
  const why = droppedText("the old content", at);
  return { reversible: false, reversibility: { level: "not", kept: 0, why } };
}

/** The parts of a card that follow from the plan alone. */
async function planned(services: ActionServices, row: ActionRow) {
  const change = showsFile(row) ? row.plan?.changes[0] : undefined;
  return {
    before: await beforeOf(services, row),
    after: change?.after
      ? {
        text: await shownText(services, change.after.sha256),
        bytes: change.after.bytes,
        mode: change.after.mode,
      }
      : null,
    changes: (row.plan?.changes ?? []).map(({ shown, before, after }) => ({
      path: shown,
      before_sha256: before?.sha256 ?? null,
      after_sha256: after?.sha256 ?? null,
    })),
    signed: row.status === "pending" && row.plan ? signedOf(row.plan) : null,
    analysis: row.analysis,
    deletion: await elsewhere(services.ledger, row.session_id) === null
      ? await deletionOf(row)
      : null,
    outside: await outsideOf(services, row),
    scripts: scriptsOf(row),
    programs: row.plan?.programs ?? null,
    unbound: unboundOf(row),
  };
}

/** The steps of a plan, each as its own card would show it. */
async function leaseOf(services: ActionServices, row: ActionRow): Promise<ActionDetail["lease"]> {
  const lease = row.plan?.lease;
  if (!lease) return null;
  const standing = await standingOf(services, row).catch(() => null);
  const steps: PlanStep[] = [];
  for (const [at, { plan, digest, questions, decision, analysis, risk }] of lease.steps.entries()) {
    const { tool, path, command, cwd } = plan;
    const own = { tool, path, command, cwd, decision, risk, digest };
    steps.push({
      ...own,
      ...await planned(services, { ...row, ...own, plan, analysis, output_sha256: null }),
      number: at + 1,
      questions,
      action_id: standing?.used_by[at] ?? null,
    });
  }
  const { title, seconds } = lease;
  return { title, seconds, ends_at: standing?.ends_at ?? null, steps };
}

async function outsideOf(
  services: ActionServices,
  row: ActionRow,
): Promise<ActionDetail["outside"]> {
  const reason = row.plan && wantsOutside(row.plan);
  if (reason === null) return null;
  const earlier = await findEarlier(services.ledger, row);
  const sandbox = earlier?.decision.sandbox;
  if (!earlier || !sandbox) return { reason, earlier: null };
  const { id: action_id, execution, error } = earlier;
  const met = wallsMetBy(earlier, (await outputOf(services, earlier)).output);
  return { reason, earlier: { action_id, execution, error, sandbox, met } };
}

function scriptsOf(row: ActionRow): ActionDetail["scripts"] {
  const frozen = new Set(frozenScripts(row));
  return (row.plan?.scripts ?? []).map(({ path, sha256 }) => ({
    path: shownPath(path, row.root),
    sha256,
    is_frozen: frozen.has(path),
  }));
}

/** Words of the shell, which start no program of their own. */
const BUILT_IN = /^(cd|echo|printf|test|\[|true|false|:|set|export|pwd|read|exit|source|\.)$/;

/** Tells what an approval leaves open: the programs that a shell finds, and the files they load. */
function unboundOf({ command, analysis, plan }: ActionRow): string | null {
  if (command === null) return null;
  if (plan?.programs) {
    return plan.programs.length > 0 ? "every file that these programs or the scripts load" : null;
  }
  const names = new Set((analysis?.commands ?? []).map(([program = ""]) => program));
  const programs = [...names].filter((name) => name !== "" && !BUILT_IN.test(name));
  if (analysis && programs.length === 0) return null;
  const shown = programs.slice(0, 5).join(", ") || "the programs of the command";
  const more = programs.length > 5 ? ` and ${programs.length - 5} more` : "";
  return `${shown}${more}, and every file that they or the scripts load`;
}

/** A command has no single file: `changes` and the diff of its session show its effects. */
function showsFile({ tool }: ActionRow): boolean {
  return toolOf(tool).shows !== "command";
}

/** The old file: of a move the moved one, of a host's tool the first one. */
async function beforeOf(services: ActionServices, row: ActionRow): Promise<ActionDetail["before"]> {
  const changes = row.plan?.changes ?? [];
  const isMany = row.plan?.native !== undefined || row.plan?.taken_from !== undefined;
  const before = changes.find((change) => isMany || change.before !== null)?.before;
  if (!before || !showsFile(row)) return null;
  const { sha256, bytes, mode } = before;
  return { text: await shownText(services, sha256), bytes, mode };
}

type Files = NonNullable<ActionDetail["files"]>;

/** The changed files of a host's own tool or of a command, which may be many, with their texts. */
async function manyFiles(services: ActionServices, plan: Plan | null): Promise<Files | null> {
  if (!plan?.native && !plan?.taken_from) return null;
  const files: Files = [];
  let left = MAX_TEXTS;
  for (const change of plan.changes) {
    left -= (change.before?.bytes ?? 0) + (change.after?.bytes ?? 0);
    files.push(await fileOf(services, change, left >= 0));
  }
  return files;
}

async function fileOf(
  services: ActionServices,
  { shown, before, after, guessed }: PlannedChange,
  fits: boolean,
): Promise<Files[number]> {
  const side = async (state: NewState | null) => {
    if (!state) return null;
    const { sha256, bytes, mode } = state;
    return { text: fits ? await shownText(services, sha256) : null, bytes, mode };
  };
  return {
    path: shown,
    before_sha256: before?.sha256 ?? null,
    after_sha256: guessed ? null : after?.sha256 ?? null,
    before: await side(before),
    after: guessed ? null : await side(after),
    is_known: !guessed,
    is_left_out: !fits,
  };
}

async function proposedOf(
  services: ActionServices,
  { proposed }: ActionRow,
): Promise<ActionDetail["proposed"]> {
  if (!proposed) return null;
  const { content_sha256, command } = proposed;
  return { content: await shownText(services, content_sha256), command };
}

async function shownOutput(services: ActionServices, row: ActionRow) {
  const { output, truncated } = await outputOf(services, row);
  return { text: output, truncated, duration_ms: row.duration_ms ?? 0 };
}
