import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import type { ScenarioIo } from "../io.ts";
import type { Exec } from "../schema.ts";
import { table } from "../../terminal/output.ts";
import { visibleLine } from "../../terminal/visible.ts";
import { list, repeated } from "../options.ts";
import { loadScenarios } from "../sources.ts";

/** `scenario-tool list`: one line a scenario. */
export function createCommand(io: ScenarioIo): CommandUnknownOpts {
  return new Command("list")
    .description("list scenarios, one a line")
    .option("--scenarios <file>", "scenario file (again for more)", list, [])
    .option("--spec <file>", "OpenAPI document (again for more)", list, [])
    .option("--from-help <program>", "program, or name=file with its help (again)", repeated, [])
    .action(async (options: { scenarios: string[]; spec: string[]; fromHelp: string[] }) => {
      const rows = (await loadScenarios(options, io)).map((one) => {
        const how = one.exec ? howOf(one.exec) : "prose";
        // A file of somebody else's shall not act on a terminal.
        return [one.scenario_id, one.priority, one.confidence_area, how, one.title]
          .map(visibleLine);
      });
      if (rows.length > 0) io.stdout.write(`${table(rows)}\n`);
    });
}

function howOf({ mode, method, path, command }: Exec): string {
  return mode === "cli" ? `run ${command?.[0]}` : `${method} ${path}`;
}
