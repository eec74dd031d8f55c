import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import { MACHINE_ID } from "../../server/constants.ts";
import { connect } from "../daemon/connect.ts";
import { heldIn } from "../daemon/show_status.ts";
import { examples } from "../options.ts";
import type { Io } from "../io.ts";
import { PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { print, printJson, table } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import { forgetHeads } from "../witness/witness.ts";

/** `gate project`: the registered projects. */
export function createCommand(io: Io) {
  const project = new Command("project").description("List or change the registered projects.")
    .addHelpText("after", examples("gate project list", "gate project remove old-app"));
  project.command("list")
    .description("List the projects, with the number of held actions.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate project list", "gate project list --json"))
    .action(async ({ json }) => {
      const client = await connect(io, { scope: "viewer" });
      const { items } = await unwrap(client.api.hub.projects.$get());
      if (json) return printJson(io, items);
      if (items.length === 0) return print(io, "No project is registered. Register one: gate init");
      const rows = items.map((project) => [
        visibleLine(project.id),
        `${heldIn(project)} held`,
        project.id === MACHINE_ID ? project.name : project.roots.map(visibleLine).join(", "),
      ]);
      print(io, table(rows));
    });
  addChanging(project, io);
  return project;
}

function addChanging(project: Command, io: Io): void {
  project.command("remove")
    .description("Remove a project from the list; its ledger and its files stay.")
    .argument("<id>", PROJECT_ID)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate project remove old-app"))
    .action(async (id, { json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin });
      const removed = await unwrap(client.api.hub.projects[":id"].$delete({ param: { id } }));
      forgetHeads(io, [id]);
      if (json) printJson(io, removed);
      else print(io, `Removed ${visibleLine(id)}. To add it again, run gate init in its folder.`);
    });
  project.command("trust-override")
    .description("Allow a project's overrideGlobal setting to replace the machine's rules.")
    .argument("<id>", PROJECT_ID)
    .option("--revoke", "stop allowing it")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      examples("gate project trust-override web", "gate project trust-override web --revoke"),
    )
    .action(async (id, { revoke, json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin });
      const route = client.api.hub.projects[":id"]["override-trust"];
      const param = { id };
      if (revoke) await unwrap(route.$delete({ param }));
      else await unwrap(route.$put({ param }));
      const shown = visibleLine(id);
      if (json) printJson(io, { id, trusted: !revoke });
      else if (revoke) print(io, `The machine's rules apply to ${shown} again.`);
      else {
        print(
          io,
          `gate now lets ${shown}'s overrideGlobal setting replace the machine's rules. ` +
            `To stop: gate project trust-override ${shown} --revoke`,
        );
      }
    });
}

const PROJECT_ID = "the project's id, from gate project list";
