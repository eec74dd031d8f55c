import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { visibleLine } from "../../terminal/visible.ts";
import { attempt, GIVE_A_PLACE } from "../errors.ts";
import { serialize } from "../execute/http.ts";
import { isCredential, mergeHeaders, withoutCredentials } from "../execute/request.ts";
import type { Target } from "../execute/target.ts";
import type { Execution, Scenario } from "../schema.ts";
import { failuresOf, type RunResult } from "../summary.ts";
import { curlOf, quote, SHORT_BODY } from "./curl.ts";
import { raceScript } from "./race_script.ts";

/** The parts of a run that a repetition needs. */
export interface ReproRun {
  target: Target;
  headers: Record<string, string>;
  identities: ReadonlyMap<string, Record<string, string>>;
  /** Accept any TLS certificate. */
  insecure: boolean;
  /** Flags to repeat unchanged. */
  flags: string[];
}

/**
 * Writes a folder for each failure with what happened and how to repeat it: by this tool, by curl, as
 * raw bytes and, for a race, by a script. Writes no credential of the run. Returns the number of
 * failures. @throws ToolError
 */
export function writeRepros(
  folder: string,
  result: RunResult,
  run: ReproRun,
): number {
  const failures = failuresOf(result);
  for (const { scenario, execution } of failures) {
    const files = filesOf(withPlaceholders(scenario), execution, run);
    write(join(folder, execution.scenario_id), files);
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
  const { mode, body = "" } = scenario.exec ?? {};
  if (mode === "http" && body.length > SHORT_BODY) files["body"] = body;
  return { ...files, "README.md": readme(scenario, execution, Object.keys(files)) };
}

/** The headers that the run adds, without credentials, and those of the scenario over them. */
function headersOf({ exec }: Scenario, { headers, identities }: ReproRun): Record<string, string> {
  const [first] = [...identities].map(([name, given]) => withoutValues(given, name));
  const added = withoutValues(headers);
  const base = exec!.anonymous ? withoutCredentials(added) : mergeHeaders(first ?? {}, added);
  return mergeHeaders(base, exec!.headers ?? {});
}

function repeatScript(scenario: Scenario, run: ReproRun): string {
  const headers = Object.entries(withoutValues(run.headers))
    .map(([name, value]) => ["-H", `${name}: ${value}`]);
  const identities = [...run.identities].flatMap(([name, given]) =>
    Object.entries(withoutValues(given, name))
      .map(([header, value]) => ["--as", `${name}=${header}: ${value}`])
  );
  const words = [...headers, ...identities].flat();
  const names = namesIn(JSON.stringify(scenario.exec ?? {}), ...words);
  const secrets = names.flatMap((name) => ["--secret", name]);
  const given = [...run.flags, ...words, ...secrets].map(literal).join(" ");
  return `#!/bin/sh
# Repeats ${
    visibleLine(scenario.scenario_id)
  }. Exits with 0 once it is fixed. SCENARIO_TOOL names the tool.
${needs(names)}here=$(CDPATH= cd "$(dirname "$0")" && pwd)
exec \${SCENARIO_TOOL:-scenario-tool} run --scenarios "$here/scenario.json" \\
  --target "\${TARGET:-${run.target.url}}" ${given}
`;
}

/** Quotes a word literally, because the tool itself fills in the placeholders. */
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
  "repeat.sh": "repeats the scenario and judges it",
  "curl.sh": "sends the request by curl",
  "request.http": "the bytes of the request; {{NAME}} stands for a secret",
  "body": "the body of the request",
  "race.mjs": "repeats the volley by Node alone; exits with 1 while more than one request wins",
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
  attempt(`write the pack "${folder}"`, GIVE_A_PLACE, () => {
    mkdirSync(folder, { recursive: true });
    for (const [name, content] of Object.entries(files)) {
      const path = join(folder, name);
      writeFileSync(path, content);
      if (/\.(sh|mjs)$/.test(name)) chmodSync(path, 0o755);
    }
  });
}

/** `{{NAME}}`: a value that a pack does not contain. The user sets the variable `NAME`. */
const PLACEHOLDER = /\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}/g;

/** The mark of a secret in a report. */
const TAKEN_OUT = /\[secret ([A-Za-z0-9_]+)\]/g;

/** The headers with placeholders instead of credentials and secrets. */
function withoutValues(headers: Record<string, string>, owner = ""): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const text = withPlaceholders(value);
      const isOpen = isCredential(name) && namesIn(text).length === 0;
      return [name, isOpen ? `{{${variableOf(owner, name)}}}` : text];
    }),
  );
}

/** The same value with `{{NAME}}` instead of each secret. */
function withPlaceholders<T>(value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll(TAKEN_OUT, "{{$1}}"));
}

/** The names of all placeholders except `uniq`, without repetition, in order. */
function namesIn(...texts: string[]): string[] {
  const names = texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!));
  return [...new Set(names)].filter((name) => name !== "uniq");
}

/** One shell word with variables instead of placeholders; `UNIQ` stands for `{{uniq}}`. */
function shellWord(text: string): string {
  // A split at a group makes every second part a name.
  const words = text.split(PLACEHOLDER).map((part, n) =>
    n % 2 === 1 ? `"$${part === "uniq" ? "UNIQ" : part}"` : part === "" ? "" : quote(part)
  );
  return words.join("") || "''";
}

function variableOf(owner: string, header: string): string {
  return [owner, header].filter((part) => part !== "").join("_").replaceAll(/\W/g, "_")
    .toUpperCase();
}
