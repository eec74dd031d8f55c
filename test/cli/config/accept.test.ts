import { expect, test } from "vitest";
import { showChange } from "../../../cli/config/accept.ts";
import type { Io } from "../../../cli/io.ts";
import type { ConfigDifference, OutsideChange } from "../../../server/config/schema.ts";

const difference = (text: string, in_force: boolean): ConfigDifference => ({
  kind: "added",
  key: in_force ? "blockedPaths" : "allowedPaths",
  text,
  in_force,
});

function changeOf(waiting: number, inForce: number): OutsideChange {
  return {
    path: "/home/me/app/gate.config.json",
    at: "2026-03-01T00:00:00.000Z",
    by: null,
    before_sha256: null,
    after_sha256: "0".repeat(64),
    differences: [
      ...Array.from({ length: waiting }, (_, at) => difference(`open${at}`, false)),
      ...Array.from({ length: inForce }, (_, at) => difference(`shut${at}`, true)),
    ],
    waiting: waiting > 0,
    number: 1,
  };
}

function shownBy(change: OutsideChange, options?: { summary?: boolean }): string {
  const written: string[] = [];
  const stdout = { write: (text: string) => written.push(text) };
  showChange({ env: { NO_COLOR: "1" }, stdout } as unknown as Io, change, options);
  return written.join("");
}

test("a summary shows everything that waits, and a part of what is in force", () => {
  const shown = shownBy(changeOf(40, 30), { summary: true });
  expect(shown.match(/open\d+ +\(waits\)/g)).toHaveLength(40);
  expect(shown.match(/shut\d+/g)).toHaveLength(10);
  expect(shown).toContain("… 20 more that are in force already: gate config show");
});

test.each([
  ["of a few differences", { summary: true }, 10],
  ["without a summary", {}, 30],
])("nothing is left out %s", (_name, options, inForce) => {
  const shown = shownBy(changeOf(2, inForce), options);
  expect(shown.match(/shut\d+/g)).toHaveLength(inForce);
  expect(shown).not.toContain("more that");
});
