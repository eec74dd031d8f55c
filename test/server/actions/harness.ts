import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createTestGate, testCaller, type TestGateOptions } from "../../helpers.ts";

export const agent = testCaller("agent");
export const reviewer = testCaller("reviewer");

/** Lowercase hex of the SHA-256 of a text or of bytes. */
export function sha(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A test gate with short forms of the calls that these tests make most. */
export async function openGate(options: TestGateOptions = {}) {
  const gate = await createTestGate(options);
  const { actions } = gate.project;
  const submitted = (tool: string, input: Record<string, unknown>, wait_ms = 0) =>
    actions.submit({ tool, input, wait_ms }, agent);
  const submit = async (tool: string, input: Record<string, unknown>) =>
    (await submitted(tool, input)).action;
  return {
    gate,
    actions,
    submitted,
    submit,
    write: (path: string, content: string) => submit("write_file", { path, content }),
    back: (id: string, input = {}) => actions.rollback(id, input, reviewer),
    at: (path: string) => join(gate.root, path),
    read: (path: string) => readFileSync(join(gate.root, path), "utf8"),
  };
}
