import { expect, test } from "vitest";
import { describeEngine } from "../../../cli/doctor/sandbox.ts";
import { lookForEngine } from "../../../server/sandbox/engine.ts";

const INSTALL = "install bubblewrap: apt install bubblewrap";

test.each(
  [
    [
      "bubblewrap",
      {
        engine: { name: "bubblewrap", path: "/usr/bin/bwrap", version: "0.8.0", can_mask: true },
        why: null,
        fix: null,
      },
      /^bubblewrap 0\.8\.0 can run commands in a sandbox$/,
    ],
    [
      "Landlock says what it cannot do, and how to have more",
      {
        engine: { name: "landlock", path: "/gate", version: "7", can_mask: false },
        why: "bubblewrap is not installed",
        fix: INSTALL,
      },
      /^landlock 7 can .*, but it hides no single file .* a person is asked .*\(bubblewrap is not installed; to have more, install bubblewrap/,
    ],
    [
      "none",
      { engine: null, why: "bubblewrap is not installed", fix: INSTALL },
      /^none: bubblewrap is not installed; to have one, install bubblewrap/,
    ],
    ["none, and no way", { engine: null, why: "no sandbox on plan9", fix: null }, /^none: [^;]*$/],
  ] as const,
)("doctor tells of the engine: %s", (_, found, text) => {
  expect(describeEngine(found)).toMatch(text);
});

test("where nothing can hold a command, doctor names both reasons", async () => {
  const found = await lookForEngine({ system: "linux", bubblewrap: [], confine: null });
  expect(describeEngine(found)).toContain(
    "bubblewrap is not installed; nor can it be Landlock: Node",
  );
});
