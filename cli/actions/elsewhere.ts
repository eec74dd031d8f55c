import type { ActionDetail } from "../../server/actions/schema.ts";
import { unwrap } from "../../server/client.ts";
import type { Connection } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { paint, say } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

type Seen = Pick<ActionDetail, "machine" | "status" | "execution" | "command" | "project_id">;

/** Whether another machine has to execute an approved file change, and has not begun. */
export function waitsElsewhere({ machine, status, execution, command }: Seen): boolean {
  return machine !== null && command === null && status === "approved" && execution === "none";
}

/** Says on stderr that the machine of the agent has not executed an approved action, and why. */
export async function sayElsewhere(
  io: Io,
  { client }: Pick<Connection, "client">,
  action: Seen,
): Promise<void> {
  const { machine, status, execution, project_id } = action;
  if (machine === null || status !== "approved" || execution !== "none") return;
  const { ledgers } = await unwrap(client.api.hub.storage.$get());
  const sharing = ledgers.find((one) => one.project_id === project_id)?.machines ?? [];
  const name = visibleLine(machine);
  if (sharing.some((one) => one.name === machine && one.is_connected)) {
    return say(io, `  its agent works on ${name}, and that machine has not executed it yet`);
  }
  const away = `its agent works on ${name}, and that machine is not connected now`;
  say(
    io,
    `${paint(io, "yellow", `  ${away}`)}\n  it executes the action when gate runs there again`,
  );
}
