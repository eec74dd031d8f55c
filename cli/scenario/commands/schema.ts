import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { z } from "zod";
import type { ScenarioIo } from "../io.ts";
import { ScenarioDocument } from "../schema.ts";

/** `scenario-tool schema`: the JSON Schema that editors and other tools can check against. */
export function createCommand(io: ScenarioIo): CommandUnknownOpts {
  return new Command("schema")
    .description("print the JSON Schema of a scenario file")
    .action(() => {
      const schema = z.toJSONSchema(ScenarioDocument, { unrepresentable: "any" });
      io.stdout.write(`${JSON.stringify({ title: "Scenarios", ...schema }, null, 2)}\n`);
    });
}
