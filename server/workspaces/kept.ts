import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeWhole } from "../runtime/small_file.ts";

/** A workspace in the file beside the registry. The file restores it when the registry is lost. */
export const KeptWorkspace = z.object({
  id: z.string(),
  name: z.string(),
  created_at: z.string(),
  projects: z.array(z.object({ project_id: z.string(), name: z.string() })),
});
export type KeptWorkspace = z.infer<typeof KeptWorkspace>;

/** Replaces the file. */
export function keepWorkspaces(home: string, kept: KeptWorkspace[]): void {
  writeWhole(pathIn(home), JSON.stringify(kept, null, 2), 0o600);
}

/** The workspaces in the file; none without a file. @throws Error when the file is unreadable */
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
