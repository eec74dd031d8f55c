import { commandsOf, type Proof } from "../../policy/prove/proved.ts";
import { findProgram, type Program } from "../../runtime/find_program.ts";
import { CAN_RUN_PROVED } from "../../runtime/run_proved.ts";
import { ownEnvironment } from "../../runtime/self.ts";
import type { ParsedInput } from "../plan.ts";

/**
 * The program files of a proved command, found as its shell would find them. Null if it is not
 * proved, or if a program is not there yet: then only a shell can run it.
 */
export function programsOf(
  { search_path = ownEnvironment()["PATH"] ?? "" }: Pick<ParsedInput, "search_path">,
  proof: Proof | null,
): Program[] | null {
  if (!CAN_RUN_PROVED || proof === null || "unproved" in proof) return null;
  const found = new Map<string, Program>();
  for (const { argv: [name], builtin, folders } of commandsOf(proof.proved)) {
    if (builtin && name !== "which") continue;
    for (const folder of folders) {
      const program = findProgram(name, folder, search_path);
      if (!program) return null;
      found.set(program.name, program);
    }
  }
  return [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1);
}
