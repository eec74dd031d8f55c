import { listOfAction } from "../audit/store.ts";
import { outputOf } from "./answer.ts";
import { detailConflicts } from "./conflicts/conflicts.ts";
import { shownText } from "./contents.ts";
import { describeBase } from "./rebase.ts";
import { shownFiles } from "./native/files.ts";
import { obstacleTo } from "./recheck.ts";
import { loadAction } from "./record.ts";
import { type ActionDetail, GateTool } from "./schema.ts";
import type { ActionServices } from "./services.ts";
import { type ActionRow, publicOf } from "./store.ts";

/** Everything that a reviewer needs to decide on an action. */
export async function detailOf(services: ActionServices, id: string): Promise<ActionDetail> {
  const row = await loadAction(services, id);
  // A command has no one file: what it changed stands in `changes`, and in its session's diff.
  const change = row.tool === "run_command" ? undefined : row.plan?.changes[0];
  const base = await describeBase(services, row);
  return {
    ...publicOf(row),
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
    files: await shownFiles(services, row.plan),
    conflicts: await detailConflicts(services, row),
    base,
    obstacle: await obstacleTo(services, row, { has_base: base !== null }),
    input: GateTool.safeParse(row.tool).success ? null : row.plan?.input ?? null,
    proposed: await proposedOf(services, row),
    analysis: row.analysis,
    output: row.output_sha256 === null ? null : await shownOutput(services, row),
    timeline: (await listOfAction(services.ledger, id))
      .map(({ seq, at, type, actor, data }) => ({ seq, at, type, actor, data })),
  };
}

/** Of a move, what is moved: its source is the change that removes something. A host's is the first. */
async function beforeOf(services: ActionServices, row: ActionRow): Promise<ActionDetail["before"]> {
  const changes = row.plan?.changes ?? [];
  const isNative = row.plan?.native !== undefined;
  const before = changes.find((change) => isNative || change.before !== null)?.before;
  if (!before || row.tool === "run_command") return null;
  const { sha256, bytes, mode } = before;
  return { text: await shownText(services, sha256), bytes, mode };
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
