import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** How long a package may take to come; without a network it never comes. */
const TIMEOUT_MS = 180_000;

/**
 * Another tool to be measured against, fetched into a folder that is thrown away: as a dependency it
 * would bring hundreds of packages for nobody. Null, said loudly, where it cannot be fetched.
 */
export function fetchTool(pack: string, bin: string, folder: string): string | null {
  const name = pack.slice(0, pack.lastIndexOf("@"));
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, pack];
  const { status } = spawnSync("npm", args, { stdio: "ignore", timeout: TIMEOUT_MS });
  if (status !== 0) {
    console.log(`  SKIPPED: ${pack} could not be fetched, so nothing is compared with it`);
    return null;
  }
  const root = join(folder, "node_modules", name);
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return join(root, typeof manifest.bin === "string" ? manifest.bin : manifest.bin[bin]);
}
