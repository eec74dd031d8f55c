import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DoctorReport } from "../../server/doctor/schema.ts";
import { HOOKED_HOSTS, HOSTS } from "../../server/hosts/hosts.ts";
import { must, POLICIES, World } from "./world.ts";

describe("gate doctor with every host set up, on the executable", () => {
  let world: World;

  beforeAll(async () => {
    world = await World.create("executable", { proof: "none" });
    await world.init({ ...POLICIES, allowedCommands: ["true"] });
    const input = "correct horse battery\n";
    must(await world.run(["proof", "set", "--passphrase-stdin"], { input }));
    const all = HOSTS.flatMap(({ id }) => ["--host", id]);
    must(await world.run(["global-setup", "--enforce", ...all]));
    must(await world.run(["update-instructions"]));
  });

  afterAll(() => world.close());

  async function diagnose(...args: string[]) {
    const { code, stdout } = await world.run(["doctor", "--json", ...args]);
    const report = DoctorReport.parse(JSON.parse(stdout));
    expect(code).toBe(report.ok ? 0 : 1);
    return report.findings;
  }

  test("doctor reports no problem", async () => {
    expect((await diagnose()).filter(({ level }) => level !== "ok")).toEqual([]);
  });

  test("--prove finds a canary from every entry and every hook in the ledger", async () => {
    const proofs = (await diagnose("--prove")).filter(({ check }) => check === "prove");
    expect(proofs.filter(({ level }) => level !== "ok")).toEqual([]);
    const proved = proofs.map(({ message }) => message.slice(0, message.indexOf(": seen in")));
    const hooks = HOOKED_HOSTS.map(({ name }) => `${name}'s hook`);
    expect(new Set(proved)).toEqual(new Set([...HOSTS.map(({ name }) => name), ...hooks]));
    const { items } = (await world.api("GET", "/api/global/actions?limit=100")).body;
    for (const { message } of proofs) {
      const id = /[0-9a-f-]{36}/.exec(message)?.[0];
      expect(items.map((item: { id: string }) => item.id)).toContain(id);
    }
    // --prove also reports the end of each hook call, so no action stays running.
    const open = items.filter((item: { execution: string }) => item.execution === "running");
    expect(open).toEqual([]);
  });

  test("an unusable home does not hide the other checks", async () => {
    const { GATE_HOME } = world.env;
    world.env.GATE_HOME = join(world.folder, "file");
    writeFileSync(world.env.GATE_HOME, "");
    const findings = await diagnose();
    world.env.GATE_HOME = GATE_HOME!;
    if (GATE_HOME === undefined) delete world.env.GATE_HOME;
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: "home",
        level: "problem",
        fix: expect.stringMatching(/^mv/),
      }),
    );
    expect(findings).toContainEqual(expect.objectContaining({
      check: "ledgers",
      message: expect.stringContaining("a part of its path is not a folder"),
    }));
    expect(new Set(findings.map(({ check }) => check)).size).toBe(19);
  });

  test("a host entry whose program is missing is a problem, with its host and path", async () => {
    const file = join(world.home, ".cursor", "mcp.json");
    const whole = readFileSync(file, "utf8");
    const config = JSON.parse(whole);
    config.mcpServers.gate.command = "/gone/gate";
    writeFileSync(file, JSON.stringify(config));
    const problems = (await diagnose("--prove")).filter(({ level }) => level === "problem");
    expect(problems).toMatchObject([
      {
        check: "hosts",
        level: "problem",
        message: "Cursor starts /gone/gate, which is not there",
        fix: "gate global-setup --host cursor",
      },
      {
        check: "prove",
        level: "problem",
        message: expect.stringContaining("Cursor cannot use gate"),
        fix: "gate global-setup --host cursor",
      },
    ]);
    must(await world.run(["global-setup", "--host", "cursor"]));
    expect((await diagnose()).filter(({ level }) => level === "problem")).toEqual([]);
  });
});
