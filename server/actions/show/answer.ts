import { Buffer } from "node:buffer";
import { readBlob } from "../../db/blobs.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import { shownText, textOf } from "../contents.ts";
import type { ActionServices } from "../context.ts";
import { closedHosts, wallsMet } from "../../sandbox/walls_met.ts";
import { tellHeldBack } from "../held_changes/tell.ts";
import { recheckApproved } from "../review/approval.ts";
import { MAX_READ_BYTES } from "../execute/execute.ts";
import type { ActionRow } from "../store.ts";
import { unifiedDiff } from "../texts.ts";
import { executorOf, toolOf } from "../tools.ts";

/** Whether a waiting agent gets its answer now. */
export function isSettled(row: ActionRow): boolean {
  if (row.status === "pending") return false;
  if (row.status !== "approved") return true;
  const executor = executorOf(row);
  // The agent itself, or its host, must claim the approved action.
  const isClaimed = executor === "claimer" || executor === "host";
  return isClaimed ? row.execution !== "running" : isFinished(row);
}

/** The result of the tool for the agent; null before it is finished. */
export async function resultOf(
  services: ActionServices,
  row: ActionRow,
  image: FileImage | null,
): Promise<Record<string, unknown> | null> {
  const edit = row.edited ? await editOf(services, row) : {};
  if (!isFinished(row) || row.status === "blocked") return row.edited ? edit : null;
  const { access, shows } = toolOf(row.tool);
  if (access === "read") return await readResult(services, row, image);
  if (shows === "command") return { ...await commandResult(services, row), ...edit };
  if (!row.plan || row.execution !== "succeeded") return row.edited ? edit : null;
  return { ...changesResult(row), ...edit };
}

function isFinished({ execution }: ActionRow): boolean {
  return execution === "succeeded" || execution === "failed" || execution === "unknown";
}

function changesResult(row: ActionRow): Record<string, unknown> {
  const { changes } = row.plan!;
  const files = changes.map(({ shown, before, after }) => ({
    path: shown,
    sha256: after?.sha256 ?? null,
    bytes: after?.bytes ?? null,
    created: before === null,
  }));
  return files.length === 1 ? files[0]! : { files };
}

async function readResult(
  services: ActionServices,
  row: ActionRow,
  image: FileImage | null,
): Promise<Record<string, unknown> | null> {
  if (row.execution !== "succeeded") return null;
  const found = image ?? await readAgain(services, row);
  if (!found?.content) return null;
  const { sha256, bytes, content } = found;
  const text = textOf(content);
  const encoding = text === null ? "base64" : "utf8";
  return { content: text ?? Buffer.from(content).toString("base64"), encoding, bytes, sha256 };
}

/** An approval of a read holds for its path only, and only while policy allows it. */
async function readAgain(services: ActionServices, row: ActionRow): Promise<FileImage | null> {
  try {
    await recheckApproved(services, row);
    return await readImage(row.plan!.accesses[0]!.target.real, MAX_READ_BYTES);
  } catch {
    return null;
  }
}

async function commandResult(services: ActionServices, row: ActionRow) {
  const { exit_code, error, duration_ms } = row;
  const guarded = row.plan?.restored ? { restored: row.plan.restored } : {};
  const shown = await outputOf(services, row);
  const { asked_hosts = [], held_back } = row.plan ?? {};
  const walls = wallsMetBy(row, shown.output);
  const met = {
    ...walls.length > 0 && { walls },
    ...asked_hosts.length > 0 && { asked_hosts },
    ...held_back && { held_changes: { ...held_back, note: tellHeldBack(held_back) } },
  };
  return { exit_code, error, duration_ms, ...shown, ...guarded, ...met };
}

/** The walls that a command in the sandbox met: closed hosts, and those that its output tells of. */
export function wallsMetBy({ decision, execution, plan }: ActionRow, output: string): string[] {
  const { sandbox } = decision;
  const isTold = sandbox && execution === "failed";
  return [
    ...closedHosts(plan?.asked_hosts),
    ...isTold ? wallsMet(output, sandbox.writable) : [],
  ];
}

/** The kept output of a command. */
export async function outputOf(services: ActionServices, row: ActionRow) {
  const output = row.output_sha256 && await readBlob(services.ledger, row.output_sha256);
  return {
    output: output ? new TextDecoder().decode(output) : "",
    truncated: row.output_truncated ?? false,
    // A kept output may be empty, but it is there.
    ...row.output_sha256 !== null && output === null && { output_dropped: true },
  };
}

/** The files whose changes the reviewer did not take over. */
function notTaken({ plan, proposed }: ActionRow): string[] {
  const taken = new Set(plan?.changes.map(({ path }) => path));
  return (proposed?.held?.changes ?? []).filter(({ path }) => !taken.has(path))
    .map(({ shown }) => shown);
}

/** The reviewer's edit, because the agent must know what was executed. */
async function editOf(services: ActionServices, row: ActionRow): Promise<Record<string, unknown>> {
  const { proposed } = row;
  if (toolOf(row.tool).takes_over) return { edited: true, not_taken: notTaken(row) };
  if (toolOf(row.tool).edits === "command") {
    const diff = unifiedDiff("command", `${proposed?.command}\n`, `${row.command}\n`);
    return { edited: true, final_command: row.command, diff };
  }
  const final_content = await shownText(services, row.after_sha256);
  const before = await shownText(services, proposed?.content_sha256 ?? null);
  const comparable = final_content !== null && before !== null;
  const diff = comparable ? unifiedDiff(row.path ?? "file", before, final_content) : null;
  return { edited: true, final_content, diff };
}
