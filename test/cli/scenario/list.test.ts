import { describe, expect, test } from "vitest";
import { execs, folder, scenario, tool } from "./harness.ts";

describe("list", () => {
  test("prints columns without control characters", async () => {
    const http = { mode: "http", method: "GET", path: "/a" };
    const [first] = execs(http);
    const second = scenario({
      scenario_id: "TS-002",
      title: "red \x1b[31mtitle\nTS-003  critical",
      confidence_area: "支払い\u202ex",
      priority: "low",
    });
    const cwd = folder({ "scenarios.json": [{ ...first, confidence_area: "money" }, second] });
    const { code, stdout } = await tool(cwd, "list");
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain("支払い[U+202E]x");
    expect(lines[1]).toContain("red [U+001B][31mtitle⏎TS-003");
    // deno-lint-ignore no-control-regex
    expect(stdout).not.toMatch(/\x1b/);
  });
});

test.each([[[], ""], [["mine.json"], " --scenarios mine.json"]])(
  "init %j suggests a command that reads the written file",
  async (argv, named) => {
    const cwd = folder();
    const { code, stdout } = await tool(cwd, "init", ...argv);
    expect(code).toBe(0);
    expect(stdout.trimEnd()).toMatch(
      new RegExp(`scenario-tool run --target http://127.0.0.1:3000${named}$`),
    );
    const listed = await tool(cwd, "list", ...named.trim().split(" ").filter(Boolean));
    expect(listed.stdout).toContain("TS-001");
  },
);
