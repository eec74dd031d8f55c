import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openConnection } from "../../../cli/daemon/connect.ts";
import { typedWalls } from "../../../cli/sandbox/walls.ts";
import { unwrap } from "../../../server/client.ts";
import type { SandboxView } from "../../../server/sandbox/schema.ts";
import { ENGINE } from "../../server/sandbox/stage.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeAll(async () => {
  gated = await openGatedProject();
  const { client } = await openConnection(
    { env: gated.terminal.env, cwd: gated.folder, pid: 1 },
    { scope: "reviewer", start: false },
  );
  const { etag } = await unwrap(client.api.config.$get());
  const json = { sandbox: { mode: "auto" as const, writable: ["~/kept"] } };
  await unwrap(client.api.config.policies.$put({ json }, { headers: { "If-Match": etag } }));
});
afterAll(() => gated.close());

const held = (command: string) =>
  gated.submit("run_command", { command, outside_sandbox: true, reason: "it downloads packages" });
const show = (): Promise<SandboxView> => gated.json("sandbox", "show", "--json");

describe.runIf(ENGINE !== null)("with an engine", () => {
  test("approve --open opens a wall for the session, which sandbox shows and closes", async () => {
    const { id, session_id } = await held("npm ci");
    const walls = ["host:registry.test", "host:mirror.test:8443"];
    await gated.good("approve", id, "--open", ...walls, "--for", "session");
    const { openings, engine, sandbox } = await show();
    expect({ engine, sandbox }).toMatchObject({
      engine: { name: "bubblewrap" },
      sandbox: { network: "loopback", writable: [gated.folder, "~/kept"] },
    });
    expect(openings).toMatchObject([{
      action_id: id,
      session_id,
      walls: [
        { kind: "host", host: "registry.test" },
        { kind: "host", host: "mirror.test:8443" },
      ],
    }]);
    const text = (await gated.good("sandbox", "show")).stdout;
    for (const fact of ["Engine: bubblewrap", "Mode: auto", "the host registry.test", "session"]) {
      expect(text).toContain(fact);
    }
    const [{ id: opened, walls: open }] = openings as [SandboxView["openings"][number]];
    const closed = await gated.good("sandbox", "close", opened.slice(0, 30), "--json");
    expect(JSON.parse(closed.stdout)).toMatchObject({ id: opened, walls: open });
    expect((await show()).openings).toEqual([]);
    expect((await gated.good("sandbox", "show")).stdout).toContain(
      "No wall is open beside the policy",
    );
    expect(await gated.terminal.run(["sandbox", "close", openings[0]!.id]))
      .toMatchObject({ code: 1 });
  });

  test("show offers the walls that a command tells of, as a person types them", async () => {
    const { id } = await held("curl -O https://files.test/a.tgz");
    const { stderr } = await gated.good("show", id);
    expect(stderr).toContain(`gate approve ${id} --open host:files.test`);
  });

  test("approve --open once leaves nothing open", async () => {
    const { id } = await held("npm install");
    await gated.good("approve", id, "--open", "host:registry.test");
    expect((await show()).openings).toEqual([]);
  });

  test("sandbox open shows the impact and writes a rule", async () => {
    const refused = await gated.terminal.run(["sandbox", "open", "host:registry.test"]);
    expect(refused).toMatchObject({ code: 64 });
    const asked = await gated.submit("run_command", { command: "curl -s https://registry.test/a" });
    expect(asked.status).toBe("pending");
    const done = await gated.good("sandbox", "open", "host:registry.test", "--yes");
    expect(done.stdout).toMatch(/newly allowed +1\n/);
    expect((await show()).sandbox!.hosts).toEqual(["registry.test"]);
    const again = await gated.good("sandbox", "open", "write:~/kept", "--yes", "--json");
    expect(JSON.parse(again.stdout)).toEqual({
      wall: { kind: "writable", path: "~/kept" },
      is_open: true,
    });
    const { policies } = JSON.parse(gated.onDisk("gate.config.json")!);
    expect(policies.sandbox).toEqual({
      mode: "auto",
      writable: ["~/kept"],
      hosts: ["registry.test"],
    });
  });

  test("policy suggest proposes what people opened three times, and writes it", async () => {
    for (const name of ["one", "two", "three"]) {
      const { id } = await held(`npm publish --tag ${name}`);
      await gated.good("approve", id, "--open", "host:often.test");
    }
    const told = (await gated.good("policy", "suggest")).stdout;
    expect(told).toContain("People opened this wall 3 times: sandbox.hosts often.test");
    await gated.good("policy", "suggest", "--apply", "--yes");
    expect((await show()).sandbox!.hosts).toEqual(["registry.test", "often.test"]);
    const again = await gated.json("policy", "suggest", "--json");
    expect(again).toMatchObject({ sandbox: [] });
  });
});

test.each([
  [["sandbox", "open", "registry.test"], "Cannot read the wall"],
  [["sandbox", "open", "read:~/.netrc", "--yes"], "open it in an approval"],
  [["approve", "0199a1b2", "--open", "all"], "Cannot read the wall"],
  [["approve", "0199a1b2", "--for", "session"], "Cannot use --for without --open"],
  [["approve", "0199a1b2", "--open", "host:a.test", "--remember"], "Cannot use --open with"],
  [["approve", "0199a1b2", "0199a1b3", "--open", "host:a.test"], "Cannot use --open with"],
  [["sandbox", "close", "zz"], "4 to 36 hex digits"],
])("%j is wrong usage", async (args, message) => {
  const ended = await gated.terminal.run(args);
  expect({ code: ended.code, stderr: ended.stderr }).toEqual({
    code: 64,
    stderr: expect.stringContaining(message),
  });
});

test("a wall is offered only if a shell reads it as it stands", () => {
  const hosts = ["a.test", "$(reboot).test", "b.test:8443", "c.test", "d.test"];
  const walls = hosts.map((host) => ({ kind: "host" as const, host }));
  expect(typedWalls(walls)).toEqual(["host:a.test", "host:b.test:8443", "host:c.test"]);
  expect(typedWalls([
    { kind: "writable", path: "~/data; x" },
    { kind: "writable", path: "~/data" },
    { kind: "readable", path: "/home/u/.toolrc" },
  ])).toEqual(["write:~/data", "read:/home/u/.toolrc"]);
});
