import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Io } from "./io.ts";

/** One command: what the help of `gate` says of it, and how to load the rest. */
export interface CommandEntry {
  name: string;
  summary: string;
  group: string;
  load: () => Promise<{ createCommand: (io: Io, tree: Tree) => CommandUnknownOpts }>;
}

/** The program with those commands loaded, for commands that tell of the others. */
export type Tree = (isMeant: (name: string) => boolean) => Promise<CommandUnknownOpts>;

/** The group of what programs call and no person types. */
export const HIDDEN = "Hidden:";

const SET_UP = "Set up:";
const RUN = "The gate itself:";
const AGENTS = "For agents:";
const DECIDE = "Decide:";
const LOOK = "Look:";
const HELP = "Help:";

/** Every command, in the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "demo",
    summary: "See a hold, an approval, a block and a rollback in a minute",
    group: SET_UP,
    load: () => import("./commands/demo.ts"),
  },
  {
    name: "init",
    summary: "Put the project in this folder behind the gate",
    group: SET_UP,
    load: () => import("./commands/init.ts"),
  },
  {
    name: "global-setup",
    summary: "Register gate in the agent hosts of this machine",
    group: SET_UP,
    load: () => import("./commands/global_setup.ts"),
  },
  {
    name: "cleanup-mcp",
    summary: "Remove the agent hosts' old entries of single projects",
    group: SET_UP,
    load: () => import("./commands/cleanup_mcp.ts"),
  },
  {
    name: "update-instructions",
    summary: "Tell agents of the gate in the project's instruction files",
    group: SET_UP,
    load: () => import("./commands/update_instructions.ts"),
  },
  {
    name: "global-config",
    summary: "Rules for every project of this machine",
    group: SET_UP,
    load: () => import("./commands/global_config.ts"),
  },
  {
    name: "project",
    summary: "The projects this machine's gate knows",
    group: SET_UP,
    load: () => import("./commands/project.ts"),
  },
  {
    name: "workspace",
    summary: "Named sets of projects, to look at together",
    group: SET_UP,
    load: () => import("./commands/workspace.ts"),
  },
  {
    name: "daemon",
    summary: "The one server of this machine",
    group: RUN,
    load: () => import("./commands/daemon.ts"),
  },
  {
    name: "service",
    summary: "Start the daemon at login",
    group: RUN,
    load: () => import("./commands/service.ts"),
  },
  {
    name: "start",
    summary: "Serve this folder's project alone, on its own port",
    group: RUN,
    load: () => import("./commands/start.ts"),
  },
  {
    name: "status",
    summary: "The daemon, this folder's project and what waits",
    group: RUN,
    load: () => import("./commands/status.ts"),
  },
  {
    name: "doctor",
    summary: "What is not as it should be, and what mends it",
    group: RUN,
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "dashboard",
    summary: "Open the dashboard, logged in",
    group: RUN,
    load: () => import("./commands/dashboard.ts"),
  },
  {
    name: "token",
    summary: "Print the credential of a scope",
    group: RUN,
    load: () => import("./commands/token.ts"),
  },
  {
    name: "prompt",
    summary: "How many actions wait, for a shell prompt",
    group: RUN,
    load: () => import("./commands/prompt.ts"),
  },
  {
    name: "mcp",
    summary: "Serve MCP on standard input and output; agents' hosts start this",
    group: AGENTS,
    load: () => import("./commands/mcp.ts"),
  },
  {
    name: "hook",
    summary: "Answer one hook of an agent's host; hosts start this",
    group: AGENTS,
    load: () => import("./commands/hook.ts"),
  },
  {
    name: "pending",
    summary: "List what waits for you",
    group: DECIDE,
    load: () => import("./commands/pending.ts"),
  },
  {
    name: "show",
    summary: "Show one action, whole",
    group: DECIDE,
    load: () => import("./commands/show.ts"),
  },
  {
    name: "approve",
    summary: "Let it happen",
    group: DECIDE,
    load: () => import("./commands/approve.ts"),
  },
  {
    name: "reject",
    summary: "Refuse it, with a reason",
    group: DECIDE,
    load: () => import("./commands/reject.ts"),
  },
  {
    name: "grant",
    summary: "Decisions that are remembered, and their end",
    group: DECIDE,
    load: () => import("./commands/grant.ts"),
  },
  {
    name: "rollback",
    summary: "Put back what was there before",
    group: DECIDE,
    load: () => import("./commands/rollback.ts"),
  },
  {
    name: "watch",
    summary: "Decide on things as they come",
    group: DECIDE,
    load: () => import("./commands/watch.ts"),
  },
  {
    name: "log",
    summary: "What agents asked for and what came of it",
    group: LOOK,
    load: () => import("./commands/log.ts"),
  },
  {
    name: "session",
    summary: "What one connection of an agent did, and its undoing",
    group: LOOK,
    load: () => import("./commands/session.ts"),
  },
  {
    name: "policy",
    summary: "Ask what the rules say",
    group: LOOK,
    load: () => import("./commands/policy.ts"),
  },
  {
    name: "audit",
    summary: "Check or export the tamper-evident log",
    group: LOOK,
    load: () => import("./commands/audit.ts"),
  },
  {
    name: "api",
    summary: "One request to the HTTP API",
    group: LOOK,
    load: () => import("./commands/api.ts"),
  },
  {
    name: "completion",
    summary: "Make the shell complete gate's commands",
    group: HELP,
    load: () => import("./commands/completion.ts"),
  },
  {
    name: "man",
    summary: "The manual page, for man",
    group: HELP,
    load: () => import("./commands/man.ts"),
  },
  {
    name: "complete",
    summary: "What completes a command line; the shell's completion asks this",
    group: HIDDEN,
    load: () => import("./commands/complete.ts"),
  },
  {
    name: "scenario",
    summary: "Adversarial test scenarios, and what a target makes of them",
    group: "Test:",
    load: () => import("./commands/scenario.ts"),
  },
];
