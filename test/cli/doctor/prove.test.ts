import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { CONFIG, type GatedProject, openGatedProject } from "../gated_project.ts";
import { diagnose, save } from "./diagnose.ts";

let gated: GatedProject;
let restore: () => void;
const cursor = () => join(gated.terminal.folder, ".cursor", "mcp.json");
const hooks = () => join(gated.terminal.folder, ".cursor", "hooks.json");
const config = () => join(gated.folder, "gate.config.json");

beforeAll(async () => {
  gated = await openGatedProject();
  mkdirSync(join(gated.terminal.folder, ".cursor"));
  await gated.good("global-setup", "--host", "cursor", "--enforce");
  restore = save([cursor(), hooks(), config()]);
});
afterEach(() => restore());
afterAll(() => gated.close());

test("--prove submits an action through each entry and finds it in the ledger", async () => {
  const policies = { ...CONFIG.policies, allowedCommands: ["true"] };
  writeFileSync(config(), JSON.stringify({ ...CONFIG, policies }));
  await gated.good("config", "accept");
  const { ok, findings, stderr } = await diagnose(gated.terminal, "--prove");
  const proofs = findings.filter(({ check }) => check === "prove");
  expect(proofs).toMatchObject([
    { level: "ok", message: expect.stringMatching(/^Cursor: seen/) },
    { level: "ok", message: expect.stringMatching(/^Cursor's hook: seen .*\(approved\)$/) },
  ]);
  expect(ok).toBe(true);
  expect(stderr).toContain("Starts the daemon and each entry as its host would");
  const [asked] = await gated.json("log", "--json", "--agent", "cursor");
  expect(asked).toMatchObject({ command: expect.stringMatching(/^true gate-doctor-/) });
  expect(asked).toMatchObject({ status: "approved", execution: "succeeded" });
  const [seen] = await gated.json("log", "--json", "--tool", "read_file");
  expect(proofs[0]!.message).toContain(seen.id);
  expect(seen).toMatchObject({ tool: "read_file", path: "gate.config.json", project_id: "web" });
  expect(seen.agent).toMatch(/^gate-doctor-[0-9a-f]{8}$/);
});

test("--prove withdraws its held canaries", async () => {
  const policies = {
    defaultEffect: "ask",
    askPaths: ["gate.config.json"],
    askCommands: ["true"],
  };
  writeFileSync(config(), JSON.stringify({ id: "web", policies }));
  const { findings } = await diagnose(gated.terminal, "--prove");
  for (const proof of findings.filter(({ check }) => check === "prove")) {
    expect(proof).toMatchObject({ level: "ok", message: expect.stringContaining("withdrawn") });
  }
  expect(await gated.json("pending", "--json")).toEqual([]);
});

test("--prove reports an entry that does not work", async () => {
  const broken = join(gated.terminal.folder, "gate");
  writeFileSync(broken, "#!/bin/sh\nexit 3\n", { mode: 0o755 });
  const servers = { mcpServers: { gate: { command: broken, args: ["mcp"] } } };
  writeFileSync(cursor(), JSON.stringify(servers));
  const { ok, findings } = await diagnose(gated.terminal, "--prove");
  expect(ok).toBe(false);
  expect(findings).toContainEqual(expect.objectContaining({
    check: "prove",
    level: "problem",
    message: expect.stringContaining("Cursor cannot use gate"),
    fix: "gate global-setup --host cursor",
  }));
  const hook = readFileSync(hooks(), "utf8")
    .replaceAll(/"command": "(?:[^"\\]|\\.)*"/g, `"command": "${broken} hook cursor"`);
  writeFileSync(hooks(), hook);
  const hooked = await diagnose(gated.terminal, "--prove");
  expect(hooked.findings).toContainEqual(expect.objectContaining({
    check: "prove",
    level: "problem",
    message: "Cursor's hook left no action in the ledger: it ended with 3",
    fix: "gate global-setup --enforce --host cursor",
  }));
});

test("policy denies an agent gate doctor --prove and does not deny gate doctor", async () => {
  const ask = async (command: string) =>
    JSON.parse(
      (await gated.terminal.run(["policy", "test", "--command", command, "--json"])).stdout,
    ).effect;
  expect(await ask("gate doctor --prove")).toBe("deny");
  expect(await ask("gate doctor --json")).not.toBe("deny");
});
