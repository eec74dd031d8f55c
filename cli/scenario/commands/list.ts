import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import type { ScenarioIo } from "../io.ts";
import { list } from "../options.ts";
import { loadScenarios } from "../sources.ts";

/** `scenario-tool list`: one line a scenario. */
export function createCommand(io: ScenarioIo): CommandUnknownOpts {
  return new Command("list")
    .description("list scenarios, one a line")
    .option("--scenarios <file>", "scenario file (again for more)", list, [])
    .option("--spec <file>", "OpenAPI document (again for more)", list, [])
    .action(async (options: { scenarios: string[]; spec: string[] }) => {
      for (const one of await loadScenarios(options, io.cwd)) {
        const how = one.exec
          ? `${one.exec.method ?? "cli"} ${one.exec.path ?? ""}`.trim()
          : "prose";
        const columns = [one.scenario_id, one.priority.padEnd(8), one.confidence_area, how];
        io.stdout.write(`${columns.join("  ")}  ${one.title}\n`);
      }
    });
}
