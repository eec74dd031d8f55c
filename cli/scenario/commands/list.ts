import { Command } from "commander";
import type { ScenarioIo } from "../io.ts";
import { list } from "../options.ts";
import { loadScenarios } from "../sources.ts";

/** `scenario-tool list`: one line a scenario. */
export function createCommand(io: ScenarioIo): Command {
  return new Command("list")
    .description("list scenarios, one a line")
    .option("--scenarios <file>", "scenario file (again for more)", list, [])
    .action((options: { scenarios: string[] }) => {
      for (const one of loadScenarios(options, io.cwd)) {
        const how = one.exec
          ? `${one.exec.method ?? "cli"} ${one.exec.path ?? ""}`.trim()
          : "prose";
        const columns = [one.scenario_id, one.priority.padEnd(8), one.confidence_area, how];
        io.stdout.write(`${columns.join("  ")}  ${one.title}\n`);
      }
    });
}
