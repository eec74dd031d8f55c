/**
 * `deno task bench [name …]` runs the named benchmarks, or all of them. Each `<name>.bench.ts` exports
 * `bench()`, which measures gate and its reference in the same run. `RESULTS.md` keeps the last
 * figures of each.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import process from "node:process";

const RESULTS = join(import.meta.dirname!, "RESULTS.md");
const HEAD = `# Results of the benches

\`deno task bench [name …]\` replaces the sections that it measured. Each names its machine and day.
`;

const SUFFIX = ".bench.ts";

await main(process.argv.slice(2));

async function main(names: string[]): Promise<void> {
  const known = readdirSync(import.meta.dirname!).filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length)).sort();
  const missing = names.find((name) => !known.includes(name));
  if (missing) throw new Error(`No bench is called "${missing}": ${known.join(", ")}`);
  const load = loadavg()[0]!.toFixed(1);
  const machine = `${cpus().length} × ${cpus()[0]!.model}, ${process.platform} ${process.arch}`;
  console.log(`${machine}, load ${load}`);
  const measured = new Map<string, string[]>();
  const print = console.log;
  for (const name of known.filter((name) => names.length === 0 || names.includes(name))) {
    print(`\n${name}`);
    const lines: string[] = [];
    measured.set(name, lines);
    console.log = (...parts: unknown[]) => {
      lines.push(parts.join(" "));
      print(...parts);
    };
    const { bench } = await import(`./${name}.bench.ts`) as { bench(): void | Promise<void> };
    // A benchmark may need something that this machine lacks. The others still run.
    await Promise.resolve().then(bench).catch((error) => {
      console.log(`  NOT MEASURED: ${(error as Error).message}`);
      process.exitCode = 1;
    });
    console.log = print;
  }
  writeResults(measured, `${machine}, load ${load}`);
}

/** Replaces the sections of the benches that ran, and keeps the others. */
function writeResults(measured: ReadonlyMap<string, string[]>, machine: string): void {
  const kept = existsSync(RESULTS) ? readFileSync(RESULTS, "utf8").split(/^## /m).slice(1) : [];
  const sections = new Map(kept.map((text) => [text.slice(0, text.indexOf("\n")), `## ${text}`]));
  const day = new Date().toISOString().slice(0, 10);
  for (const [name, lines] of measured) {
    const table = ["```text", ...lines.flatMap((line) => line.split("\n")), "```"].join("\n");
    sections.set(name, `## ${name}\n\n${day}, ${machine}\n\n${table}\n\n`);
  }
  const sorted = [...sections].sort(([a], [b]) => a < b ? -1 : 1);
  writeFileSync(
    RESULTS,
    `${[HEAD, ...sorted.map(([, text]) => text.trim())].join("\n")}\n`
      .replaceAll("```\n## ", "```\n\n## "),
  );
}
