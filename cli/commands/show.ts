import { Command } from "@commander-js/extra-typings";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { checkShown } from "../../server/actions/show/check_shown.ts";
import { unwrap } from "../../server/client.ts";
import { isEditable } from "../actions/edit.ts";
import { openAction, parseIdPrefix } from "../actions/find.ts";
import { actionCard } from "../actions/view.ts";
import { openConnection } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { ACTION_ID, examples } from "../options.ts";
import { typedWalls } from "../sandbox/walls.ts";
import { print, printJson, say } from "../terminal/output.ts";

/** `gate show <id>`: one action in full. */
export function createCommand(io: Io) {
  return new Command("show")
    .description("Show one action in full: its input, its changes, its rule and its risk.")
    .argument("<id>", ACTION_ID, parseIdPrefix)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate show 0199a1b2", "gate show 0199a1b2 --json"))
    .action(async (id, { json }) => {
      const { one, param } = await openAction(await openConnection(io, { scope: "viewer" }), id);
      const detail = await unwrap(one.$get({ param }));
      if (json) printJson(io, detail);
      else print(io, actionCard(io, detail, Date.now()));
      if (detail.status === "pending") await checkShown(detail);
      if (json) return;
      if (detail.status === "pending") say(io, `\n${nextCommands(detail).join("\n")}`);
    });
}

/** The next commands to type, without those that would be refused. */
function nextCommands(detail: ActionDetail): string[] {
  const { id, obstacle, base, taken_from, files } = detail;
  const reject = `  gate reject ${id} --reason '…'`;
  if (obstacle !== null) return [reject];
  const approve = `  gate approve ${id}`;
  const rebase = base ? " --rebase" : "";
  const edit = isEditable(detail) ? [`${approve} --edit${rebase}`] : [];
  const open = typedWalls(detail.walls ?? []).map((wall) => `${approve} --open ${wall}`);
  const take = taken_from && (files?.length ?? 0) > 1 ? [`${approve} --take <path…>`] : [];
  if (!base || base.rebased) return [`${approve}${rebase}`, ...edit, ...take, ...open, reject];
  return ["  gate dashboard", reject]; // merging needs both texts side by side
}
