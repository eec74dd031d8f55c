import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Grant } from "../../../server/grants/schema.ts";
import { until } from "../../e2e/world.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

const run = (command: string) => gated.submit("run_command", { command });
const list = (...more: string[]): Promise<Grant[]> =>
  gated.json("grant", "list", "--json", ...more);

test("approve without --remember creates no grant", async () => {
  expect((await gated.good("grant", "list")).stdout).toContain("There is no live grant");
  const { id } = await run("npm run once");
  await gated.good("approve", id);
  expect(await list()).toEqual([]);
});

test("approve --remember shows the possible patterns and creates a grant", async () => {
  const first = await run("npm run build");
  const { stdout, stderr } = await gated.good("approve", first.id, "--remember");
  expect(stderr).toContain("Each shows what it would have allowed in the last 30 days");
  expect(stderr).toContain("→ exactly this");
  expect(stderr).toContain("--pattern 'npm run *'");
  expect(stderr).toContain("1 in 30 days");
  expect(stdout).toContain("✓ approved");
  const [grant] = await list();
  expect(grant).toMatchObject({
    scope: "session",
    max_uses: 10,
    uses: 0,
    command: "npm run build",
  });
  expect(Date.parse(grant!.expires_at) - Date.parse(grant!.created_at)).toBe(3_600_000);
  const table = (await gated.good("grant", "list")).stdout;
  for (const fact of [grant!.id, "session", "0/10 used", "exactly npm run build", "live"]) {
    expect(table).toContain(fact);
  }
});

test("a grant takes scope, time, uses and pattern, and ends when it is revoked", async () => {
  const first = await gated.write("docs/a.md", "a");
  const options = ["--remember", "project", "--ttl", "7d", "--max-uses", "2"];
  const done = await gated.json(
    ...["approve", first.id, ...options, "--pattern", "docs/**", "--json"],
  );
  expect(done).toMatchObject({ id: first.id, status: "approved" });
  const [grant] = await list();
  expect(grant).toMatchObject({ scope: "project", max_uses: 2, pattern: "docs/**" });
  expect(Date.parse(grant!.expires_at) - Date.parse(grant!.created_at)).toBe(7 * 86_400_000);
  const offered = await gated.good("complete", "fish", "--current=", "--", "grant", "revoke");
  expect(offered.stdout).toContain(`${grant!.id}\tdocs/**`);
  expect((await gated.write("docs/b.md", "b")).status).toBe("approved");
  await until("the file is written", () => gated.onDisk("docs/b.md") === "b");
  const tested = await gated.good("policy", "test", "--path", "docs/c.md");
  expect(tested.stdout).toContain("allow: Remembered by reviewer");
  const explained = await gated.good("policy", "explain", "--path", "docs/c.md");
  expect(explained.stdout).toContain(`rule     none; grant ${grant!.id} applies`);
  expect((await gated.good("grant", "revoke", grant!.id)).stdout).toContain(
    "✓ revoked: write docs/**",
  );
  expect((await gated.write("docs/c.md", "c")).status).toBe("pending");
  const asked = await gated.terminal.run(["policy", "test", "--path", "docs/d.md"]);
  expect(asked.code).toBe(1);
  expect(await list("--state", "revoked")).toMatchObject([{ id: grant!.id, uses: 1 }]);
  const again = await gated.terminal.run(["grant", "revoke", grant!.id]);
  expect(again).toMatchObject({ code: 1, stdout: "" });
  expect(again.stderr).toContain("it is revoked already");
});

test("approve --remember asks for confirmation, and return means no", async () => {
  const { id } = await run("npm run asked");
  const no = gated.terminal.run(["approve", id, "--remember"], { person: true });
  await until(
    "the question is shown",
    () => gated.terminal.printed().includes("Approve, and allow the same 10 more"),
  );
  gated.terminal.type("\r");
  expect(await no).toMatchObject({ code: 1 });
  expect(await gated.json("show", id, "--json")).toMatchObject({ status: "pending" });
  const yes = gated.terminal.run(["approve", id, "--remember"], { person: true });
  await until(
    "the question is shown",
    () => gated.terminal.printed().includes("Approve, and allow the same 10 more"),
  );
  gated.terminal.type("y");
  expect(await yes).toMatchObject({ code: 0 });
  expect(await gated.json("show", id, "--json")).toMatchObject({ status: "approved" });
});

test("an action of an ended session is cancelled, and cannot be remembered", async () => {
  const { id, session_id } = await run("npm run ended");
  await gated.good("api", "POST", `/api/sessions/${session_id}/end`, "-d", "{}");
  for (const scope of ["session", "project"]) {
    const args = ["approve", id, "--remember", scope];
    const refused = await gated.terminal.run(args, { person: true });
    expect(refused, scope).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("it is cancelled");
    expect(refused.stderr).toContain(`try: gate show ${id}`);
  }
  expect(await gated.json("show", id, "--json")).toMatchObject({ status: "cancelled" });
});

describe("wrong usage", () => {
  test.each([
    [["approve", "ID", "--pattern", "x"], 64, "without --remember"],
    [["approve", "ID", "--ttl", "1h"], 64, "without --remember"],
    [["approve", "ID", "--remember", "--ttl", "soon"], 64, "such as 90s"],
    [["approve", "ID", "--remember", "--ttl", "0h"], 64, "such as 90s"],
    [["approve", "ID", "--remember", "--max-uses", "0"], 64, "from 1 to 10000"],
    [["approve", "ID", "--remember", "world"], 64, "Allowed choices are session, project"],
    [["approve", "ID", "--remember", "--pattern", "src/**"], 1, "does not cover everything"],
    [["approve", "ID", "--remember", "--pattern", "**"], 1, "it matches everything"],
    [["approve", "ID", "--remember", "--ttl", "91d"], 1, "/remember/ttl_seconds"],
    [["grant", "revoke", "zz"], 64, "4 to 36 hex digits"],
    [["grant", "revoke", "01990000-0000-7000-8000-000000000000"], 1, "try: gate grant list"],
    [["grant", "revoke", "ffffffff"], 1, "no live grant's id begins"],
    [["grant", "list", "--state", "dead"], 64, "Allowed choices"],
  ])("%j", async (args, code, said) => {
    const { id } = await gated.write("held.md", "x");
    const ended = await gated.terminal.run(args.map((word) => word === "ID" ? id : word));
    expect(ended).toMatchObject({ code, stdout: "" });
    expect(ended.stderr).toContain(said);
    expect(await gated.json("show", id, "--json")).toMatchObject({ status: "pending" });
  });

  test("a command with an unknown variable cannot be remembered", async () => {
    const { id } = await run("deploy $TARGET");
    const ended = await gated.terminal.run(["approve", id, "--remember"]);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain("one of its words is unknown");
    expect(ended.stderr).toContain(`try: gate approve ${id}`);
  });
});

test.each([
  "gate grant list",
  "gate grant revoke x",
  "gate approve x --remember",
  "echo && gate grant revoke x",
])("an agent may not run: %s", async (command) => {
  expect(await run(command)).toMatchObject({
    status: "blocked",
    decision: { rule: { list: "self-protection", source: "builtin" } },
  });
});
