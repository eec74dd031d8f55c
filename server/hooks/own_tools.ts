/** The tools of gate's own MCP server: they are judged where they are carried out. */
export const OWN_TOOLS: ReadonlySet<string> = new Set([
  "write_file",
  "edit_file",
  "delete_file",
  "move_file",
  "read_file",
  "run_command",
  "scenario_run",
  "await_action",
  "get_action",
  "rollback_action",
  "policy_check",
  "project_info",
]);
