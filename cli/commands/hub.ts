import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import type { MovedLedger, StorageView } from "../../server/projects/schema.ts";
import { connect } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import { examples } from "../options.ts";
import type { Io } from "../io.ts";
import { chooseProject } from "../project.ts";
import { PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { paint, print, printJson, say, table } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate hub`: where the ledgers of projects are. */
export function createCommand(io: Io) {
  const hub = new Command("hub").description(
    "Keep a project's ledger on a libSQL server, or show where the ledgers are.",
  ).addHelpText("after", HELP);
  hub.command("status")
    .description("Show the server of the global config and the place of each ledger.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate hub status"))
    .action(async ({ json }) => {
      const client = await connect(io, { scope: "viewer" });
      const view = await unwrap(client.api.hub.storage.$get());
      if (json) printJson(io, view);
      else print(io, statusText(io, view));
    });
  hub.command("join")
    .description("Move a project's ledger to the server of the global config.")
    .option("--project <id>", "the project (default: the project of this folder)")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate hub join", "gate hub join --project web"))
    .action(async ({ project, json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin });
      const param = { id: await chooseProject(io, client, project) };
      announceMove(io, param.id, "to", await unwrap(client.api.hub.storage.$get()));
      const moved = await unwrap(client.api.hub.projects[":id"].server.$put({ param }));
      conclude(io, moved, json);
    });
  hub.command("leave")
    .description("Move a project's ledger from its server back to this machine.")
    .option("--project <id>", "the project (default: the project of this folder)")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate hub leave", "gate hub leave --project web"))
    .action(async ({ project, json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin });
      const param = { id: await chooseProject(io, client, project) };
      announceMove(io, param.id, "from", await unwrap(client.api.hub.storage.$get()));
      const moved = await unwrap(client.api.hub.projects[":id"].server.$delete({ param }));
      conclude(io, moved, json);
    });
  return hub;
}

const HELP = `
The server is "storage" of the global config (gate global-config edit):
  "storage": {"url": "https://{project}.ledgers.example.com", "authTokenEnv": "LEDGER_TOKEN"}
Each project needs a database of its own; {project} stands for its id. One gate, on one machine,
uses a ledger: gate does not let several machines share one.

Example:
  gate hub status`;

/** Shows the address before the passphrase is asked for: the person proves a move with this server. */
function announceMove(io: Io, id: string, way: "to" | "from", view: StorageView): void {
  const joined = view.ledgers.find(({ project_id }) => project_id === id)?.url ?? null;
  const target = view.url?.replaceAll("{project}", id.toLowerCase()) ?? null;
  const url = way === "to" ? target : joined;
  // Without an address the daemon refuses the move, and says why.
  if (url === null || way === "to" && joined !== null) return;
  say(io, `Moving the ledger of ${visibleLine(id)} ${way} ${visibleLine(url)}`);
}

function conclude(io: Io, moved: MovedLedger, json: true | undefined): void {
  const { project_id, place, url, events, ok, problem } = moved;
  const id = visibleLine(project_id);
  if (!ok) {
    const why = `its chain does not verify there: ${visibleLine(problem ?? "")}`;
    throw new CliError(`The ledger of ${id} was moved, and ${why}`, { next: "gate audit verify" });
  }
  if (json) return printJson(io, moved);
  const where = place === "server"
    ? `on ${url} now; ledger.db stays here as a copy of this moment`
    : `on this machine again; ${url} keeps a copy of this moment`;
  print(io, `${paint(io, "green", "✓")} The ledger of ${id} is ${where}.`);
  print(io, `  ${events} events, the hash chain is intact`);
}

function statusText(io: Io, { url, token_env, token_is_set, ledgers }: StorageView): string {
  const token = token_env === null
    ? "no token"
    : `token in ${token_env}${token_is_set ? "" : ", which is not set"}`;
  const server = url === null
    ? "No server: the accepted global config has no storage.url."
    : `${visibleLine(url)}  ${token}`;
  const rows = ledgers.map(({ project_id, place, url, problem }) => [
    visibleLine(project_id),
    place === "here" ? "on this machine" : visibleLine(url ?? "on a server"),
    problem === null ? "" : paint(io, "red", visibleLine(problem)),
  ]);
  return rows.length > 0 ? `${server}\n${table(rows)}` : server;
}
