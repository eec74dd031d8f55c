import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "../../server/constants.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The version that the older gate reports. */
export const OLDER_VERSION = "4.99.0";

/** Writes this program into `folder` with an older version number. Returns its command line. */
export function olderGate(folder: string): string[] {
  const bundle = readFileSync(join(ROOT, "dist/node/gate.mjs"), "utf8");
  const parts = bundle.split(JSON.stringify(VERSION));
  if (parts.length !== 2) throw new Error(`the bundle names its version ${parts.length - 1} times`);
  mkdirSync(folder);
  const path = join(folder, "gate.mjs");
  writeFileSync(path, parts.join(JSON.stringify(OLDER_VERSION)));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return ["node", path];
}
