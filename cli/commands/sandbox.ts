import { Command } from "@commander-js/extra-typings";
import { type Client, unwrap } from "../../server/client.ts";
import type { Policies } from "../../server/policy/schema.ts";
import type { OpenWall, SandboxView } from "../../server/sandbox/schema.ts";
import { describeSandbox, describeWall } from "../../server/actions/show/sandbox_text.ts";
import { isOpenIn, withWalls } from "../../server/actions/review/wall_rules.ts";
import { readIdPrefix } from "../actions/find.ts";
import { scopedClient } from "../daemon/connect.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { type Io, isInteractive } from "../io.ts";
import { examples } from "../options.ts";
import { replayPolicies } from "../policy/replay.ts";
import { chooseProject, openProject } from "../project.ts";
import { PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { parseWall } from "../sandbox/walls.ts";
import { paint, print, printJson, say } from "../terminal/output.ts";
import { isConfirmed } from "../terminal/prompts.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate sandbox`: shows the sandbox of commands, and opens or closes its walls. */
export function createCommand(io: Io) {
  const sandbox = new Command("sandbox").description(
    "Show the sandbox that commands run in, or open and close its walls.",
  );
  sandbox.command("show")
    .description("Show the engine, what commands get, and the walls that people opened.")
    .option("--project <id>", "the project (default: the project of this folder)")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate sandbox show", "gate sandbox show --json"))
    .action(async ({ project, json }) => {
      const client = await openProject(io, project);
      const view = await unwrap(client.api.sandbox.$get());
      if (json) printJson(io, view);
      else print(io, describe(view));
    });
  sandbox.command("open")
    .description("Open a wall for every command by a rule, after showing its impact.")
    .argument("<wall>", "host:<name>[:port] or write:<folder>", parseWall)
    .option("--since <time>", "the history that shows the impact, such as 12h or 30d", "30d")
    .option("--yes", "write the rule without a question")
    .option("--project <id>", "the project (default: the project of this folder)")
    .option("--json", "print JSON: the wall, and whether it is open now")
    .option(...PASSPHRASE_STDIN)
    .addHelpText("after", examples("gate sandbox open host:registry.example"))
    .action(async (wall, { since, yes, project, passphraseStdin, json }) => {
      if (!yes && !isInteractive(io)) throw unasked();
      const connection = await openReview(io, { passphraseStdin });
      const id = await chooseProject(io, connection.client, project);
      await openByRule(io, scopedClient(connection, id), { wall, since, yes, json });
    });
  sandbox.command("close")
    .description("Close walls that a person opened for a session.")
    .argument("<id>", "the id that gate sandbox show prints, or its first digits", parseOpeningId)
    .option("--project <id>", "the project (default: the project of this folder)")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate sandbox close 0199a1b2"))
    .action(async (prefix, { project, json }) => {
      const client = await openProject(io, project);
      const id = await findId(client, prefix);
      const closed = await unwrap(client.api.sandbox.openings[":id"].$delete({ param: { id } }));
      if (json) printJson(io, closed);
      else print(io, `${paint(io, "green", "✓")} closed: ${listOf(closed.walls)}`);
    });
  return sandbox.addHelpText("after", HELP);
}

function parseOpeningId(typed: string): string {
  return readIdPrefix(typed, "the id of an open wall", "gate sandbox show");
}

async function findId(client: Client, prefix: string): Promise<string> {
  if (prefix.length === 36) return prefix;
  const { openings } = await unwrap(client.api.sandbox.$get());
  const found = openings.filter(({ id }) => id.startsWith(prefix));
  if (found.length === 1) return found[0]!.id;
  const why = found.length === 0
    ? `no opening's id begins with "${prefix}"`
    : `the ids of ${found.length} openings begin with "${prefix}"`;
  throw new CliError(`Cannot find the open wall: ${why}`, { next: "gate sandbox show" });
}

function unasked(): CliError {
  return new CliError("Cannot ask for a confirmation: there is no terminal; add --yes", {
    next: "gate sandbox open --help",
    exit: EXIT.usage,
  });
}

/** Writes the wall into the project's policies. The effect on the recorded actions is shown first. */
async function openByRule(
  io: Io,
  client: Client,
  { wall, since, yes, json }: { wall: OpenWall; since: string; yes?: true; json?: true },
): Promise<void> {
  const { config, etag } = await unwrap(client.api.config.$get());
  const policies = policiesWith(config.policies?.sandbox, wall);
  const impact = await replayPolicies(io, client, { policies, since });
  if (!json) print(io, impact);
  const question = `Open ${visibleLine(describeWall(wall))} for every command in the sandbox?`;
  if (!yes && !await isConfirmed(io, question)) throw new Exit(EXIT.failed);
  await unwrap(
    client.api.config.policies.$put({ json: policies }, { headers: { "If-Match": etag } }),
  );
  const { effective } = await unwrap(client.api.config.$get());
  const is_open = isOpenIn(effective.sandbox, wall);
  if (json) printJson(io, { wall, is_open });
  else say(io, is_open ? "Written into sandbox of the config." : NARROWED);
}

const NARROWED =
  "Written into sandbox of the config. Another config names fewer hosts or folders, so it stays closed.";

/** @throws CliError for a wall that no rule opens */
function policiesWith(known: Policies["sandbox"], wall: OpenWall): Policies {
  const policies = withWalls(known, [wall]);
  if (policies !== null) return policies;
  throw new CliError("Cannot open a file of the home folder by a rule: open it in an approval", {
    next: "gate approve <id> --open read:<file> --for session",
    exit: EXIT.usage,
  });
}

function listOf(walls: readonly OpenWall[]): string {
  return visibleLine(walls.map(describeWall).join(", "));
}

function describe({ engine, mode, sandbox, openings }: SandboxView): string {
  const lines = [
    engine ? `Engine: ${engine.name} ${engine.version}` : "Engine: none; run gate doctor",
    `Mode: ${mode}`,
    ...sandbox ? [`Commands get: ${visibleLine(describeSandbox(sandbox))}`] : [],
    ...sandbox ? [`They write: ${visibleLine(sandbox.writable.join(", "))}`] : [],
  ];
  for (const { id, walls, opened_by, session_id } of openings) {
    lines.push(
      `${id}  ${listOf(walls)}  for session ${session_id}, by ${visibleLine(opened_by)}`,
    );
  }
  if (openings.length === 0) lines.push("No wall is open beside the policy.");
  return lines.join("\n");
}

const HELP = `
A person opens a wall once or for a session in an approval, and for good by a rule.

Examples:
  gate sandbox show
  gate approve 0199a1b2 --open host:registry.example --for session
  gate sandbox open host:registry.example
  gate sandbox close 0199a1c3
`;
