import { createTwoFilesPatch } from "diff";
import type { Action, ActionDetail, Conflict } from "../../server/actions/schema.ts";
import { agentName } from "../../server/shown/agent_name.ts";
import { droppedText } from "../../server/shown/dropped_text.ts";
import type { Io } from "../io.ts";
import { paint } from "../terminal/output.ts";
import { visibleLine, visibleText } from "../terminal/visible.ts";

/** A titled section of an action's card; its text is safe to print. */
export interface Part {
  title: string;
  text: string;
}

type Side = ActionDetail["before"];

type Change = Pick<
  ActionDetail,
  "before" | "after" | "before_sha256" | "after_sha256" | "contents_dropped_at"
>;

/**
 * The file changes of an action: the whole text of a new or deleted file, otherwise a diff. If only
 * the agent's host knows the changes, the tool's input is shown instead.
 */
export function contentParts(io: Io, action: ActionDetail): Part[] {
  const { files, input, command, taken_from } = action;
  const { contents_dropped_at } = action;
  const known = (files ?? []).filter((file) => file.is_known)
    .map((file) => ({ ...file, contents_dropped_at }));
  if (taken_from) return known.flatMap((file) => fileParts(io, file));
  if (input === null) return changeParts(io, action);
  const isShown = command !== null || (known.length > 0 && known.length === files?.length);
  return [
    ...isShown ? [] : [{ title: "input", text: visibleText(JSON.stringify(input, null, 2)) }],
    ...known.flatMap((file) =>
      changeParts(io, file).map(({ title, text }) => ({
        title: known.length > 1 ? `${title}: ${visibleLine(file.path)}` : title,
        text,
      }))
    ),
  ];
}

/** The parts of one of many files, with its name and its new permission bits. */
function fileParts(io: Io, file: Change & { path: string }): Part[] {
  const [old, now] = [file.before?.mode ?? null, file.after?.mode ?? null];
  const mode = now === null || now === old
    ? ""
    : ` (mode ${old === null ? "" : `${octalOf(old)} → `}${octalOf(now)})`;
  return changeParts(io, file).map(({ title, text }) => (
    { title: `${title}: ${visibleLine(file.path)}${mode}`, text: text === "" ? "empty" : text }
  ));
}

function octalOf(mode: number): string {
  return `0${mode.toString(8).padStart(3, "0")}`;
}

function changeParts(io: Io, action: Change): Part[] {
  const { before, after, contents_dropped_at: dropped_at } = action;
  if (!before && !after) return [];
  const texts = [before, after].map((side) => side ? side.text : "");
  if (texts[0] === null || texts[1] === null) {
    return [
      { title: "before", text: factsOf(before, action.before_sha256, dropped_at) },
      { title: "after", text: factsOf(after, action.after_sha256, dropped_at) },
    ];
  }
  if (!before) return [{ title: "after", text: visibleText(after!.text!) }];
  if (!after) return [{ title: "before", text: visibleText(before.text!) }];
  return diffParts(io, "changes", before.text!, after.text!);
}

/** A diff with three lines of context; both whole texts if the diff takes over two seconds. */
export function diffParts(io: Io, title: string, before: string, after: string): Part[] {
  if (before === after) return [{ title, text: "none: the content stays the same" }];
  const patch = createTwoFilesPatch("", "", before, after, "", "", { context: 3, timeout: 2_000 });
  if (patch === undefined) {
    return [
      { title: "before", text: visibleText(before) },
      { title: "after", text: visibleText(after) },
    ];
  }
  return [{ title, text: patchLines(io, patch) }];
}

/** A unified patch in colour, without its header. */
export function patchLines(io: Io, patch: string): string {
  const lines = patch.slice(patch.indexOf("@@")).trimEnd().split("\n");
  return lines.map((line) => paintLine(io, line)).join("\n");
}

/** A line of a unified patch in colour, safe to print. */
export function paintLine(io: Io, line: string): string {
  const style = ({ "+": "green", "-": "red", "@": "cyan" } as const)[line[0] ?? ""];
  return style ? paint(io, style, visibleText(line)) : visibleText(line);
}

function factsOf(side: Side, sha256: string | null, dropped_at: string | null): string {
  if (!side) return "no file";
  const kind = side.text !== null
    ? "text"
    : dropped_at === null
    ? "not shown: it is not text, too large or no longer stored"
    : `not shown: ${droppedText("it", dropped_at)}`;
  return `${side.bytes} bytes, ${kind}${sha256 ? `\nsha256 ${sha256}` : ""}`;
}

const KINDS: Record<Conflict["kind"], string> = {
  both_hold: "also has a held change of this file",
  overwrites: "wrote the content that this action replaces; nobody has reviewed it",
  overwritten_by: "replaced the content of this action, or wants to; nobody had reviewed it",
  held_by: "has a held change of this file that is based on the earlier content",
  changed_by: "has changed this file since",
};

/** A mark for lists: the other agents that change the same file. */
export function conflictMark({ conflicts }: Pick<Action, "conflicts">): string {
  if (conflicts.length === 0) return "";
  const agents = [
    ...new Set(conflicts.map(({ agent }) => visibleLine(agentName(agent)).slice(0, 16))),
  ];
  return `  ! also ${agents.slice(0, 3).join(", ")}`;
}

/** The conflicts with other sessions, and how the file changed since the action was held. */
export function conflictParts(io: Io, action: ActionDetail): Part[] {
  const { base, obstacle } = action;
  return [
    ...action.conflicts.map((one): Part => ({
      title: `conflict: ${visibleLine(agentName(one.agent))}`,
      text: [
        `${visibleText(one.path)}: another session ${KINDS[one.kind]}`,
        `action ${one.action_id}, ${one.status}`,
        ...one.diff ? [patchLines(io, one.diff)] : [],
      ].join("\n"),
    })),
    ...base
      ? [
        {
          title: "the file has changed since then",
          text: base.diff ? patchLines(io, base.diff) : "",
        },
        {
          title: "an approval with --rebase writes",
          text: base.rebased?.diff ? patchLines(io, base.rebased.diff) : "",
        },
        { title: "next", text: visibleText(base.next) },
      ]
      : [],
    { title: "it cannot be approved", text: visibleText(obstacle ?? "") },
  ];
}
