import { putBlob, readBlob, sizeOfBlob } from "../db/blobs.ts";
import type { Statement } from "../db/ledger.ts";
import type { Content } from "./draft.ts";
import { type ActionServices, timestamp } from "./services.ts";

/** A content of a single piece: its row and that piece. */
const SMALL = 2;
/** A larger text is not shown in one piece. */
const MAX_SHOWN = 1024 * 1024;

/**
 * What keeps these contents, to be committed with whatever refers to them. Large ones are committed
 * ahead, piece by piece, so that no commit holds everybody else up; a content alone harms nobody.
 */
export async function keepContents(
  services: ActionServices,
  contents: readonly Content[],
): Promise<Statement[]> {
  const { ledger, project_id, environment } = services;
  const place = { project_id, at: timestamp(environment) };
  const kept: Statement[] = [];
  for (const { content } of contents) {
    const { statements } = await putBlob(content, place);
    if (statements.length <= SMALL) kept.push(...statements);
    else {
      for (const statement of statements) {
        await ledger.commit({ statements: [statement], events: [] });
      }
    }
  }
  return kept;
}

/** A kept content as text; null where it is not kept, not text or too large to show. */
export async function shownText(
  services: ActionServices,
  sha256: string | null,
): Promise<string | null> {
  const { ledger } = services;
  if (sha256 === null || (await sizeOfBlob(ledger, sha256) ?? Infinity) > MAX_SHOWN) return null;
  const content = await readBlob(ledger, sha256);
  return content && textOf(content);
}

/** Bytes as text; null where they are none. */
export function textOf(content: Uint8Array): string | null {
  if (content.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return null;
  }
}
