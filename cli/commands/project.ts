import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import { setOverrideTrust } from "../../server/config/trust.ts";
import { connect } from "../daemon/connect.ts";
import { examples } from "../help.ts";
import type { Io } from "../io.ts";
import { placeOf } from "../place.ts";
import { print, printJson, table } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate project`: the projects this machine's gate knows. */
export function createCommand(io: Io) {
  const project = new Command("project").description("The projects this machine's gate knows.")
    .addHelpText("after", examples("gate project list", "gate project remove old-app"));
  project.command("list")
    .description("List them with what waits in each.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate project list", "gate project list --json"))
    .action(async ({ json }) => {
      const client = await connect(io, { scope: "viewer" });
      const { items } = await unwrap(client.api.hub.projects.$get());
      if (json) return printJson(io, items);
      if (items.length === 0) return print(io, "No project is registered: gate init");
      const rows = items.map(({ id, pending_count, roots }) => [
        visibleLine(id),
        `${pending_count} waiting`,
        roots.map(visibleLine).join(", "),
      ]);
      print(io, table(rows));
    });
  addChanging(project, io);
  return project;
}

function addChanging(project: Command, io: Io): void {
  project.command("remove")
    .description("Forget a project; its ledger and its files stay where they are.")
    .argument("<id>", "as gate project list shows it")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate project remove old-app"))
    .action(async (id, { json }) => {
      const client = await connect(io, { scope: "reviewer" });
      const removed = await unwrap(client.api.hub.projects[":id"].$delete({ param: { id } }));
      if (json) printJson(io, removed);
      else print(io, `Forgot ${visibleLine(id)}; gate init in its folder brings it back.`);
    });
  project.command("trust-override")
    .description("Let the project's overrideGlobal replace this machine's rules.")
    .argument("<id>", "as gate project list shows it")
    .option("--revoke", "trust it no longer")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      examples("gate project trust-override web", "gate project trust-override web --revoke"),
    )
    .action((id, { revoke, json }) => {
      const said = trustOverride(io, id, !revoke);
      if (json) printJson(io, { id, trusted: !revoke });
      else print(io, said);
    });
}

function trustOverride(io: Io, id: string, trusted: boolean): string {
  setOverrideTrust(placeOf(io).home, id, trusted);
  const shown = visibleLine(id);
  return trusted
    ? `The override of ${shown} is trusted; to end that: gate project trust-override ${shown} --revoke`
    : `This machine's rules hold for ${shown} again.`;
}
