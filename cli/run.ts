import { CommanderError } from "@commander-js/extra-typings";
import { EXIT, reportError } from "./errors.ts";
import type { Io } from "./io.ts";
import { createProgram } from "./program.ts";

/** Runs one command line and answers its exit code; never throws, never ends the process. */
export async function run(argv: string[], io: Io): Promise<number> {
  try {
    const meant = argv.find((word) => !word.startsWith("-") && word !== "help");
    const program = await createProgram(io, (name) => name === meant);
    await program.parseAsync(argv.length === 0 ? ["help"] : argv, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportError(error, io);
  }
}
