import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { policyTemplate } from "../../server/policy/templates.ts";
import { findEngine } from "../../server/sandbox/engine.ts";
import { Agent } from "./agent.ts";
import { type Subject, World } from "./world.ts";

const SUBJECT = (process.env["GATE_TEST_SUBJECT"] ?? "executable") as Subject;
const ENGINE = await findEngine();
if (ENGINE === null) console.error("NOT RUN: no sandbox engine here, so commands are held");

/** Reads a blocked file whose name stands nowhere in the text, and writes another one. */
const COMPUTED = "python3 -c \"open('made.txt','w').write('made'); print(open('.'+'env').read())\"";

describe(`a command that no text can prove, on ${SUBJECT}`, () => {
  let world: World;
  let agent: Agent;

  beforeAll(async () => {
    world = await World.create(SUBJECT);
    await world.init({ ...policyTemplate("balanced"), sandbox: { mode: "auto" } });
    world.write(".env", "KEY=SECRET\n");
    agent = await Agent.connect(world);
  });

  afterAll(async () => {
    await agent?.close();
    await world?.close();
  });

  test("runs in the sandbox without a question, or is held where there is none", async () => {
    const { data } = await agent.call("run_command", { command: COMPUTED, wait_ms: 20_000 });
    if (ENGINE === null) {
      expect(data).toMatchObject({ status: "pending", decision: { sandbox: null } });
      return;
    }
    expect(data).toMatchObject({
      status: "approved",
      exit_code: 1,
      decision: { effect: "allow", sandbox: { engine: "bubblewrap" } },
    });
    expect(String(data["output"])).not.toContain("SECRET");
    expect(String(data["message"])).toContain('".env" is hidden');
    expect(readFileSync(join(world.project, "made.txt"), "utf8")).toBe("made");
    expect(existsSync(join(world.project, ".env"))).toBe(true);
  });
});
