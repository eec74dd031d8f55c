import { existsSync } from "node:fs";
import { join } from "node:path";
import { COMMON_INSTRUCTIONS } from "../../server/hosts/host.ts";
import { HOSTS } from "../../server/hosts/hosts.ts";
import { readConfig, readText } from "../config_file.ts";
import { CliError } from "../errors.ts";
import { PROJECT_ID } from "../init/choices.ts";
import { CONFIG_FILE } from "../project.ts";
import {
  type ConfigFile,
  openInProject,
  refuseReadOnly,
  retryOnConflict,
  saveConfig,
} from "./edit/config_file.ts";
import { lineOf } from "./edit/text_editor.ts";

/** The change to one instruction file. */
export interface Instructions {
  path: string;
  outcome: "created" | "updated" | "unchanged";
  file: ConfigFile;
  after: string;
}

/** Files that gate updates where they exist, but creates only for a host in use. */
const UPDATED_FILES: readonly string[] = [
  COMMON_INSTRUCTIONS,
  ...HOSTS.flatMap(({ instructions }) => instructions.file ?? []),
  ...HOSTS.flatMap(({ instructions }) => instructions.also ?? []),
];

/** The instruction files of a project: those of its hosts, and existing ones. @throws CliError */
export function instructionFiles(root: string): string[] {
  const { platforms } = configOf(root);
  const isThere = (path: string) => existsSync(join(root, path));
  // Unless the config names the hosts, the files in the project show who works there.
  const wanted = Array.isArray(platforms)
    ? platforms.map((id) => fileOf(id))
    : HOSTS.flatMap(({ instructions }) =>
      instructions.signs.some(isThere) ? instructions.file : []
    );
  const files = [...wanted.filter((path) => path !== null), ...UPDATED_FILES.filter(isThere)];
  return [...new Set(files.length > 0 ? files : [COMMON_INSTRUCTIONS])];
}

function fileOf(platform: unknown): string | null {
  const host = HOSTS.find(({ id }) => id === platform);
  return host ? host.instructions.file : COMMON_INSTRUCTIONS;
}

/** Plans the change to one instruction file. @throws CliError when it cannot be edited */
export function planInstructions(root: string, path: string): Instructions {
  const file = openInProject(root, path);
  const before = file.text ?? "";
  // A file that imports AGENTS.md needs no block of its own.
  const imports = path === "CLAUDE.md" && /^@(\.\/)?AGENTS\.md\s*$/m.test(before) &&
    !before.includes("<!-- gate:begin") && existsSync(join(root, COMMON_INSTRUCTIONS));
  const after = imports ? before : withBlock(before, blockFor(configOf(root).id), file.path);
  if (after !== before) refuseReadOnly(file);
  const outcome = after === before ? "unchanged" : file.text === null ? "created" : "updated";
  return { path, outcome, file, after };
}

/** Updates one instruction file. Returns the change and the path of the backup. */
export function updateInstructions(
  root: string,
  path: string,
  home: string,
): Promise<Instructions & { backup: string | null }> {
  return retryOnConflict(async () => {
    const plan = planInstructions(root, path);
    if (plan.outcome === "unchanged") return { ...plan, backup: null };
    const backup = await saveConfig(plan.file, plan.after, { home, label: "instructions" }, 0o644);
    return { ...plan, backup };
  });
}

/** @throws CliError when the folder of a project is gone */
export function requireRoot(root: string): void {
  if (existsSync(join(root, CONFIG_FILE))) return;
  throw new CliError(`Cannot update "${root}": no ${CONFIG_FILE} is there any more`, {
    next: "gate project list, then gate project remove <id>",
  });
}

function configOf(root: string): Record<string, unknown> {
  const file = join(root, CONFIG_FILE);
  return readConfig(readText(file) ?? "{}", file);
}

const BEGIN =
  "<!-- gate:begin - written by `gate update-instructions`; changes in here are lost -->";
const END = "<!-- gate:end -->";

/** The block for agents. It depends only on the project's id, so every machine writes the same. */
function blockFor(id: unknown): string {
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
- \`policy_check\` tells beforehand what the policy says. \`rollback_action\` rolls back one of your actions.
- If the tools of \`gate\` are missing, say so and stop: do not work without them.

${END}`;
}

/** The text with the block in place of the old block, or at the end. @throws CliError */
function withBlock(text: string, block: string, file: string): string {
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
    { next: "remove both marks and the text between them, then the same command" },
  );
}
