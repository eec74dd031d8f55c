import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { z } from "zod";
import type { Io } from "../../io.ts";
import { ScenarioDocument } from "../schema.ts";

/** `scenario-tool schema`: prints the JSON Schema of a scenario file, for editors and other tools. */
export function createCommand(io: Io): CommandUnknownOpts {
  return new Command("schema")
    .description("Print the JSON Schema of a scenario file.")
    .action(() => {
      const schema = z.toJSONSchema(ScenarioDocument, { unrepresentable: "any" });
      io.stdout.write(`${JSON.stringify({ title: "Scenarios", ...schema }, null, 2)}\n`);
    });
}
