import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "../../server/constants.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The version that the older gate reports. */
export const OLDER_VERSION = "4.99.0";

/** Writes this program into `folder` with an older version number. Returns its command line. */
export function olderGate(folder: string): string[] {
  const built = join(ROOT, "dist/node");
  cpSync(built, folder, { recursive: true, filter: (path) => !path.endsWith(".map") });
  const changed = readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const parts = readFileSync(path, "utf8").split(JSON.stringify(VERSION));
    if (parts.length > 1) writeFileSync(path, parts.join(JSON.stringify(OLDER_VERSION)));
    return Array.from(parts.slice(1), () => name);
  });
  if (changed.length !== 1) {
    throw new Error(`the version stands in ${changed.join(", ") || "none"}`);
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return ["node", join(folder, "gate.mjs")];
}
