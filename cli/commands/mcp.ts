import { Command } from "@commander-js/extra-typings";
import { serveStdio } from "../../server/mcp/stdio.ts";
import { selfWords } from "../../server/runtime/self.ts";
import { runCommand } from "../../server/runtime/spawn.ts";
import { openConnection } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { userHome } from "../home.ts";

/** `gate mcp`: the MCP server that an agent's host starts. */
export function createCommand(io: Io) {
  return new Command("mcp")
    .description("Serve MCP on standard input and output; agents' hosts start this.")
    .option("--project <id>", "serve this project only, as entries of the old shape do")
    .addHelpText("after", HELP)
    .action(async ({ project }) => await serve(io, project));
}

async function serve(io: Io, project: string | undefined): Promise<void> {
  const stop = new AbortController();
  const unhear = io.onSignal(() => stop.abort());
  try {
    await serveStdio({
      connect: () => openConnection(io, { scope: "agent" }),
      run: runCommand,
      program: () => selfWords(io.env),
      input: io.stdin,
      output: io.stdout,
      env: io.env,
      cwd: io.cwd,
      user_home: userHome(io),
      project,
      stop: stop.signal,
      now: Date.now,
      id: () => crypto.randomUUID(),
      log: (message) => io.stderr.write(`gate mcp: ${message}\n`),
    });
  } finally {
    unhear();
  }
}

const HELP = `
The project is found when a tool is called: from the call's own argument, the host's workspace or
root, CLAUDE_PROJECT_DIR, or the folder it was started in.

Example, as a host's configuration has it:
  { "mcpServers": { "gate": { "command": "gate", "args": ["mcp"] } } }
`;
