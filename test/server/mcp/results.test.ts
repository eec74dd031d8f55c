import { expect, test } from "vitest";
import { type Submitted, toResult } from "../../../server/mcp/results.ts";
import { createTestGate } from "../../helpers.ts";

test("the hidden names of a sandbox are listed where the command met a wall, else counted", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "allow" } });
  const answer = await gate.request("POST", "/api/actions", {
    tool: "run_command",
    input: { command: "make report" },
  }, "agent");
  const { decision, ...action } = await answer.json() as Submitted;
  const masked = [".env", "*.pem", "~"];
  const sandbox = { engine: "bubblewrap", network: "none" as const, masked, writable: ["/p"] };
  const maskedOf = (result: Submitted["result"], options = {}) => {
    const submitted = { ...action, decision: { ...decision, sandbox }, result };
    const { structuredContent } = toResult(submitted, options);
    return (structuredContent as { decision: typeof decision }).decision.sandbox?.masked;
  };
  expect(maskedOf({ output: "done" })).toEqual([".env", "and 2 more"]);
  expect(maskedOf({ output: "", walls: [".env is hidden"] })).toEqual(masked);
  expect(maskedOf({ output: "done" }, { whole: true })).toEqual(masked);
});
