import { createTwoFilesPatch } from "diff";
import type { ActionDetail } from "../../server/actions/schema.ts";
import type { Io } from "../io.ts";
import { paint } from "../terminal/output.ts";
import { visibleLine, visibleText } from "../terminal/visible.ts";

/** A part of a card: its title and its lines, safe to print. */
export interface Part {
  title: string;
  text: string;
}

type Side = ActionDetail["before"];

type Change = Pick<ActionDetail, "before" | "after" | "before_sha256" | "after_sha256">;

/**
 * What happens to the content of each file: whole when it is new or goes, else what differs. Where
 * only a host knows, what it was asked to do, word for word.
 */
export function contentParts(io: Io, action: ActionDetail): Part[] {
  const { files, input, command } = action;
  if (input === null) return changeParts(io, action);
  const known = (files ?? []).filter((file) => file.is_known);
  const isTold = command !== null || (known.length > 0 && known.length === files?.length);
  return [
    ...isTold ? [] : [{ title: "input", text: visibleText(JSON.stringify(input, null, 2)) }],
    ...known.flatMap((file) =>
      changeParts(io, file).map(({ title, text }) => ({
        title: known.length > 1 ? `${title}: ${visibleLine(file.path)}` : title,
        text,
      }))
    ),
  ];
}

function changeParts(io: Io, action: Change): Part[] {
  const { before, after } = action;
  if (!before && !after) return [];
  const texts = [before, after].map((side) => side ? side.text : "");
  if (texts[0] === null || texts[1] === null) {
    return [
      { title: "before", text: factsOf(before, action.before_sha256) },
      { title: "after", text: factsOf(after, action.after_sha256) },
    ];
  }
  if (!before) return [{ title: "after", text: visibleText(after!.text!) }];
  if (!after) return [{ title: "before", text: visibleText(before.text!) }];
  return diffParts(io, "what changes", before.text!, after.text!);
}

/** The lines that differ with three around them; both texts whole when that would take too long. */
export function diffParts(io: Io, title: string, before: string, after: string): Part[] {
  if (before === after) return [{ title, text: "nothing: the content stays the same" }];
  const patch = createTwoFilesPatch("", "", before, after, "", "", { context: 3, timeout: 2_000 });
  if (patch === undefined) {
    return [
      { title: "before", text: visibleText(before) },
      { title: "after", text: visibleText(after) },
    ];
  }
  return [{ title, text: patchLines(io, patch) }];
}

/** A unified patch without its head, painted. */
export function patchLines(io: Io, patch: string): string {
  const lines = patch.slice(patch.indexOf("@@")).trimEnd().split("\n");
  return lines.map((line) => paintLine(io, line)).join("\n");
}

/** A line of a unified patch, safe to print. */
export function paintLine(io: Io, line: string): string {
  const style = ({ "+": "green", "-": "red", "@": "cyan" } as const)[line[0] ?? ""];
  return style ? paint(io, style, visibleText(line)) : visibleText(line);
}

function factsOf(side: Side, sha256: string | null): string {
  if (!side) return "no file";
  const kind = side.text === null ? "not shown: not text, too large or no longer kept" : "text";
  return `${side.bytes} bytes, ${kind}${sha256 ? `\nsha256 ${sha256}` : ""}`;
}
