import type { Action, ActionDetail, Conflict } from "../../server/actions/schema.ts";
import type { Part } from "./diff.ts";
import { patchLines } from "./diff.ts";
import type { Io } from "../io.ts";
import { visibleLine, visibleText } from "../terminal/visible.ts";

const KINDS: Record<Conflict["kind"], string> = {
  both_hold: "holds a change of this file too",
  overwrites: "wrote what this replaces; nobody has looked at that",
  overwritten_by: "has replaced what this wrote, or asks to; nobody had looked at it",
  held_by: "holds a change of this file, asked on what was there before",
  changed_by: "has changed this file since",
};

/** For a list: that another session is at the same file. */
export function conflictMark({ conflicts }: Pick<Action, "conflicts">): string {
  if (conflicts.length === 0) return "";
  const agents = [...new Set(conflicts.map(({ agent }) => visibleLine(agent).slice(0, 16)))];
  return `  ! also ${agents.slice(0, 3).join(", ")}`;
}

/** What other sessions do to the same files, and what became of the ground of a held write. */
export function conflictParts(io: Io, action: ActionDetail): Part[] {
  const { base, obstacle } = action;
  return [
    ...action.conflicts.map((one): Part => ({
      title: `conflict: ${visibleLine(one.agent)}`,
      text: [
        `${visibleText(one.path)}: another session ${KINDS[one.kind]}`,
        `action ${one.action_id}, ${one.status}`,
        ...one.diff ? [patchLines(io, one.diff)] : [],
      ].join("\n"),
    })),
    ...base
      ? [
        { title: "the file has changed since", text: base.diff ? patchLines(io, base.diff) : "" },
        {
          title: "would be written now",
          text: base.rebased?.diff ? patchLines(io, base.rebased.diff) : "",
        },
        { title: "next", text: visibleText(base.next) },
      ]
      : [],
    { title: "an approval would be refused", text: visibleText(obstacle ?? "") },
  ];
}
