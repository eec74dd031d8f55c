import type { ActionDetail, LineComment } from "../../server/actions/schema.ts";
import { findChanges } from "../../server/shown/line_diff.ts";

/** A comment on a line of an earlier version, with its answers. */
export interface Thread {
  /** The id of the first comment, as an answer and a settlement name it. */
  id: string;
  said: { text: string; by: string; at: string; action_id: string }[];
  side: LineComment["side"];
  /** The place of the line in the version now. */
  line: number;
  /** The commented line as it was; null if that version is no longer kept. */
  quote: string | null;
  became: "unchanged" | "changed" | "unknown";
}

/** The texts of a file before and after a change; null for no text. */
export interface Texts {
  before: string | null;
  after: string | null;
}

/** The open threads about a file. @param rejected the earlier versions, oldest first */
export function threadsOf(
  path: string,
  now: Texts,
  rejected: readonly ActionDetail[],
): Thread[] {
  const open = new Map<string, Thread>();
  for (const detail of rejected) {
    const { comments, settled, by, at } = rejectionOf(detail);
    comments.forEach((comment, number) => {
      if (comment.path !== path) return;
      const root = comment.answers === undefined ? undefined : open.get(comment.answers);
      const id = root?.id ?? `${detail.id}/${number}`;
      const said = [...root?.said ?? [], { text: comment.text, by, at, action_id: detail.id }];
      open.set(id, { id, said, ...placeNow(comment, textsOf(detail, path), now) });
    });
    for (const id of settled) open.delete(id);
  }
  return [...open.values()].sort((a, b) => a.line - b.line);
}

function rejectionOf({ timeline }: ActionDetail) {
  const step = timeline.findLast(({ type }) => type === "action.rejected");
  const { comments = [], settled = [] } = (step?.data ?? {}) as {
    comments?: LineComment[];
    settled?: string[];
  };
  return { comments, settled, by: step?.actor.id ?? "", at: step?.at ?? "" };
}

function textsOf(detail: ActionDetail, path: string): Texts {
  const file = detail.files?.find((one) => one.path === path) ??
    (detail.path === path ? detail : null);
  return { before: file?.before?.text ?? null, after: file?.after?.text ?? null };
}

function placeNow(
  { line, side }: LineComment,
  then: Texts,
  now: Texts,
): Pick<Thread, "side" | "line" | "quote" | "became"> {
  const [a, b] = [then[side], now[side]].map((text) => text?.split("\n") ?? null);
  const quote = a?.[line - 1]?.trim() ?? null;
  if (!a || !b || quote === null) return { side, line, quote, became: "unknown" };
  const at = line - 1;
  let shift = 0;
  for (const { fromA, toA, fromB, toB } of findChanges(a, b, MOST_CELLS).changes) {
    if (at < fromA) break;
    if (at < toA) {
      const near = Math.min(fromB + at - fromA, Math.max(fromB, toB - 1), b.length - 1);
      return { side, line: Math.max(0, near) + 1, quote, became: "changed" };
    }
    shift = toB - toA;
  }
  return { side, line: line + shift, quote, became: "unchanged" };
}

/** Some milliseconds: 4,096 different lines against as many others. */
const MOST_CELLS = 2 ** 24;
