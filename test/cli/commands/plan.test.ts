import { afterAll, beforeAll, expect, test } from "vitest";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;

beforeAll(async () => {
  gated = await openGatedProject();
});

afterAll(() => gated.close());

const STEPS = [
  { tool: "write_file", input: { path: "a.txt", content: "first\nsecond\n" } },
  { tool: "run_command", input: { command: "printf step-two" } },
  { tool: "write_file", input: { path: "b.txt", content: "third\n" } },
];

test("gate show and gate approve show every step of a plan; its steps are not asked again", async () => {
  const plan = await gated.submit("submit_plan", { title: "Three steps", steps: STEPS });
  expect(plan.status).toBe("pending");
  const shown = (await gated.good("show", plan.id)).stdout;
  expect(shown).toContain("Three steps");
  // A line of its own, because the agent chooses those of the title.
  expect(shown).toMatch(/^steps +3 steps, in this order; an approval holds 3600 s/m);
  for (const part of ["step 1 of 3", "step 2 of 3", "step 3 of 3", "a.txt", "printf step-two"]) {
    expect(shown).toContain(part);
  }
  for (const line of ["first", "second", "third"]) expect(shown).toContain(line);
  expect((await gated.good("pending")).stdout).toMatch(/submit_plan +a plan: Three steps/);
  await gated.good("approve", plan.id, "--digest", plan.digest);
  expect(gated.onDisk("a.txt")).toBeNull();
  const first = await gated.submit(STEPS[0]!.tool, STEPS[0]!.input);
  expect(first).toMatchObject({ status: "approved", decision: { lease_id: plan.id } });
  expect(gated.onDisk("a.txt")).toBe("first\nsecond\n");
  // The second step comes first.
  const third = await gated.submit(STEPS[2]!.tool, STEPS[2]!.input);
  expect(third.status).toBe("pending");
  const later = (await gated.good("show", plan.id)).stdout;
  expect(later).toContain(`done by     ${first.id}`);
});

test("gate reject refuses a plan as a whole", async () => {
  const step = { tool: "run_command", input: { command: "printf never" } };
  const plan = await gated.submit("submit_plan", { title: "No", steps: [step, STEPS[2]!] });
  await gated.good("reject", plan.id, "--reason", "not today");
  expect(await gated.submit(step.tool, step.input)).toMatchObject({ status: "pending" });
});

test("gate approve --remember refuses a plan", async () => {
  const plan = await gated.submit("submit_plan", { title: "Again", steps: [STEPS[2]!] });
  const ended = await gated.terminal.run(["approve", plan.id, "--remember", "project", "--yes"]);
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain("a plan is approved each time");
});
