import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

/** Projects whose `overrideGlobal` a person has trusted on this machine. */
export const TrustFile = z.object({ override_global: z.array(z.string()) });

/** Where trust is kept; only a person's own commands write there. */
export function trustFile(home: string): string {
  return join(home, "trust.json");
}

/** Whether a person has trusted the project's override; anything unreadable is no trust. */
export function isOverrideTrusted(path: string, projectId: string): boolean {
  try {
    const read = TrustFile.safeParse(JSON.parse(readFileSync(path, "utf8")));
    return read.success && read.data.override_global.includes(projectId);
  } catch {
    return false;
  }
}
