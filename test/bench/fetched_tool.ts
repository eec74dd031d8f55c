import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The time limit for npm, which can hang without a network. */
const TIMEOUT_MS = 180_000;

/**
 * Installs another tool into a temporary folder, because as a dependency it would add hundreds of
 * packages. Returns the path of its program; prints a message and returns null if npm fails.
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
