import { existsSync } from "node:fs";
import { CLAUDE_CODE } from "./claude_code.ts";
import { CLAUDE_DESKTOP } from "./claude_desktop.ts";
import { CODEX } from "./codex.ts";
import { COPILOT_CLI } from "./copilot_cli.ts";
import { CURSOR } from "./cursor.ts";
import { GEMINI_CLI } from "./gemini_cli.ts";
import type { Host } from "./host.ts";
import { findProgram, type Machine } from "./machine.ts";
import { OPENCODE } from "./opencode.ts";
import { VSCODE } from "./vscode.ts";
import { WINDSURF } from "./windsurf.ts";
import { ZED } from "./zed.ts";

/** Every agent host that gate knows how to set up. */
export const HOSTS: readonly Host[] = [
  CLAUDE_DESKTOP,
  CLAUDE_CODE,
  COPILOT_CLI,
  CODEX,
  GEMINI_CLI,
  OPENCODE,
  CURSOR,
  VSCODE,
  ZED,
  WINDSURF,
];

/** The files of a host that is on this machine; none when it is not. */
export function filesInUse(host: Host, machine: Machine): string[] {
  const files = host.files(machine);
  const used = files.filter(({ path, sign }) => existsSync(path) || existsSync(sign));
  if (used.length > 0) return used.map(({ path }) => path);
  const isInstalled = host.program !== null && findProgram(machine, host.program) !== null;
  return isInstalled ? [files[0]!.path] : [];
}
