import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeWhole } from "../runtime/small_file.ts";

/** The projects whose `overrideGlobal` a person trusts on this machine. */
export const TrustFile = z.object({ override_global: z.array(z.string()) });

/** The path of the trust file. Only a person's own commands write it. */
export function trustFile(home: string): string {
  return join(home, "trust.json");
}

/** Whether a person trusts the project's override. An unreadable file means no trust. */
export function isOverrideTrusted(path: string, projectId: string): boolean {
  return readTrust(path).includes(projectId);
}

/** Grants or revokes the trust in a project's override. */
export function setOverrideTrust(home: string, projectId: string, trusted: boolean): void {
  const path = trustFile(home);
  const others = readTrust(path).filter((id) => id !== projectId);
  const override_global = trusted ? [...others, projectId] : others;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeWhole(path, `${JSON.stringify({ override_global }, null, 2)}\n`, 0o600);
}

function readTrust(path: string): string[] {
  try {
    return TrustFile.parse(JSON.parse(readFileSync(path, "utf8"))).override_global;
  } catch {
    return [];
  }
}
