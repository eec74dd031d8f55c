import type { HostHooks } from "../host_hooks.ts";
import { denyLikeClaude, readLikeClaude } from "./claude_code.ts";

export const CODEX: HostHooks = {
  read: (raw) => readLikeClaude(raw),
  go_on: {},
  deny: denyLikeClaude,
  folders: ["workdir"],
  tools: {
    Bash: "command",
    shell: "command",
    exec_command: "command",
    apply_patch: "patch",
    view_image: "read",
    create_goal: "quiet",
    get_goal: "quiet",
    list_mcp_resource_templates: "quiet",
    list_mcp_resources: "quiet",
    request_user_input: "quiet",
    update_goal: "quiet",
    update_plan: "quiet",
  },
};
