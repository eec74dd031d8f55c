import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

test("gate api sends the token, prints the body, and exits with 1 on a problem", async () => {
  expect(await gated.json("api", "get", "/api/actions?count=true")).toEqual({ count: 0 });
  const body = '{"path": ".env", "action": "write"}';
  expect(await gated.json("api", "POST", "/api/policy/test", "-d", body)).toMatchObject({
    effect: "deny",
  });
  writeFileSync(join(gated.folder, "body.json"), body);
  expect((await gated.json("api", "POST", "/api/policy/test", "-d", "@body.json")).effect).toBe(
    "deny",
  );
  const piped = await gated.terminal.run(["api", "POST", "/api/policy/test", "-d", "-"], {
    input: body,
  });
  expect(JSON.parse(piped.stdout).effect).toBe("deny");
  const missing = await gated.terminal.run(["api", "GET", "/api/nothing"]);
  expect(missing).toMatchObject({ code: 1, stderr: "" });
  expect(JSON.parse(missing.stdout)).toMatchObject({ code: "not_found" });
  const forbidden = await gated.terminal.run([
    ...["api", "POST", "/api/global/approvals/x/approve", "--scope", "agent", "-d", "{}"],
  ]);
  expect(forbidden.code).toBe(1);
  expect(JSON.parse(forbidden.stdout)).toMatchObject({ code: "forbidden" });
  const broken = await gated.terminal.run(["api", "POST", "/api/policy/test", "-d", "{nope"]);
  expect(broken.code).toBe(1);
  expect(JSON.parse(broken.stdout)).toMatchObject({ code: "invalid" });
});

test("--include prints status and headers, and a missing body file is an error", async () => {
  const { stdout } = await gated.good("api", "GET", "/healthz", "-i");
  expect(stdout).toMatch(/^HTTP\/1\.1 200 OK\n/);
  expect(stdout).toContain("content-type: application/json");
  const absent = await gated.terminal.run([
    "api",
    "POST",
    "/api/policy/test",
    "-d",
    "@absent.json",
  ]);
  expect(absent).toMatchObject({ code: 1, stdout: "" });
  expect(absent.stderr).toContain('Cannot read "absent.json": it does not exist');
});

test("gate dashboard --no-open prints a login link", async () => {
  const { stdout } = await gated.good("dashboard", "--no-open");
  expect(stdout).toMatch(
    new RegExp(`^http://localhost:${gated.terminal.env.GATE_PORT}/login\\?code=\\S+\n$`),
  );
  expect(await gated.json("dashboard", "--no-open", "--json")).toEqual({ url: expect.any(String) });
});

test("gate api uses the project of the current folder", async () => {
  const other = join(gated.folder, "..", "other");
  mkdirSync(other);
  writeFileSync(join(other, "gate.config.json"), JSON.stringify({ id: "other", version: "2" }));
  const body = JSON.stringify({ root: other });
  await gated.json("api", "POST", "/api/hub/projects", "-d", body);
  const asked = JSON.stringify({ tool: "write_file", input: { path: "two.md", content: "x" } });
  expect(await gated.json("api", "POST", "/api/actions", "--scope", "agent", "-d", asked))
    .toMatchObject({ project_id: "web", status: "pending" });
  expect((await gated.json("api", "GET", "/api/actions?project=other")).items).toEqual([]);
  expect((await gated.json("api", "GET", "/api/actions?limit=1")).items).toHaveLength(1);
});
