import { Command } from "@commander-js/extra-typings";
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { type Client, unwrap } from "../../server/client.ts";
import { type Workspace, WorkspaceId } from "../../server/workspaces/schema.ts";
import { connect } from "../daemon/connect.ts";
import { createLoginLink, showLink } from "../daemon/dashboard_link.ts";
import { CliError, EXIT } from "../errors.ts";
import { examples } from "../options.ts";
import { PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import type { Io } from "../io.ts";
import { print, printJson, say, table } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate workspace`: named groups of projects. */
export function createCommand(io: Io) {
  const workspace = new Command("workspace")
    .description("Group projects in workspaces to view them together.")
    .addHelpText("after", HELP);
  addChanging(workspace, io);
  addRemoving(workspace, io);
  addLooking(workspace, io);
  addStart(workspace, io);
  return workspace;
}

function addChanging(workspace: Command, io: Io): void {
  workspace.command("create")
    .description("Create an empty workspace.")
    .argument("<name>", "its display name")
    .requiredOption("--id <id>", "its id in commands and web addresses", checkId)
    .option("--json", "print JSON")
    .addHelpText("after", examples('gate workspace create "Web shop" --id shop'))
    .action(async (name, { id, json }) => {
      const { api } = await connect(io, { scope: "reviewer" });
      const made = await unwrap(api.workspaces.$post({ json: { id, name } }));
      if (json) return printJson(io, made);
      print(io, `Created ${id}; next: gate workspace add-project ${id} <path>`);
    });
  workspace.command("add-project")
    .description("Add the project of a folder to a workspace; registers the project if needed.")
    .argument("<id>", WORKSPACE_ID)
    .argument("<path>", "a folder with a gate.config.json")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate workspace add-project shop ~/code/shop-api"))
    .action(async (id, path, { json, passphraseStdin }) => {
      const { client: { api } } = await openReview(io, { passphraseStdin });
      const { projects } = api.workspaces[":id"];
      const root = resolve(io.cwd, path);
      const changed = await unwrap(projects.$post({ param: { id }, json: { root } }));
      showChanged(io, changed, json);
    });
}

function addRemoving(workspace: Command, io: Io): void {
  workspace.command("remove-project")
    .description("Remove a project from a workspace; the project itself stays registered.")
    .argument("<id>", WORKSPACE_ID)
    .argument("<project>", "the project's id or folder")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate workspace remove-project shop shop-api"))
    .action(async (id, named, { json }) => {
      const client = await connect(io, { scope: "reviewer" });
      const one = client.api.workspaces[":id"];
      const { project_ids } = await unwrap(one.$get({ param: { id } }));
      const project_id = project_ids.includes(named) ? named : await idOf(io, client, named);
      const param = { id, project_id };
      showChanged(io, await unwrap(one.projects[":project_id"].$delete({ param })), json);
    });
  workspace.command("remove")
    .description("Remove a workspace; its projects stay registered.")
    .argument("<id>", WORKSPACE_ID)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate workspace remove shop"))
    .action(async (id, { json }) => {
      const { api } = await connect(io, { scope: "reviewer" });
      const removed = await unwrap(api.workspaces[":id"].$delete({ param: { id } }));
      if (json) printJson(io, removed);
      else print(io, `Removed ${visibleLine(id)}; its projects are still registered.`);
    });
}

function addLooking(workspace: Command, io: Io): void {
  workspace.command("list")
    .description("List the workspaces.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate workspace list"))
    .action(async ({ json }) => {
      const { api } = await connect(io, { scope: "viewer" });
      const { items } = await unwrap(api.workspaces.$get());
      if (json) return printJson(io, items);
      if (items.length === 0) {
        return print(
          io,
          'There is no workspace. Create one: gate workspace create "<name>" --id <id>',
        );
      }
      print(io, table(items.map((one) => [one.id, visibleLine(one.name), projectsOf(one)])));
    });
  workspace.command("show")
    .description("Show one workspace, with the held actions of its projects.")
    .argument("<id>", WORKSPACE_ID)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate workspace show shop"))
    .action(async (id, { json }) => {
      const { api } = await connect(io, { scope: "viewer" });
      const found = await unwrap(api.workspaces[":id"].$get({ param: { id } }));
      const { items } = await unwrap(api.hub.projects.$get());
      const projects = items.filter(({ workspace_ids }) => workspace_ids.includes(id));
      if (json) return printJson(io, { ...found, projects });
      print(io, `${found.id}: ${visibleLine(found.name)}, ${projectsOf(found)}`);
      const rows = projects.map(({ id, pending_count, roots }) => [
        `  ${visibleLine(id)}`,
        `${pending_count} held`,
        roots.map(visibleLine).join(", "),
      ]);
      if (rows.length > 0) print(io, table(rows));
    });
}

function addStart(workspace: Command, io: Io): void {
  workspace.command("start")
    .description("Open the dashboard on a workspace; starts the daemon if it does not run.")
    .argument("<id>", WORKSPACE_ID)
    .option("--no-open", "only print the login link; it works once, within a minute")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      examples("gate workspace start shop", "gate workspace start shop --no-open"),
    )
    .action(async (id, { open, json }) => {
      const client = await connect(io, { scope: "reviewer" });
      const found = await unwrap(client.api.workspaces[":id"].$get({ param: { id } }));
      const url = await createLoginLink(client, found.id);
      if (json) return printJson(io, { ...found, url });
      say(io, `${found.id}: ${visibleLine(found.name)}, ${projectsOf(found)}`);
      await showLink(io, url, open);
    });
}

function checkId(given: string): string {
  const { success, data } = WorkspaceId.safeParse(given);
  if (success) return data;
  throw new CliError(
    `Cannot use the id "${given}": it takes 1 to 64 letters, digits, ".", "-" or "_"`,
    { next: 'gate workspace create "Web shop" --id shop', exit: EXIT.usage },
  );
}

/** The id of the project in a folder; the folder need not exist any more. */
async function idOf(io: Io, client: Client, named: string): Promise<string> {
  const path = resolve(io.cwd, named);
  let root = path;
  try {
    root = realpathSync(path);
  } catch {
    // A deleted folder is compared by its path as typed.
  }
  const { items } = await unwrap(client.api.hub.projects.$get());
  return items.find(({ roots }) => roots.includes(root))?.id ?? named;
}

function showChanged(io: Io, workspace: Workspace, json: true | undefined): void {
  if (json) printJson(io, workspace);
  else print(io, `${workspace.id}: ${projectsOf(workspace)}`);
}

function projectsOf({ project_ids }: Workspace): string {
  return project_ids.length === 0 ? "no project yet" : project_ids.map(visibleLine).join(", ");
}

const WORKSPACE_ID = "the workspace's id, from gate workspace list";

const HELP = `
Examples:
  gate workspace create "Web shop" --id shop
  gate workspace add-project shop ~/code/shop-api
  gate workspace start shop
`;
