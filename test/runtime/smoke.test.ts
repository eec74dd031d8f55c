import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must, type Subject, SUBJECTS, World } from "../e2e/world.ts";

describe.each(Object.keys(SUBJECTS) as Subject[])("gate on %s", (subject) => {
  let world: World;
  let written: string;

  beforeAll(async () => {
    world = await World.create(subject);
    await world.init();
  });

  afterAll(() => world.close());

  test("starts, and reports its port and health", async () => {
    const { status, body } = await world.api("GET", "/api/daemon/status");
    expect({ status, ...body }).toMatchObject({ status: 200, port: world.port, healthy: true });
    expect(must(await world.run(["token"])).stdout).toBe(`${await world.token("reviewer")}\n`);
  });

  test("serves the dashboard", async () => {
    const page = await fetch(`http://127.0.0.1:${world.port}/`);
    expect(await page.text()).toMatch(/<!doctype html>/i);
  });

  test("holds a write, and executes it on approval", async () => {
    const { body } = await world.api("POST", "/api/actions?project=demo", {
      tool: "write_file",
      input: { path: "docs/a.md", content: "hello\n" },
    }, "agent");
    written = body.id;
    expect(body.status).toBe("pending");
    expect(existsSync(join(world.project, "docs/a.md"))).toBe(false);
    must(await world.run(["approve", written]));
    expect(readFileSync(join(world.project, "docs/a.md"), "utf8")).toBe("hello\n");
  });

  test("does not accept an approval with an agent's token", async () => {
    const { status } = await world.api("POST", `/api/actions/${written}/approve`, {}, "agent");
    expect(status).toBe(403);
  });

  test("rolls the write back", async () => {
    must(await world.run(["rollback", written]));
    expect(existsSync(join(world.project, "docs/a.md"))).toBe(false);
  });

  test("keeps an intact audit chain across a restart", async () => {
    must(await world.run(["audit", "verify"]));
    must(await world.run(["daemon", "restart"]));
    must(await world.run(["audit", "verify"]));
    const { body } = await world.api("GET", `/api/actions/${written}/status`);
    expect(body.status).toBe("rolled_back");
  });
});
