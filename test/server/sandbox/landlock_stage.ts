import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { selfConfine } from "../../../server/runtime/self.ts";
import { lookForEngine } from "../../../server/sandbox/engine.ts";

const GATE = fileURLToPath(new URL("../../../dist/bin/gate", import.meta.url));

/** The words that start the process which restricts itself: those of the executable, if it is built. */
export const CONFINE = existsSync(GATE) ? [GATE, "sandbox-confine"] : selfConfine();

const found = await lookForEngine({ bubblewrap: [], confine: CONFINE });

/** Landlock, on a machine without bubblewrap; null if it cannot be tried here. */
export const LANDLOCK = found.engine;
if (LANDLOCK === null) {
  console.error(
    `NOT RUN on ${process.platform}: no command was tried under Landlock (${found.why})`,
  );
}
