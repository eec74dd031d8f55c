import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Io, Tree } from "./io.ts";

/** One command: its line in `gate --help`, and how to load it. */
export interface CommandEntry {
  name: string;
  summary: string;
  group: string;
  load: Load;
}

type Load = () => Promise<{ createCommand: (io: Io, tree: Tree) => CommandUnknownOpts }>;

/** The group of commands that only programs call; the help leaves them out. */
export const HIDDEN = "Hidden:";

const GROUPS: Record<string, Record<string, [summary: string, load: Load]>> = {
  "Set up:": {
    demo: [
      "Show a hold, an approval, a block and a rollback with a scripted agent (one minute)",
      () => import("./commands/demo.ts"),
    ],
    init: ["Put the project in this folder behind the gate", () => import("./commands/init.ts")],
    "global-setup": [
      "Register gate in the agent hosts of this machine",
      () => import("./commands/global_setup.ts"),
    ],
    "cleanup-mcp": [
      "Remove old per-project entries from the agent hosts",
      () => import("./commands/cleanup_mcp.ts"),
    ],
    "update-instructions": [
      "Describe gate in the project's instruction files for agents",
      () => import("./commands/update_instructions.ts"),
    ],
    "global-config": [
      "Create, show or edit the rules for every project",
      () => import("./commands/global_config.ts"),
    ],
    proof: [
      "Set or show the passphrase or passkey that approvals need",
      () => import("./commands/proof.ts"),
    ],
    team: [
      "List or change the people who may approve",
      () => import("./commands/team.ts"),
    ],
    route: [
      "List or change who approves which held actions",
      () => import("./commands/route.ts"),
    ],
    notify: [
      "Choose where gate tells people about held actions",
      () => import("./commands/notify.ts"),
    ],
    config: [
      "Show or accept changes of config files that wait for you",
      () => import("./commands/config.ts"),
    ],
    project: ["List or change the registered projects", () => import("./commands/project.ts")],
    hub: [
      "Keep a project's ledger on a libSQL server, or bring it back",
      () => import("./commands/hub.ts"),
    ],
    workspace: ["Group projects to view them together", () => import("./commands/workspace.ts")],
  },
  "Run:": {
    daemon: ["Start, stop or inspect the daemon", () => import("./commands/daemon.ts")],
    service: ["Start the daemon at login", () => import("./commands/service.ts")],
    start: [
      "Serve the API and dashboard of this folder's project on a port of its own",
      () => import("./commands/start.ts"),
    ],
    status: [
      "Show the daemon, this folder's project and the held actions",
      () => import("./commands/status.ts"),
    ],
    doctor: ["Diagnose problems and suggest fixes", () => import("./commands/doctor.ts")],
    dashboard: [
      "Open the dashboard in a browser, logged in",
      () => import("./commands/dashboard.ts"),
    ],
    token: ["Print the access token of a scope", () => import("./commands/token.ts")],
    prompt: [
      "Print the number of held actions, for a shell prompt",
      () => import("./commands/prompt.ts"),
    ],
  },
  "For agents:": {
    mcp: [
      "Serve MCP on standard input and output (started by agent hosts)",
      () => import("./commands/mcp.ts"),
    ],
    statusline: [
      "Answer as Claude Code's status line, and keep its rate limits (started by Claude Code)",
      () => import("./commands/statusline.ts"),
    ],
    hook: ["Answer one hook call (started by agent hosts)", () => import("./commands/hook.ts")],
  },
  "Review:": {
    pending: [
      "List the actions that wait for your approval",
      () => import("./commands/pending.ts"),
    ],
    show: ["Show one action in full", () => import("./commands/show.ts")],
    approve: ["Approve a held action", () => import("./commands/approve.ts")],
    reject: ["Reject a held action, with a reason", () => import("./commands/reject.ts")],
    sandbox: [
      "Show the sandbox of commands; open or close its walls",
      () => import("./commands/sandbox.ts"),
    ],
    grant: ["List or revoke remembered approvals", () => import("./commands/grant.ts")],
    rollback: [
      "Roll back an action: restore the files that it changed",
      () => import("./commands/rollback.ts"),
    ],
    watch: ["Approve or reject actions as they are held", () => import("./commands/watch.ts")],
  },
  "Inspect:": {
    log: ["List the actions of agents and their results", () => import("./commands/log.ts")],
    session: [
      "List, compare or roll back the sessions of agents",
      () => import("./commands/session.ts"),
    ],
    agents: [
      "Show the coding agents of this machine, and what they left behind",
      () => import("./commands/agents.ts"),
    ],
    policy: [
      "Test, explain or suggest rules, or replay recorded actions",
      () => import("./commands/policy.ts"),
    ],
    analytics: [
      "Sum up the decisions, and how carefully people decide",
      () => import("./commands/analytics.ts"),
    ],
    audit: ["Verify or export the tamper-evident audit log", () => import("./commands/audit.ts")],
    gc: ["Drop old file contents and outputs", () => import("./commands/gc.ts")],
    api: ["Send one request to the HTTP API", () => import("./commands/api.ts")],
  },
  "Help:": {
    completion: [
      "Print a script that makes a shell complete gate's commands",
      () => import("./commands/completion.ts"),
    ],
    man: ["Print the manual page", () => import("./commands/man.ts")],
  },
  [HIDDEN]: {
    complete: [
      "Print completions for a command line (called by shells)",
      () => import("./commands/complete.ts"),
    ],
  },
  "Test:": {
    scenario: [
      "Generate and run adversarial tests against a server or command",
      () => import("./commands/scenario.ts"),
    ],
  },
};

/** Every command, in the order of the help. */
export const COMMANDS: readonly CommandEntry[] = Object.entries(GROUPS).flatMap(
  ([group, commands]) =>
    Object.entries(commands).map(([name, [summary, load]]) => ({ name, summary, group, load })),
);
