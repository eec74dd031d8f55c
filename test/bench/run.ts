/**
 * `deno task bench [name …]` runs the named benchmarks, or all of them. Each `<name>.bench.ts` exports
 * `bench()`, which measures gate and its reference in the same run.
 */
import { readdirSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import process from "node:process";

const SUFFIX = ".bench.ts";

await main(process.argv.slice(2));

async function main(names: string[]): Promise<void> {
  const known = readdirSync(import.meta.dirname!).filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length)).sort();
  const missing = names.find((name) => !known.includes(name));
  if (missing) throw new Error(`No bench is called "${missing}": ${known.join(", ")}`);
  const load = loadavg()[0]!.toFixed(1);
  console.log(
    `${cpus().length} × ${cpus()[0]!.model}, ${process.platform} ${process.arch}, load ${load}`,
  );
  for (const name of known.filter((name) => names.length === 0 || names.includes(name))) {
    console.log(`\n${name}`);
    const { bench } = await import(`./${name}.bench.ts`) as { bench(): void | Promise<void> };
    // A benchmark may need something that this machine lacks. The others still run.
    await Promise.resolve().then(bench).catch((error) => {
      console.log(`  NOT MEASURED: ${(error as Error).message}`);
      process.exitCode = 1;
    });
  }
}
