import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildDashboard } from "../dist/dashboard.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Builds the page of audit bundles, unless that was done. */
export async function ensureEvidencePage(): Promise<void> {
  if (!existsSync(`${ROOT}/dist/ui/evidence.html`)) await buildDashboard(ROOT);
}
