import type { Agent } from "./agent.ts";
import { CLAUDE_CODE } from "./claude_code.ts";
import { CODEX } from "./codex.ts";
import { COPILOT_CLI } from "./copilot_cli.ts";
import { CURSOR } from "./cursor.ts";
import { GEMINI_CLI } from "./gemini_cli.ts";
import { OPENCODE } from "./opencode.ts";
import { QWEN_CODE } from "./qwen_code.ts";

/** Every agent that gate watches, in the order in which people see them. */
export const AGENTS: readonly Agent[] = [
  CLAUDE_CODE,
  CODEX,
  COPILOT_CLI,
  GEMINI_CLI,
  QWEN_CODE,
  OPENCODE,
  CURSOR,
];
