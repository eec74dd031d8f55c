import { CliError } from "../../errors.ts";
import { PROJECT_ID } from "../../init/choices.ts";
import { lineOf } from "../edit/text_editor.ts";

const BEGIN =
  "<!-- gate:begin - written by `gate update-instructions`; changes in here are lost -->";
const END = "<!-- gate:end -->";

/** What agents are told, the same on every machine: nothing but the checkout decides it. */
export function instructions(id: unknown): string {
  const named = typeof id === "string" && PROJECT_ID.test(id) ? ` (\`${id}\`)` : "";
  return `${BEGIN}

## Working behind the gate

This project${named} is behind gate: a local server that checks what agents do, and asks a person
where policy leaves it open.

- Change files and run commands only through the tools of the MCP server \`gate\`: \`write_file\`,
  \`edit_file\`, \`delete_file\`, \`move_file\`, \`read_file\`, \`run_command\`. Use no other file or
  shell tool.
- A call may be held until a person has decided. It then answers \`pending\` with an \`action_id\`:
  call \`await_action\` with it. Do not submit the same again.
- A refusal names the rule, the reason and often an alternative. Follow it, and never look for a way
  round.
- \`policy_check\` tells beforehand what the policy says. \`rollback_action\` undoes what you did.
- If the tools of \`gate\` are missing, say so and stop: do not work without them.

${END}`;
}

/** The text with the block in it: in place of the old one, else at the end. @throws CliError */
export function withBlock(text: string, block: string, file: string): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const ours = block.replaceAll("\n", eol);
  const found = findBlock(text, file);
  if (found) return text.slice(0, found.start) + ours + text.slice(found.end);
  if (text.trim() === "") return `${ours}${eol}`;
  const isEnded = text.endsWith("\n");
  const gap = text.endsWith(`${eol}${eol}`) ? "" : isEnded ? eol : eol + eol;
  return `${text}${gap}${ours}${isEnded ? eol : ""}`;
}

function findBlock(text: string, file: string): { start: number; end: number } | null {
  const begins = [...text.matchAll(/^[ \t]*<!-- gate:begin\b[^\n]*?-->/gm)];
  const ends = [...text.matchAll(/^[ \t]*<!-- gate:end -->/gm)];
  const [begin] = begins;
  const [end] = ends;
  if (!begin && !end) return null;
  if (begin && end && begins.length === 1 && ends.length === 1 && begin.index < end.index) {
    return { start: begin.index, end: end.index + end[0].length };
  }
  const at = (begins[1] ?? begin ?? end)!.index;
  throw new CliError(
    `Cannot update "${file}": its marks gate:begin and gate:end do not pair (${lineOf(text, at)})`,
    { next: "remove both marks and what is left between them, then the same command" },
  );
}
