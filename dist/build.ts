/** How the project ships: `deno run -A dist/build.ts ui`. */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { buildDashboard } from "./dashboard.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const STEPS: Record<string, () => Promise<void>> = {
  ui: async () => {
    const files = await buildDashboard(ROOT);
    console.log(`dist/ui: index.html, ${files.join(", ")}`);
  },
};

await main(process.argv.slice(2));

async function main(names: string[]): Promise<void> {
  for (const name of names) {
    const step = STEPS[name];
    if (!step) {
      console.error(`Cannot build "${name}": choose from ${Object.keys(STEPS).join(", ")}`);
      process.exitCode = 64;
      return;
    }
    await step();
  }
}
