import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agent, openGate } from "../harness.ts";

describe("commands", () => {
  test("a claim names the folder and the limits, and a result is cut to them", async () => {
    const { gate, submitted, actions } = await openGate({
      policies: { defaultEffect: "allow", maxBashOutputBytes: 100, commandTimeoutSeconds: 7 },
    });
    mkdirSync(join(gate.root, "sub"));
    const { action } = await submitted("run_command", { command: "pwd", cwd: "sub/" });
    expect(action).toMatchObject({ status: "approved", execution: "none", reversible: false });
    const claim = await actions.claim(action.id, {}, agent);
    expect(claim).toMatchObject({
      command: "pwd",
      cwd: join(gate.root, "sub"),
      timeout_ms: 7_000,
      max_output_bytes: 100,
    });
    const { claim_id } = claim;
    await expect(
      actions.result(action.id, { ...RESULT, claim_id: "another" }, agent),
    ).rejects.toMatchObject({ code: "conflict" });
    await actions.result(action.id, { ...RESULT, claim_id, output: "x".repeat(5_000) }, agent);
    const { result } = await actions.wait(action.id, {}, agent);
    const { output, truncated } = result as { output: string; truncated: boolean };
    expect(truncated).toBe(true);
    expect(new TextEncoder().encode(output).length).toBeLessThanOrEqual(100);
  });

  test("a claimed command without a result becomes unknown after its time-out", async () => {
    const { gate, submitted, actions } = await openGate({
      policies: { defaultEffect: "allow", commandTimeoutSeconds: 10 },
    });
    const { action } = await submitted("run_command", { command: "sleep 1" });
    const { claim_id } = await actions.claim(action.id, {}, agent);
    gate.clock.advance(69_000);
    await actions.expireDue();
    expect((await actions.get(action.id)).execution).toBe("running");
    gate.clock.advance(2_000);
    await actions.expireDue();
    expect((await actions.get(action.id)).execution).toBe("unknown");
    expect(await actions.result(action.id, { ...RESULT, claim_id }, agent)).toMatchObject({
      execution: "succeeded",
    });
  });

  const RESULT = { exit_code: 0, output: "", truncated: false, duration_ms: 1 };
});
