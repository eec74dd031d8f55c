import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { until } from "../../e2e/world.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

vi.setConfig({ testTimeout: 60_000 });

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

test("a session is listed, compared, and rolled back as a whole or in part", async () => {
  expect((await gated.good("session", "list")).stdout).toBe("There is no session yet.\n");
  const first = await gated.write("src/a.ts", "one\n");
  await gated.write("src/b.ts", "two\n");
  const id = first.session_id;
  expect(await gated.json("session", "list", "--json")).toMatchObject([{ id, action_count: 2 }]);
  expect((await gated.good("session", "show", id)).stdout).toContain("2 actions, 0 held");
  expect((await gated.good("session", "diff", id)).stdout).toContain("created: src/a.ts\n");
  const planned = await gated.good("session", "rollback", id, "--dry-run");
  expect(planned.stdout).toContain("2 actions would be undone");
  expect(gated.onDisk("src/a.ts")).toBe("one\n");
  await gated.good("session", "rollback", id, "--only", first.id, "--reason", "not this");
  expect([gated.onDisk("src/a.ts"), gated.onDisk("src/b.ts")]).toEqual([null, "two\n"]);
  expect(await gated.json("session", "rollback", id, "--json"))
    .toMatchObject({ rollback_state: "full" });
  expect(gated.onDisk("src/b.ts")).toBeNull();
  expect((await gated.good("session", "diff", id)).stdout).toContain("as they were before");
  expect(await gated.terminal.run(["session", "show", "none"])).toMatchObject({ code: 1 });
});

test("the log takes words and filters", async () => {
  await gated.write(".env", "SECRET=1");
  expect(await gated.json("log", "--json", "secrets", "stay")).toMatchObject([{ path: ".env" }]);
  expect(await gated.json("log", "--json", "nowhere")).toEqual([]);
  expect(await gated.json("log", "--json", "--status", "blocked", "--tool", "write_file"))
    .toMatchObject([{ path: ".env" }]);
  expect((await gated.json("log", "--json", "--by", "policy")).length).toBeGreaterThan(1);
});

test("the audit log is exported to a file or to standard output", async () => {
  const file = join(gated.folder, "audit.csv");
  await gated.good("audit", "export", "--format", "csv", "-o", file);
  expect(readFileSync(file, "utf8")).toMatch(/^seq,at,project_id,.*\r\n1,/);
  const { events, checkpoint } = await gated.json("audit", "export", "--project", "web");
  expect(checkpoint.seq).toBe(events.length);
  const some = await gated.json("audit", "export", "--type", "session.started", "--window", "1d");
  expect(some.events.length).toBeGreaterThan(0);
  expect(await gated.terminal.run(["audit", "export", "--window", "1"])).toMatchObject({ code: 1 });
});

test("log --follow prints each action once, as it comes", async () => {
  const following = gated.terminal.run(["log", "-f", "--json", "-n", "1", "--tool", "write_file"]);
  const lines = () => gated.terminal.printed().split("\n").filter((line) => line !== "");
  await until("it shows the newest", () => lines().length === 1);
  const ids: string[] = [];
  for (const name of ["x", "y", "z"]) {
    ids.push((await gated.write(`src/follow_${name}.ts`, name)).id);
    await until("it is printed", () => lines().length === ids.length + 1);
  }
  gated.terminal.signal("SIGINT");
  const { code, stdout } = await following;
  expect(code).toBe(0);
  const printed = stdout.trim().split("\n").map((line) => JSON.parse(line).id);
  expect(printed.slice(1)).toEqual(ids);
});
