import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { portOfProject } from "../../../cli/project_server/run.ts";

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "gate-ports-"))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

test("portOfProject() counts up from 47001 and keeps each project's port", () => {
  expect(["a", "b", "c", "a", "b"].map((id) => portOfProject(home, id)))
    .toEqual([47001, 47002, 47003, 47001, 47002]);
});

test("portOfProject() reuses the port of a removed project", () => {
  portOfProject(home, "a");
  portOfProject(home, "b");
  rmSync(join(home, "ports", "47001"));
  expect(portOfProject(home, "c")).toBe(47001);
  expect(portOfProject(home, "b")).toBe(47002);
});
