import { existsSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "../../errors.ts";
import { readConfig } from "../../config_edit.ts";
import { readText } from "../../config_file.ts";
import { CONFIG_FILE } from "../../project.ts";
import {
  type ConfigFile,
  openInProject,
  refuseReadOnly,
  retryOnConflict,
  saveConfig,
} from "../edit/config_file.ts";
import type { Platform } from "../host.ts";
import { instructions, withBlock } from "./block.ts";

/** The file that most hosts read. */
const COMMON = "AGENTS.md";

/** The file that a host reads first, where that is another one. Claude Desktop reads none. */
const OWN_FILES: Partial<Record<Platform, string | null>> = {
  "claude-code": "CLAUDE.md",
  "gemini-cli": "GEMINI.md",
  "claude-desktop": null,
};

/** What shows in a project who works in it, where the config does not say. */
const SIGNS: [string, Platform][] = [
  [".claude", "claude-code"],
  [".gemini", "gemini-cli"],
  [".codex", "codex"],
  [".cursor", "cursor"],
  [".github/hooks", "copilot-cli"],
  [".opencode", "opencode"],
  ["opencode.json", "opencode"],
  ["opencode.jsonc", "opencode"],
  [".windsurf", "windsurf"],
  [".devin", "windsurf"],
  [".zed", "zed"],
];

/** Files that are kept up where they are, but never made. */
const WHERE_THERE = [
  COMMON,
  "CLAUDE.md",
  "GEMINI.md",
  ".github/copilot-instructions.md",
  ".rules",
  ".windsurfrules",
];

/** One instruction file, and what has to become of it. */
export interface Instructions {
  path: string;
  outcome: "created" | "updated" | "unchanged";
  file: ConfigFile;
  after: string;
}

/** The instruction files of a project, by its config and by what is there. @throws CliError */
export function instructionFiles(root: string): string[] {
  const config = readConfig(readText(join(root, CONFIG_FILE)) ?? "{}", join(root, CONFIG_FILE));
  const seen = SIGNS.filter(([folder]) => existsSync(join(root, folder))).map(([, id]) => id);
  const platforms = Array.isArray(config.platforms) ? config.platforms as Platform[] : seen;
  const asked = platforms.map((platform) =>
    Object.hasOwn(OWN_FILES, platform) ? OWN_FILES[platform] : COMMON
  );
  const present = WHERE_THERE.filter((path) => existsSync(join(root, path)));
  const files = [...asked.filter((path) => typeof path === "string"), ...present];
  return [...new Set(files.length > 0 ? files : [COMMON])];
}

/** Looks at one instruction file; changes nothing. @throws CliError */
export function planInstructions(root: string, path: string): Instructions {
  const config = readConfig(readText(join(root, CONFIG_FILE)) ?? "{}", join(root, CONFIG_FILE));
  const file = openInProject(root, path);
  const before = file.text ?? "";
  // What it imports from the common file need not stand there twice.
  const imports = path === "CLAUDE.md" && /^@(\.\/)?AGENTS\.md\s*$/m.test(before) &&
    !before.includes("<!-- gate:begin") && existsSync(join(root, COMMON));
  const after = imports ? before : withBlock(before, instructions(config.id), file.path);
  if (after !== before) refuseReadOnly(file);
  const outcome = after === before ? "unchanged" : file.text === null ? "created" : "updated";
  return { path, outcome, file, after };
}

/** Brings one instruction file up to date. Returns what was done, and where the old file is kept. */
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

/** @throws CliError when the folder of a project has gone */
export function requireRoot(root: string): void {
  if (existsSync(join(root, CONFIG_FILE))) return;
  throw new CliError(`Cannot update "${root}": no ${CONFIG_FILE} is there any more`, {
    next: "gate project list, then gate project remove <id>",
  });
}
