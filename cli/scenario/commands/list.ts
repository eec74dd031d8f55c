import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Io } from "../../io.ts";
import type { Exec } from "../schema.ts";
import { table } from "../../terminal/output.ts";
import { visibleLine } from "../../terminal/visible.ts";
import { list, repeated } from "../options.ts";
import { loadScenarios } from "../sources.ts";

/** `scenario-tool list`: prints one line for each scenario. */
export function createCommand(io: Io): CommandUnknownOpts {
  return new Command("list")
    .description("List scenarios, one on each line.")
    .option("--scenarios <file>", "read scenarios from this file (repeatable)", list, [])
    .option("--spec <file>", "generate from this document (repeatable)", list, [])
    .option("--from-help <program>", "generate from a program's help, or name=file", repeated, [])
    .action(async (options: { scenarios: string[]; spec: string[]; fromHelp: string[] }) => {
      const rows = (await loadScenarios(options, io)).map((one) => {
        const how = one.exec ? howOf(one.exec) : "prose";
        // A scenario file may hold escape sequences for the terminal.
        return [one.scenario_id, one.priority, one.confidence_area, how, one.title]
          .map(visibleLine);
      });
      if (rows.length > 0) io.stdout.write(`${table(rows)}\n`);
    });
}

function howOf({ mode, method, path, command }: Exec): string {
  return mode === "cli" ? `run ${command?.[0]}` : `${method} ${path}`;
}
