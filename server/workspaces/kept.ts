import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeWhole } from "../runtime/small_file.ts";

/** A workspace as it is kept beside the registry: no ledger knows of it, should that be lost. */
export const KeptWorkspace = z.object({
  id: z.string(),
  name: z.string(),
  created_at: z.string(),
  projects: z.array(z.object({ project_id: z.string(), name: z.string() })),
});
export type KeptWorkspace = z.infer<typeof KeptWorkspace>;

/** Keeps them in place of those that were kept before. */
export function keepWorkspaces(home: string, kept: KeptWorkspace[]): void {
  writeWhole(pathIn(home), JSON.stringify(kept, null, 2), 0o600);
}

/** Those that were kept; none where nothing was. @throws Error when the file cannot be read */
export function readKeptWorkspaces(home: string): KeptWorkspace[] {
  let text: string;
  try {
    text = readFileSync(pathIn(home), "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return [];
    throw error;
  }
  return z.array(KeptWorkspace).parse(JSON.parse(text));
}

function pathIn(home: string): string {
  return join(home, "workspaces.json");
}
