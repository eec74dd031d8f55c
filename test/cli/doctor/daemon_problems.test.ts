import { expect, test } from "vitest";
import { checkDaemon } from "../../../cli/doctor/daemon.ts";
import type { CheckContext } from "../../../cli/doctor/context.ts";
import { Findings } from "../../../cli/doctor/findings.ts";

const daemon = { pid: 1, port: 2, projects: [] };

async function findingsOf(more: object) {
  const found = new Findings("daemon");
  const context = { daemon: { ...daemon, ...more }, refusal: null };
  await checkDaemon(context as unknown as CheckContext, found);
  return found.list.slice(1);
}

test("a problem of the daemon has the next step that the daemon names, whatever its words", async () => {
  const findings = [
    { message: "reworded", fix: "gate config accept", is_config: false },
    { message: "another problem", fix: null, is_config: false },
    { message: "a config is broken", fix: null, is_config: true },
  ];
  expect(await findingsOf({ problems: findings.map(({ message }) => message), findings }))
    .toMatchObject([
      { level: "problem", message: "reworded", fix: "gate config accept" },
      { level: "problem", message: "another problem", fix: "gate daemon logs" },
    ]);
});

test("the problems of an older daemon are shown without a next step of their own", async () => {
  expect(await findingsOf({ problems: ["a problem"] }))
    .toMatchObject([{ level: "problem", message: "a problem", fix: "gate daemon logs" }]);
});
