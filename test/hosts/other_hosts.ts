import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { World } from "../e2e/world.ts";
import type { ModelProtocol } from "./other_models.ts";
import type { ScriptedCall, ScriptedModel } from "./scripted_model.ts";

/** How a host runs offline with a scripted model, and the names of its tools. */
export interface OtherHost {
  id: string;
  program: string;
  /** Its settings folder in the home. */
  folder: string;
  protocol: ModelProtocol;
  args: string[];
  prepare: (world: World, model: ScriptedModel) => Record<string, string>;
  run: (command: string) => ScriptedCall;
  write: (path: string, text: string) => ScriptedCall;
}

export const OTHER_HOSTS: OtherHost[] = [{
  id: "codex",
  program: "codex",
  folder: ".codex",
  protocol: "responses",
  // The flag replaces the dialog in which a person trusts the hook.
  args: [
    ...["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
    ...["--dangerously-bypass-hook-trust", "Do it."],
  ],
  prepare: (world, { url }) => {
    const config = join(world.home, ".codex", "config.toml");
    const provider = `[model_providers.mock]\nname = "mock"\nbase_url = "${url}/v1"\n` +
      'wire_api = "responses"\nenv_key = "MOCK_KEY"\n';
    const text = readFileSync(config, "utf8").replace(/model = [^]*?(?=\[mcp_servers|$)/, "");
    writeFileSync(
      config,
      `model = "mock-1"\nmodel_provider = "mock"\n${text.trim()}\n\n${provider}`
        .replace(/(\[model_providers\.mock\][^]*?\n\n)(?=[^]*\[model_providers\.mock\])/, ""),
    );
    return { MOCK_KEY: "none" };
  },
  run: (cmd) => ({ name: "exec_command", input: { cmd } }),
  write: (path, text) => ({
    name: "exec_command",
    input: {
      cmd: `apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ${path}\n+${text}\n` +
        "*** End Patch\nEOF",
    },
  }),
}, {
  id: "gemini-cli",
  program: "gemini",
  folder: ".gemini",
  protocol: "gemini",
  // Without this setting it first tries another model, five times over two minutes.
  args: ["--approval-mode", "yolo", "-m", "gemini-2.5-pro", "-p", "Do it."],
  prepare: (world, { url }) => {
    const folder = join(world.home, ".gemini");
    const trusted = JSON.stringify({ [world.project]: "TRUST_FOLDER" });
    writeFileSync(join(folder, "trustedFolders.json"), trusted);
    const settings = join(folder, "settings.json");
    const known = JSON.parse(readFileSync(settings, "utf8"));
    const security = { auth: { selectedType: "gemini-api-key" } };
    writeFileSync(settings, JSON.stringify({ ...known, security }));
    return { GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: url };
  },
  run: (command) => ({ name: "run_shell_command", input: { command } }),
  write: (path, content) => ({ name: "write_file", input: { file_path: path, content } }),
}, {
  id: "qwen-code",
  program: "qwen",
  folder: ".qwen",
  protocol: "chat",
  args: ["--auth-type", "openai", "--approval-mode", "yolo", "-p", "Do it."],
  prepare: (_world, { url }) => ({
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_MODEL: "mock-1",
    OPENAI_API_KEY: "none",
  }),
  run: (command) => ({ name: "run_shell_command", input: { command, is_background: false } }),
  write: (path, content) => ({ name: "write_file", input: { file_path: path, content } }),
}, {
  id: "copilot-cli",
  program: "copilot",
  folder: ".copilot",
  protocol: "chat",
  args: ["--allow-all-tools", "--allow-all-paths", "-p", "Do it."],
  prepare: (_world, { url }) => ({
    COPILOT_OFFLINE: "true",
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    COPILOT_MODEL: "mock-1",
    COPILOT_PROVIDER_API_KEY: "none",
  }),
  run: (command) => ({ name: "bash", input: { command, description: "x" } }),
  write: (path, file_text) => ({ name: "create", input: { path, file_text } }),
}];
