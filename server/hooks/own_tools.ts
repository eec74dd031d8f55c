import { TOOL_NAMES, TOOLS } from "../actions/tools.ts";

/** The tools of gate's own MCP server: they are judged where they are carried out. */
export const OWN_TOOLS: ReadonlySet<string> = new Set([
  ...TOOL_NAMES.filter((name) => !TOOLS[name].undoes),
  "scenario_run",
  "await_action",
  "get_action",
  "rollback_action",
  "policy_check",
  "project_info",
]);
