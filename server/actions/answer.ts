import { Buffer } from "node:buffer";
import { readBlob } from "../db/blobs.ts";
import { type FileImage, readImage } from "../runtime/file_image.ts";
import { shownText, textOf } from "./contents.ts";
import { MAX_READ_BYTES } from "./execute.ts";
import { unifiedDiff } from "./merge.ts";
import { recheck } from "./recheck.ts";
import type { ActionServices } from "./services.ts";
import type { ActionRow } from "./store.ts";

/** Whether there is something to tell the one who waits. */
export function isSettled(row: ActionRow): boolean {
  if (row.status === "pending") return false;
  if (row.status !== "approved") return true;
  // What is approved and done elsewhere waits to be claimed by the one who asks.
  const isClaimed = row.tool === "run_command" || row.plan?.native !== undefined;
  return isClaimed ? row.execution !== "running" : isOver(row);
}

/** What the tool returned to the agent; null until it is done. */
export async function answerOf(
  services: ActionServices,
  row: ActionRow,
  image: FileImage | null,
): Promise<Record<string, unknown> | null> {
  const edit = row.edited ? await editOf(services, row) : {};
  if (!isOver(row) || row.status === "blocked") return row.edited ? edit : null;
  if (row.tool === "read_file") return await readAnswer(services, row, image);
  if (row.tool === "run_command") return { ...await commandAnswer(services, row), ...edit };
  if (!row.plan || row.execution !== "succeeded") return row.edited ? edit : null;
  return { ...changesAnswer(row), ...edit };
}

function isOver({ execution }: ActionRow): boolean {
  return execution === "succeeded" || execution === "failed" || execution === "unknown";
}

function changesAnswer(row: ActionRow): Record<string, unknown> {
  const { changes } = row.plan!;
  const files = changes.map(({ shown, before, after }) => ({
    path: shown,
    sha256: after?.sha256 ?? null,
    bytes: after?.bytes ?? null,
    created: before === null,
  }));
  return files.length === 1 ? files[0]! : { files };
}

async function readAnswer(
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

/** What was approved is reading this path: it has to be the same file, and policy to still allow it. */
async function readAgain(services: ActionServices, row: ActionRow): Promise<FileImage | null> {
  try {
    await recheck(services, row);
    return await readImage(row.plan!.accesses[0]!.target.real, MAX_READ_BYTES);
  } catch {
    return null;
  }
}

async function commandAnswer(services: ActionServices, row: ActionRow) {
  const { exit_code, error, duration_ms } = row;
  return { exit_code, error, duration_ms, ...await outputOf(services, row) };
}

/** The kept output of a command. */
export async function outputOf(services: ActionServices, row: ActionRow) {
  const output = row.output_sha256 && await readBlob(services.ledger, row.output_sha256);
  return {
    output: output ? new TextDecoder().decode(output) : "",
    truncated: row.output_truncated ?? false,
  };
}

/** What a reviewer made of it: the agent has to know what really happened. */
async function editOf(services: ActionServices, row: ActionRow): Promise<Record<string, unknown>> {
  const { proposed } = row;
  if (row.tool === "run_command") {
    const diff = unifiedDiff("command", `${proposed?.command}\n`, `${row.command}\n`);
    return { edited: true, final_command: row.command, diff };
  }
  const final_content = await shownText(services, row.after_sha256);
  const before = await shownText(services, proposed?.content_sha256 ?? null);
  const comparable = final_content !== null && before !== null;
  const diff = comparable ? unifiedDiff(row.path ?? "file", before, final_content) : null;
  return { edited: true, final_content, diff };
}
