import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { testCaller } from "../../helpers.ts";
import { openAsk } from "./stage.ts";

type Json = Record<string, unknown>;

/** A repository with a forbidden file at its top, one in a folder, and an ignored one. */
async function openProject(host: string) {
  const stage = await openAsk(host, {
    defaultEffect: "allow",
    blockedPaths: [".env", "secrets/**", "*.key"],
  });
  const { gate } = stage;
  mkdirSync(join(gate.root, ".git"));
  for (const name of ["src", "secrets", "own"]) mkdirSync(join(gate.root, name));
  gate.write(".gitignore", "own\n");
  gate.write("src/a.ts", "1\n");
  gate.write(".env", "SECRET=1\n");
  gate.write("secrets/one", "SECRET=2\n");
  gate.write("own/tls.key", "SECRET=3\n");
  return stage;
}

const STOPPED = /^(held|Blocked by gate: .*(\.env|secrets|tls\.key|Cannot use the path))/;

describe("a search of a host reads what is below its folder", () => {
  const ROWS: [host: string, tool: string, input: Json, answer: "stopped" | "allow"][] = [
    ["claude-code", "Grep", {}, "stopped"],
    ["claude-code", "Grep", { path: "." }, "stopped"],
    ["claude-code", "Grep", { glob: ".e*" }, "stopped"],
    ["claude-code", "Grep", { glob: "*.{ts,env}" }, "stopped"],
    ["claude-code", "Grep", { glob: "[.]env" }, "stopped"],
    ["claude-code", "Grep", { glob: "**/.e?v" }, "stopped"],
    ["claude-code", "Grep", { glob: "!.env" }, "stopped"],
    ["claude-code", "Grep", { glob: "!.env !secrets *" }, "stopped"],
    ["claude-code", "Grep", { glob: "*.key" }, "stopped"],
    ["claude-code", "Grep", { path: "own" }, "stopped"],
    ["claude-code", "Grep", { glob: "!.env !secrets" }, "allow"],
    ["claude-code", "Grep", { glob: "!.env,!secrets" }, "allow"],
    ["claude-code", "Grep", { glob: "*.ts" }, "allow"],
    ["claude-code", "Grep", { glob: "**/*.{ts,tsx}" }, "allow"],
    ["claude-code", "Grep", { path: "src" }, "allow"],
    ["claude-code", "Grep", { path: "src/a.ts" }, "allow"],
    ["claude-code", "Glob", {}, "allow"],
    ["claude-code", "LS", { path: "." }, "allow"],
    ["copilot-cli", "grep", {}, "stopped"],
    ["copilot-cli", "rg", { paths: ["src", "secrets/.."] }, "stopped"],
    ["copilot-cli", "rg", { paths: ["src"] }, "allow"],
    ["cursor", "Grep", { include_pattern: ".e*" }, "stopped"],
    ["cursor", "SemanticSearch", { target_directories: [] }, "stopped"],
    ["cursor", "SemanticSearch", { target_directories: ["src"] }, "allow"],
    ["gemini-cli", "grep_search", {}, "stopped"],
    ["gemini-cli", "search_file_content", { include: ".en*" }, "stopped"],
    ["gemini-cli", "grep_search", { include_pattern: "*.ts" }, "allow"],
    ["qwen-code", "grep_search", { glob: ".e*" }, "stopped"],
    ["gemini-cli", "read_many_files", { include: [".e*"] }, "stopped"],
    ["gemini-cli", "read_many_files", { include: ["**"] }, "stopped"],
    ["gemini-cli", "read_many_files", { include: ["{.env,x}"] }, "stopped"],
    ["gemini-cli", "read_many_files", { include: [".[e]nv"] }, "stopped"],
    ["gemini-cli", "read_many_files", { include: ["@(.env|x)"] }, "stopped"],
    ["gemini-cli", "read_many_files", { include: ["src/../.e*"] }, "stopped"],
    ["gemini-cli", "read_many_files", { include: ["secre*/one"] }, "stopped"],
    ["gemini-cli", "read_many_files", { include: ["."] }, "stopped"],
    ["gemini-cli", "read_many_files", { include: ["src/**", "**/*.ts"] }, "allow"],
    ["gemini-cli", "read_many_files", {
      include: ["own/*.key"],
      file_filtering_options: { respect_git_ignore: false },
    }, "stopped"],
  ];

  test.each(ROWS)("%s %s %j: %s", async (host, tool, input, answer) => {
    const { ask } = await openProject(host);
    const expected = answer === "allow" ? /^allow$/ : STOPPED;
    expect(await ask(tool, { pattern: "SECRET", query: "SECRET", ...input })).toMatch(expected);
  });

  test("the refusal names the file and how to leave it out", async () => {
    const { ask } = await openProject("claude-code");
    const reason = await ask("Grep", { pattern: "SECRET", glob: "!secrets" });
    expect(reason).toContain('it reads ".env" below this folder');
    expect(reason).toContain("Instead: Add !.env to its glob");
  });

  test("a link to a forbidden file counts for a tool that reads through it", async () => {
    const { gate, ask } = await openProject("gemini-cli");
    symlinkSync("../.env", join(gate.root, "src/settings.ts"));
    expect(await ask("read_many_files", { include: ["src/*.ts"] })).toMatch(STOPPED);
  });

  test("a search around gate's own data is stopped", async () => {
    const { gate, ask } = await openProject("claude-code");
    const path = join(gate.home, "..");
    expect(await ask("Grep", { pattern: "x", path })).toMatch(/^(held|Blocked by gate)/);
  });

  test("an approval of a search holds for the same search", async () => {
    const { gate, ask, actions } = await openProject("claude-code");
    const input = { pattern: "SECRET", glob: "[.]env" };
    expect(await ask("Grep", input)).toBe("held");
    const [{ id }] = await actions() as unknown as [{ id: string }];
    await gate.project.actions.approve(id, {}, testCaller("reviewer"));
    expect(await ask("Grep", input)).toBe("allow");
  });
});

describe("a path that a host expands is no path of the project", () => {
  const PATHS = ["~/.aws/credentials", " .env", ".env\u00a0", "\u00a0/etc/hosts", "$HOME/x", "~"];

  test.each(PATHS)("%j is refused", async (path) => {
    const { ask } = await openAsk("claude-code");
    for (const tool of ["Read", "Grep", "Edit", "Write"]) {
      const given = tool === "Grep" ? { path, pattern: "x" } : { file_path: path, content: "x" };
      expect(await ask(tool, given)).toMatch(/^Blocked by gate: .*Cannot use the path/);
    }
  });

  test.each(["~", "~/x", " src", "$HOME"])("a command does not run in %j", async (folder) => {
    const { ask } = await openAsk("codex");
    expect(await ask("shell", { command: "ls", workdir: folder })).toMatch(/may expand/);
  });
});
