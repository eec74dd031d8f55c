import { resolve } from "node:path";
import { commandsOf, stepsOf } from "../../policy/prove/proved.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import type { ActionServices } from "../context.ts";
import type { Claim } from "../schema.ts";
import type { ActionRow } from "../store.ts";
import { evaluateAgain } from "../submit/evaluate.ts";

/**
 * The programs that a claimed command starts without a shell, as policy evaluates it now. Null if only
 * a shell can run it.
 */
export async function runOf(services: ActionServices, row: ActionRow): Promise<Claim["run"]> {
  const { plan } = row;
  if (!plan?.programs) return null;
  const { proof } = await evaluateAgain(services, row, plan);
  if (proof === null || "unproved" in proof) return null;
  const commands = commandsOf(proof.proved);
  const paths = commands.flatMap(({ redirects, folders }) =>
    redirects.flatMap((one) =>
      "path" in one ? folders.map((folder) => resolve(folder, one.path)) : []
    )
  );
  const links = [...new Set(paths)].flatMap((path) => {
    const { real } = resolvePath(path);
    return real === path ? [] : [{ path, real }];
  });
  return { steps: stepsOf(proof.proved), programs: plan.programs, links };
}
