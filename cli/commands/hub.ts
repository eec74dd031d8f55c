import { Command } from "@commander-js/extra-typings";
import { type Client, ProblemError, unwrap } from "../../server/client.ts";
import type { MovedLedger, SharingMachine, StorageView } from "../../server/projects/schema.ts";
import { acceptChanges, openChanges, showChange } from "../config/accept.ts";
import { connect, type Connection, scopedClient } from "../daemon/connect.ts";
import { CliError, EXIT } from "../errors.ts";
import { beginFreshHome } from "../hub/fresh_home.ts";
import { examples } from "../options.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { chooseProject } from "../project.ts";
import { PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview, Prover } from "../proof/prover.ts";
import { paint, print, printJson, say, table } from "../terminal/output.ts";
import { withSpinner } from "../terminal/prompts.ts";
import { visibleLine } from "../terminal/visible.ts";
import { writeHeads } from "../witness/memory.ts";

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
    .option("--shared", "use the ledger that other machines have there; this one is set aside")
    .option("--fresh-home", "with --shared: put a home that has keys of its own aside first")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", JOIN_HELP)
    .action(async ({ project, shared, freshHome, json, passphraseStdin }) => {
      if (freshHome && !shared) {
        throw new CliError("Cannot use --fresh-home: it is only for --shared", {
          next: "gate hub join --shared --fresh-home",
          exit: EXIT.usage,
        });
      }
      const prover = new Prover(io, { passphraseStdin });
      const reconnect = () => openReview(io, { prover });
      const connection = await reconnect();
      const { client } = connection;
      const id = await chooseProject(io, client, project);
      announceMove(io, id, "to", await unwrap(client.api.hub.storage.$get()));
      const join = (by: Connection) => joinShared(io, scopedClient(by, id), { id, json });
      const moved = !shared
        ? await whileMoving(
          io,
          json,
          () => unwrap(client.api.hub.projects[":id"].server.$put({ param: { id }, query: {} })),
        )
        : await join(connection).catch(async (error) => {
          if (!freshHome || !hasOwnKeys(error)) throw error;
          return await join(await beginFreshHome(io, client, reconnect));
        });
      conclude(io, moved, json);
    });
  hub.command("leave")
    .description("Move a project's ledger back to this machine, or leave it to the other machines.")
    .option("--project <id>", "the project (default: the project of this folder)")
    .option("--whole", "take the ledger away from the other machines")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate hub leave", "gate hub leave --project web"))
    .action(async ({ project, whole, json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin });
      const param = { id: await chooseProject(io, client, project) };
      announceMove(io, param.id, "from", await unwrap(client.api.hub.storage.$get()));
      const query = whole ? { whole: "true" as const } : {};
      const moved = await whileMoving(
        io,
        json,
        () => unwrap(client.api.hub.projects[":id"].server.$delete({ param, query })),
      );
      conclude(io, moved, json);
    });
  return hub;
}

/** Waits for the daemon, which needs seconds or minutes for a move. */
function whileMoving<T>(io: Io, json: true | undefined, move: () => Promise<T>): Promise<T> {
  return json ? move() : withSpinner(io, "Moving the ledger", move);
}

/** Whether the daemon refuses to join because this home has keys of its own. */
function hasOwnKeys(error: unknown): boolean {
  return error instanceof ProblemError && error.problem["keys"] === "own";
}

/**
 * Joins the ledger of other machines. A home without keys takes over theirs at the first attempt. Then
 * its person accepts the waiting configs with one of them, which the second attempt requires.
 */
async function joinShared(
  io: Io,
  client: Client,
  { id, json }: { id: string; json: true | undefined },
): Promise<MovedLedger> {
  const { hub, proof, config } = client.api;
  const query = { shared: "true" as const };
  const join = () =>
    whileMoving(io, json, () => unwrap(hub.projects[":id"].server.$put({ param: { id }, query })));
  const before = await unwrap(proof.$get());
  try {
    return await join();
  } catch (error) {
    const { enrolled } = await unwrap(proof.$get());
    const hasNewKeys = before.enrolled.length === 0 && enrolled.length > 0;
    const changes = hasNewKeys ? openChanges(await unwrap(config.$get())) : [];
    if (changes.length === 0) throw error;
    say(
      io,
      "This home has the keys of the other machines now. Prove these configs with one of them:",
    );
    if (!json) { for (const change of changes) showChange(io, change); }
    await acceptChanges(io, client, changes);
    return await join();
  }
}

const JOIN_HELP = `
With --shared the home takes over the keys of the other machines, so it must have none of its own.
A new home, on the joining machine:
  1. gate global-config init and gate global-config edit, before the daemon's first start
  2. gate init in the project, without gate proof set
  3. gate hub join --shared with the passphrase of the other machines; it also accepts the configs
A home with keys of its own: gate hub join --shared --fresh-home. It moves the whole home aside,
begins an empty one with the same global config and projects, and joins. Nothing is deleted. The
other projects begin with empty ledgers; team and routes stay in the old home.
${examples("gate hub join", "gate hub join --shared --project web")}`;

const HELP = `
The server is "storage" of the global config (gate global-config edit):
  "storage": {"url": "https://{project}.ledgers.example.com", "authTokenEnv": "LEDGER_TOKEN"}
Each project needs a database of its own; {project} stands for its id. Several machines can share
one ledger: the first moves it there, the others join with --shared. Actions are executed on the
machine of their agent, and every machine can approve them.

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
  const { project_id, place, url, rows, events, ok, problem, shared_with } = moved;
  const id = visibleLine(project_id);
  const is_other = rows === 0 && shared_with.length > 0;
  if (!ok) {
    const why = `its chain does not verify there: ${visibleLine(problem ?? "")}`;
    throw new CliError(`The ledger of ${id} was moved, and ${why}`, { next: "gate audit verify" });
  }
  // The ledger that counts here now does not hold what this terminal has seen of the one before.
  if (is_other) writeHeads(io, placeOf(io).home, { gone: [project_id] });
  if (json) return printJson(io, moved);
  const others = shared_with.map(visibleLine).join(", ");
  const text = place === "here" && others !== ""
    ? `This machine has left the ledger of ${id}; ${others} go on with it, and ledger.db counts here.`
    : `The ledger of ${id} is ${
      place === "here"
        ? `on this machine again; ${url} keeps a copy of this moment`
        : others === ""
        ? `on ${url} now; ledger.db stays here as a copy of this moment`
        : `on ${url}, shared with ${others}; what this machine used before is set aside`
    }.`;
  print(io, `${paint(io, "green", "✓")} ${text}`);
  print(io, `  ${events} events, the hash chain is intact`);
  const isLeft = is_other && place === "here";
  if (isLeft) print(io, "  A config may wait to be accepted for this ledger: gate config show");
}

function statusText(
  io: Io,
  { url, waiting_url, token_env, token_is_set, ledgers }: StorageView,
): string {
  const token = token_env === null
    ? "no token"
    : `token in ${token_env}${token_is_set ? "" : ", which is not set"}`;
  const server = url === null
    ? waiting_url === null
      ? "No server: the accepted global config has no storage.url."
      : `No server: a person must accept ${visibleLine(waiting_url)}: gate config accept`
    : `${visibleLine(url)}  ${token}`;
  const rows = ledgers.flatMap(({ project_id, place, url, problem, machines }) => [
    [
      visibleLine(project_id),
      place === "here" ? "on this machine" : visibleLine(url ?? "on a server"),
      problem === null ? "" : paint(io, "red", visibleLine(problem)),
    ],
    ...(machines ?? []).map((one) => ["", `  ${machineText(one)}`, ""]),
  ]);
  return rows.length > 0 ? `${server}\n${table(rows)}` : server;
}

function machineText({ name, version, is_this, is_connected, lag }: SharingMachine): string {
  const state = is_this
    ? "this machine"
    : is_connected
    ? lag === 0 ? "connected" : `connected, ${lag} events behind`
    : "not connected";
  return `${visibleLine(name)}  gate ${visibleLine(version)}  ${state}`;
}
