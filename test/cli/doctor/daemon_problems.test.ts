import { expect, test } from "vitest";
import { checkDaemon } from "../../../cli/doctor/daemon.ts";
import type { CheckContext } from "../../../cli/doctor/context.ts";
import { Findings } from "../../../cli/doctor/findings.ts";
import { forgedError, goneError, unpinnedWarning } from "../../../server/config/view.ts";

const root = "/home/dev/web";
const config = `${root}/gate.config.json`;
const accept = "gate config show --project web, then gate config accept --project web";

test.each([
  [`nobody has accepted what "${config}" allows, so it waits`, accept],
  [forgedError(config, "elsewhere"), accept],
  [forgedError(config, "unproved"), accept],
  [unpinnedWarning(config), accept],
  [goneError(config), "put the file back, or gate init in the project's new folder"],
  [
    'project "web": Cannot use the ledger on http://db: the server does not answer; gate asks it again',
    "start the server or its network, then gate hub status",
  ],
  [
    "it is damaged and kept: /home/dev/old db",
    "look at it, then mv '/home/dev/old db' somewhere else",
  ],
  ["another problem", "gate daemon logs"],
])("a problem of the daemon has the next step: %s", async (problem, fix) => {
  const found = new Findings("daemon");
  const daemon = { pid: 1, port: 2, problems: [problem], projects: [] };
  const projects = [{ id: "web", roots: [root], reachable: true }];
  await checkDaemon(
    { daemon: { ...daemon, projects }, refusal: null } as unknown as CheckContext,
    found,
  );
  expect(found.list.slice(1)).toMatchObject([{ level: "problem", message: problem, fix }]);
});
