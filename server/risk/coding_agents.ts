import type { Cause } from "./facts.ts";

/** The programs that let a language model act on this machine. */
export const CODING_AGENTS =
  /^(claude|codex|gemini|copilot|qwen|opencode|crush|aider|amp|cursor-agent|droid|auggie|kiro-cli|openhands|plandex|cline|iflow)$/;

/** Options and values with which such an agent asks nobody before it acts. */
const ASKS_NOBODY =
  /^(--dangerously-\S+|--yolo|-y|--full-auto|--allow-all(-\S+)?|--trust-all-tools|--trust-tools|--yes-always|--auto-approve|--skip-permissions\S*|--no-confirm|--dangerous|--force|bypassPermissions|--permission-mode=bypassPermissions|--approval-mode=yolo|yolo|danger-full-access|--sandbox=danger-full-access|--ask-for-approval=never)$/i;

/** A second agent acts beside this one, with its own rules or with none. */
export function agentCauses(program: string, argv: readonly string[]): Cause[] {
  if (argv.some((word) => /^(--help|-h|--version|-V|mcp|config|doctor|update)$/.test(word))) {
    return [];
  }
  if (argv.some((word) => ASKS_NOBODY.test(word)) || /approval\W+never/.test(argv.join(" "))) {
    return [{ name: "unattended", why: `${program} starts an agent that asks nobody` }];
  }
  return argv.length === 0
    ? []
    : [{ name: "shell_script", why: `${program} starts another agent, which gate may not follow` }];
}
