import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { startBehind } from "../../../server/sandbox/bubblewrap.ts";
import { createStage, ENGINE } from "./stage.ts";

/** Asks the shell which descriptors are open, beside the one that it reads them with, and its limits. */
const ASKS = "echo $(for fd in /proc/self/fd/*; do [ -h $fd ] && echo ${fd##*/}; done); " +
  "ulimit -c; ulimit -f; ulimit -d; cat /proc/self/oom_score_adj";

describe.runIf(ENGINE !== null)("the shell before the sandbox", () => {
  test.each([
    ["none", []],
    ["one that dash names", [7]],
    ["one that only bash names", [12]],
    ["some of both", [6, 9, 10, 250]],
    ["all that dash names", [6, 7, 8, 9]],
  ])("closes inherited descriptors and sets the limits: %s", async (_, inherited) => {
    const { walls } = await createStage().walls("true");
    const limits = { processes: 10, memory_bytes: 3 * 1024 ** 3, file_bytes: 5 * 1024 ** 2 };
    const { outer } = startBehind({ ...walls, limits }, {});
    const opened = [3, 4, 5, ...inherited].map((fd) => `exec ${fd}</dev/null`).join("; ");
    const words = [...outer('exec "$@"'), "/bin/bash", "-c", ASKS];
    const text = execFileSync("/bin/bash", ["-c", `${opened}; exec "$@"`, "sh", ...words], {
      encoding: "utf8",
    });
    expect(text.split("\n")).toEqual([
      "0 1 2 3 4 5",
      "0",
      `${5 * 1024}`,
      `${3 * 1024 ** 2}`,
      "1000",
      "",
    ]);
  });
});
