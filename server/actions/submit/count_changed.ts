import { countLines, type LineCounts } from "../../shown/lines.ts";
import { type Content, textOf } from "../contents.ts";
import type { Plan } from "../plan.ts";
import { toolOf } from "../tools.ts";

/** More text is not compared while the agent waits for an answer. */
const MOST_BYTES = 256 * 1024;
const MOST_FILES = 20;

/**
 * The lines that a planned action adds and removes, in all of its files. Null if it changes none, or
 * if a content is no text, too large, or known to its host only.
 */
export function countChanged(
  { tool, changes }: Pick<Plan, "tool" | "changes">,
  contents: readonly Content[],
): LineCounts | null {
  const isMove = toolOf(tool).shows === "two_paths";
  if (isMove || changes.length === 0 || changes.length > MOST_FILES) return null;
  const bytes = changes.flatMap(({ before, after }) => [before?.bytes ?? 0, after?.bytes ?? 0]);
  if (bytes.reduce((sum, more) => sum + more, 0) > MOST_BYTES) return null;
  const known = new Map(contents.map(({ sha256, content }) => [sha256, content]));
  const textFor = (state: { sha256: string } | null): string | null | undefined => {
    if (state === null) return null;
    const content = known.get(state.sha256);
    return content instanceof Uint8Array ? textOf(content) ?? undefined : undefined;
  };
  const total: LineCounts = { added: 0, removed: 0 };
  for (const { before, after, guessed } of changes) {
    const [was, will] = [textFor(before), textFor(after)];
    if (guessed || was === undefined || will === undefined) return null;
    const counts = countLines(was, will);
    if (counts === null) return null;
    total.added += counts.added;
    total.removed += counts.removed;
  }
  return total;
}
