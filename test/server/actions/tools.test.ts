import { expect, test } from "vitest";
import { GateTool } from "../../../server/actions/schema.ts";
import { executorOf, sqlNames, TOOL_NAMES, toolOf, TOOLS } from "../../../server/actions/tools.ts";
import { createTestGate } from "../../helpers.ts";

test("the table has one row for each tool of the contract", () => {
  expect(TOOL_NAMES).toEqual(GateTool.options);
  expect(Object.fromEntries(TOOL_NAMES.map((name) => [name, TOOLS[name].executor]))).toEqual({
    write_file: "gate",
    submit_plan: "gate",
    edit_file: "gate",
    delete_file: "gate",
    move_file: "gate",
    read_file: "gate",
    run_command: "claimer",
    rollback: "gate",
    apply_changes: "gate",
  });
});

test("a host executes its native tool; an unknown tool has no executor", () => {
  expect(executorOf({ tool: "Bash", plan: { native: {} } })).toBe("host");
  expect(executorOf({ tool: "mcp__github__push", plan: {} })).toBe("nobody");
  expect(executorOf({ tool: "write_file", plan: null })).toBe("gate");
});

test.each(["constructor", "__proto__", "toString", ""])("the table has no row for %j", (name) => {
  expect(toolOf(name).executor).toBe("nobody");
});

// The statement holds the list as text. SQLite must still choose the partial index.
test("statements with a list from the table use the partial indexes", async () => {
  const { project: { ledger } } = await createTestGate();
  const gate = sqlNames(({ executor }) => executor === "gate");
  const plan = async (where: string) => {
    const rows = await ledger.all(
      `EXPLAIN QUERY PLAN SELECT id FROM actions INDEXED BY ${where} ORDER BY seq LIMIT 1`,
      ["test"],
    );
    return rows.map(({ detail }) => String(detail)).join("; ");
  };
  const isUnstarted = `status = 'approved' AND execution = 'none' AND tool IN (${gate})`;
  expect(await plan(`actions_unstarted WHERE project_id = ? AND ${isUnstarted}`))
    .toBe("SEARCH actions USING INDEX actions_unstarted (project_id=?)");
  const isOpen = `(status = 'pending' OR execution = 'running') AND tool NOT IN (${gate})`;
  expect(await plan(`actions_unfinished WHERE project_id = ? AND ${isOpen}`))
    .toBe("SEARCH actions USING INDEX actions_unfinished (project_id=?)");
});
