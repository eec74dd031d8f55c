import { CLAUDE_CODE } from "./claude_code.ts";
import { CLAUDE_DESKTOP } from "./claude_desktop.ts";
import { CODEX } from "./codex.ts";
import { COPILOT_CLI } from "./copilot_cli.ts";
import { CURSOR } from "./cursor.ts";
import { GEMINI_CLI } from "./gemini_cli.ts";
import type { AgentHost, HookedHost, HostHooks } from "./host.ts";
import { OPENCODE } from "./opencode.ts";
import { QWEN_CODE } from "./qwen_code.ts";
import { VSCODE } from "./vscode.ts";
import { WINDSURF } from "./windsurf.ts";
import { ZED } from "./zed.ts";

/** Every agent host that gate knows, in the order in which people see them. */
export const HOSTS: readonly AgentHost[] = [
  CLAUDE_DESKTOP,
  CLAUDE_CODE,
  COPILOT_CLI,
  CODEX,
  GEMINI_CLI,
  QWEN_CODE,
  OPENCODE,
  CURSOR,
  VSCODE,
  ZED,
  WINDSURF,
];

/** The platform ids of all hosts. */
export const PLATFORMS: readonly string[] = HOSTS.map(({ id }) => id);

/** The hosts that ask gate before their own tools run. */
export const HOOKED_HOSTS: readonly HookedHost[] = HOSTS.filter(isHooked);

export function isHooked(host: AgentHost): host is HookedHost {
  return host.hooks !== null;
}

/** The hooks of a host, or null when gate knows none. */
export function hooksOf(id: string): HostHooks | null {
  return HOSTS.find((host) => host.id === id)?.hooks ?? null;
}

/** The platform id of an MCP client by the name that it gave, or null. */
export function hostOfClient(name: string): string | null {
  const known = name.toLowerCase();
  return HOSTS.find(({ client_names }) => client_names.includes(known))?.id ?? null;
}
