import { resolve } from "node:path";
import type { Target } from "../../execute/target.ts";
import type { ScenarioIo } from "../../io.ts";
import type { RunOptions } from "../../run.ts";
import type { Secrets } from "../../secrets.ts";
import type { RunResult } from "../../summary.ts";
import { writeRepros } from "./repro.ts";

/** Writes the packs that `--repro` asks for, and says where. @throws ToolError */
export function packFailures(
  result: RunResult,
  target: Target,
  options: RunOptions,
  { io, secrets }: { io: ScenarioIo; secrets: Secrets },
): void {
  const folder = options.repro!;
  const count = writeRepros(resolve(io.cwd, folder), result, {
    target,
    headers: secrets.redact(options.header),
    identities: new Map([...options.as].map(([name, given]) => [name, secrets.redact(given)])),
    insecure: options.insecure ?? false,
    flags: flagsOf(options),
  });
  if (count === 0) return;
  const what = count === 1 ? "failure" : `${count} failures`;
  io.stderr.write(`How to repeat the ${what} is in ${folder}\n`);
}

/** What decides how a scenario is carried out, and has no secret in it. */
function flagsOf(options: RunOptions): string[] {
  const flags: [string, string | number | true | undefined][] = [
    ["--timeout", options.timeout],
    ["--race-strategy", options.raceStrategy],
    ["--race-rounds", options.raceRounds],
    ["--chaos", options.chaos?.join(",")],
    ["--insecure", options.insecure],
    ["--allow-destructive", options.allowDestructive],
    ["--driver", options.driver],
  ];
  return flags.flatMap(([name, value]) =>
    value === undefined ? [] : value === true ? [name] : [`${name}=${value}`]
  );
}
