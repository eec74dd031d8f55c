import { Command } from "@commander-js/extra-typings";
import { serveStdio } from "../../server/mcp/stdio.ts";
import { identify, OWN_PID } from "../../server/runtime/processes.ts";
import { selfWords } from "../../server/runtime/self.ts";
import { runCommand } from "../../server/runtime/spawn.ts";
import { WaitingSandbox } from "../../server/runtime/waiting_sandbox.ts";
import { openConnection } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { userHome } from "../home.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate mcp`: the MCP server that an agent host starts. */
export function createCommand(io: Io) {
  return new Command("mcp")
    .description("Serve MCP on standard input and output. Agent hosts start this command.")
    .option("--project <id>", "serve only this project, for host entries of a single project")
    .addHelpText("after", HELP)
    .action(async ({ project }) => await serve(io, project));
}

async function serve(io: Io, project: string | undefined): Promise<void> {
  const stop = new AbortController();
  const stopListening = io.onSignal(() => stop.abort());
  const waiting = new WaitingSandbox();
  try {
    await serveStdio({
      connect: () => openConnection(io, { scope: "agent" }),
      run: (command, order) => runCommand(command, { ...order, waiting }),
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
      identity: () => identify(OWN_PID),
      log: (message) => io.stderr.write(`gate mcp: ${visibleLine(message)}\n`),
    });
  } finally {
    stopListening();
    waiting.close();
  }
}

const HELP = `
gate finds the project at each tool call. It takes the first of: the call's project argument, the
host's workspace, its root, CLAUDE_PROJECT_DIR, the folder in which the host started gate mcp.

Example of a host's configuration:
  { "mcpServers": { "gate": { "command": "gate", "args": ["mcp"] } } }
`;
