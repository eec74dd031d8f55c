import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { visibleLine } from "../../../terminal/visible.ts";
import { ToolError } from "../../errors.ts";
import { mergeHeaders, withoutCredentials } from "../../execute/headers.ts";
import { serialize } from "../../execute/race/serialize.ts";
import type { Target } from "../../execute/target.ts";
import type { Execution, Scenario } from "../../schema.ts";
import type { RunResult } from "../../summary.ts";
import { curlOf } from "../curl.ts";
import { namesIn, shellWord, withoutValues, withPlaceholders } from "./placeholders.ts";
import { raceScript } from "./race_script.ts";

/** How a run was started, as far as repeating a part of it depends on that. */
export interface ReproRun {
  target: Target;
  headers: Record<string, string>;
  identities: ReadonlyMap<string, Record<string, string>>;
  /** Any TLS certificate was accepted. */
  insecure: boolean;
  /** Flags that are handed on as they were. */
  flags: string[];
}

/**
 * Writes a folder for each failure that says what happened and repeats it: as a run of this tool, as
 * curl, as raw bytes and, for a race, as a script of its own. No credential of the run is written down.
 * @returns how many @throws ToolError when it cannot be written
 */
export function writeRepros(
  folder: string,
  { scenarios, executions }: RunResult,
  run: ReproRun,
): number {
  const byId = new Map(scenarios.map((scenario) => [scenario.scenario_id, scenario]));
  const failures = executions.filter(({ status }) => status === "failed");
  for (const execution of failures) {
    const scenario = withPlaceholders(byId.get(execution.scenario_id)!);
    write(join(folder, execution.scenario_id), filesOf(scenario, execution, run));
  }
  return failures.length;
}

function filesOf(
  scenario: Scenario,
  execution: Execution,
  run: ReproRun,
): Record<string, string | Uint8Array> {
  const files: Record<string, string | Uint8Array> = {
    "scenario.json": `${JSON.stringify({ scenarios: [scenario] }, null, 2)}\n`,
    "repeat.sh": repeatScript(scenario, run),
  };
  if (scenario.exec?.mode === "http") {
    const exec = { ...scenario.exec, headers: headersOf(scenario, run) };
    const { method = "GET", path = "", headers, body } = exec;
    const curl = curlOf({ ...scenario, exec }, run.target.url, {
      word: shellWord,
      insecure: run.insecure,
    });
    files["curl.sh"] = shellScript(curl!, { path, headers, body });
    files["request.http"] = serialize(run.target, { method, path, headers, body });
    if (execution.evidence.race) {
      files["race.mjs"] = raceScript({ ...exec, headers }, execution, run);
    }
  }
  return { ...files, "README.md": readme(scenario, execution, Object.keys(files)) };
}

/** What the run added, without values that nobody may read, below what the scenario says itself. */
function headersOf({ exec }: Scenario, { headers, identities }: ReproRun): Record<string, string> {
  const [first] = [...identities].map(([name, given]) => withoutValues(given, name));
  const added = withoutValues(headers);
  const base = exec!.anonymous ? withoutCredentials(added) : mergeHeaders(first ?? {}, added);
  return mergeHeaders(base, exec!.headers ?? {});
}

function repeatScript(scenario: Scenario, run: ReproRun): string {
  const headers = Object.entries(withoutValues(run.headers)).map((
    [name, value],
  ) => ["-H", `${name}: ${value}`]);
  const identities = [...run.identities].flatMap(([name, given]) =>
    Object.entries(withoutValues(given, name)).map((
      [header, value],
    ) => ["--as", `${name}=${header}: ${value}`])
  );
  const words = [...headers, ...identities].flat();
  const names = namesIn(JSON.stringify(scenario.exec ?? {}), ...words);
  const secrets = names.flatMap((name) => ["--secret", name]);
  const given = [...run.flags, ...words, ...secrets].map(literal).join(" ");
  return `#!/bin/sh
# ${
    visibleLine(scenario.scenario_id)
  } again: exits with 0 once it is mended. SCENARIO_TOOL names the tool.
${needs(names)}here=$(CDPATH= cd "$(dirname "$0")" && pwd)
exec \${SCENARIO_TOOL:-scenario-tool} run --scenarios "$here/scenario.json" \\
  --target "\${TARGET:-${run.target.url}}" ${given}
`;
}

/** Placeholders reach the tool as they are: it fills them in itself. */
function literal(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function shellScript(command: string, exec: object): string {
  const text = JSON.stringify(exec);
  const uniq = text.includes("{{uniq}}") ? 'UNIQ="${UNIQ:-$(date +%s)$$}"\n' : "";
  return `#!/bin/sh\n${needs(namesIn(text))}${uniq}${command}\n`;
}

function needs(names: string[]): string {
  return names.map((name) => `: "\${${name}:?set it: a pack holds no secrets}"\n`).join("");
}

const PURPOSES: Record<string, string> = {
  "scenario.json": "the scenario alone",
  "repeat.sh": "runs it again and judges it",
  "curl.sh": "the request, by curl",
  "request.http": "the bytes of the request; {{NAME}} stands for what is not written down",
  "race.mjs": "the volley, by Node alone; exits with 1 while more than one request wins",
};

function readme(scenario: Scenario, execution: Execution, files: string[]): string {
  const line = (text: string) =>
    visibleLine(text).replaceAll(/[\\`*_[\]<>]/g, (char) => `\\${char}`);
  return `# ${scenario.scenario_id} (${scenario.priority}) ${line(scenario.title)}

- Expected: ${line(scenario.expected_behavior)}
- Happened: ${line(execution.reason)}

${files.map((file) => `- \`${file}\`: ${PURPOSES[file]}`).join("\n")}
`;
}

function write(folder: string, files: Record<string, string | Uint8Array>): void {
  try {
    mkdirSync(folder, { recursive: true });
    for (const [name, content] of Object.entries(files)) {
      const path = join(folder, name);
      writeFileSync(path, content);
      if (/\.(sh|mjs)$/.test(name)) chmodSync(path, 0o755);
    }
  } catch (cause) {
    throw new ToolError(`Cannot write the pack "${folder}": ${(cause as Error).message}`, {
      cause,
    });
  }
}
