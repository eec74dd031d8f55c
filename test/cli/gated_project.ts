import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { openConnection } from "../../cli/daemon/connect.ts";
import type { Action } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import { decideByToken } from "../e2e/world.ts";
import { createTerminal, type Ended, type TestTerminal } from "./terminal.ts";

/** The project's config. */
export const CONFIG = {
  id: "web",
  version: "2",
  policies: {
    defaultEffect: "ask",
    sandbox: { mode: "off" },
    allowedPaths: ["src/**"],
    blockedPaths: [{ pattern: ".env", reason: "secrets stay here", alternative: "ask" }],
    allowedCommands: ["ls"],
  },
};

/** A terminal in a project with a running daemon, and an agent's actions in it. */
export interface GatedProject {
  terminal: TestTerminal;
  folder: string;
  /** Runs a command that must succeed. */
  good(...args: string[]): Promise<Ended>;
  // deno-lint-ignore no-explicit-any
  json(...args: string[]): Promise<any>;
  submit(tool: string, input: Record<string, unknown>): Promise<Action>;
  write(path: string, content: string): Promise<Action>;
  onDisk(path: string): string | null;
  close(): Promise<void>;
}

/**
 * @param proof `none` leaves the home as a new user finds it; by default the token decides
 * @param config the global config from before the first start; null without one
 */
export async function openGatedProject(
  proof: "token" | "none" = "token",
  config: object | null = null,
): Promise<GatedProject> {
  const terminal = await createTerminal();
  const home = join(terminal.folder, ".gate");
  if (proof === "token") decideByToken(home);
  if (config !== null) {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(join(home, "config.json"), JSON.stringify(config));
  }
  const folder = join(terminal.folder, "project");
  writeFileSync(join(folder, "gate.config.json"), JSON.stringify(CONFIG));
  const good = async (...args: string[]) => {
    const ended = await terminal.run(args);
    expect(ended, args.join(" ")).toMatchObject({ code: 0 });
    return ended;
  };
  const submit = async (tool: string, input: Record<string, unknown>) => {
    const around = { env: terminal.env, cwd: folder, pid: 1 };
    const { client } = await openConnection(around, { scope: "agent", start: false });
    return await unwrap(client.api.actions.$post({ json: { tool, input } }));
  };
  await good("daemon", "start");
  await good("init", "--yes");
  return {
    terminal,
    folder,
    good,
    submit,
    json: async (...args) => JSON.parse((await good(...args)).stdout),
    write: (path, content) => submit("write_file", { path, content }),
    onDisk(path) {
      const file = join(folder, path);
      return existsSync(file) ? readFileSync(file, "utf8") : null;
    },
    async close() {
      await terminal.run(["daemon", "stop"]);
      terminal.close();
    },
  };
}
