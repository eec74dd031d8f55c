import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { VERSION } from "../../server/constants.ts";
import { Exit } from "../errors.ts";
import type { Io } from "../io.ts";

/** `gate scenario …`: the scenario tool, as when it is called by its own name. */
export function createCommand(io: Io): CommandUnknownOpts {
  return new PassedOn("scenario")
    .description(
      "Adversarial test scenarios, as scenario-tool makes and runs them: gate scenario --help.",
    )
    .argument("[args...]")
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args) => {
      const { main } = await import("../scenario/main.ts");
      throw new Exit(await main(args, { ...io, version: VERSION }));
    });
}

/** Help and usage errors are the tool's own, exit codes included. */
class PassedOn extends Command {
  override copyInheritedSettings(parent: CommandUnknownOpts): this {
    return super.copyInheritedSettings(parent).helpOption(false);
  }
}
