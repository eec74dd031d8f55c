import type { HostHooks } from "./host_hooks.ts";
import { CLAUDE_CODE } from "./hosts/claude_code.ts";
import { CODEX } from "./hosts/codex.ts";
import { COPILOT_CLI } from "./hosts/copilot_cli.ts";
import { CURSOR } from "./hosts/cursor.ts";
import { GEMINI_CLI } from "./hosts/gemini_cli.ts";

/** Every host whose hooks gate answers, by its platform id. */
export const HOOK_HOSTS: Record<string, HostHooks> = {
  "claude-code": CLAUDE_CODE,
  codex: CODEX,
  "copilot-cli": COPILOT_CLI,
  "gemini-cli": GEMINI_CLI,
  cursor: CURSOR,
};

/** The hooks of a host, or null where it has none that gate knows. */
export function hooksOf(host: string): HostHooks | null {
  return Object.hasOwn(HOOK_HOSTS, host) ? HOOK_HOSTS[host]! : null;
}
