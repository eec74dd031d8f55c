import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { VERSION } from "../../server/constants.ts";
import { Exit } from "../errors.ts";
import type { Io } from "../io.ts";

/** `gate scenario …`: the scenario tool, the same as `scenario-tool …`. */
export function createCommand(io: Io): CommandUnknownOpts {
  return new PassThrough("scenario")
    .description(
      "Generate and run adversarial tests against a server or a command: gate scenario --help.",
    )
    .argument("[args...]")
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args) => {
      const { main } = await import("../scenario/main.ts");
      throw new Exit(await main(args, { ...io, version: VERSION, called: "gate scenario" }));
    });
}

/** Leaves help, usage errors and exit codes to the scenario tool. */
class PassThrough extends Command {
  override copyInheritedSettings(parent: CommandUnknownOpts): this {
    return super.copyInheritedSettings(parent).helpOption(false);
  }
}
