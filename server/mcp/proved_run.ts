import { homedir } from "node:os";
import type { Claim } from "../actions/schema.ts";
import { prove } from "../policy/prove/prove.ts";
import { commandsOf } from "../policy/prove/proved.ts";
import { listFolder } from "../runtime/real_path.ts";
import type { ProvedRun } from "../runtime/run_proved.ts";

/**
 * The run of a claimed command without a shell; undefined if a shell runs it. Returns a reason if
 * the command would not run as it was judged.
 */
export function provedRun({ command, cwd, run }: Claim): ProvedRun | string | undefined {
  if (!run) return undefined;
  const proof = prove(command, { cwd, user_home: homedir(), list: listFolder });
  const commands = "proved" in proof ? commandsOf(proof.proved).map(({ argv }) => argv) : null;
  if (!("proved" in proof) || JSON.stringify(commands) !== JSON.stringify(run.commands)) {
    return "Cannot run the command: the files that it names by a pattern have changed since it was " +
      "judged; submit it again";
  }
  return { list: proof.proved, programs: run.programs, links: run.links };
}
