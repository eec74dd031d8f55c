import { z } from "zod";
import type { CallToolResult } from "./sdk.ts";
import { quote } from "../shown/quote.ts";

const header = z.string().min(1).max(8_000).regex(/^[\w!#$%&'*+.^`|~-]+:[^\r\n]*$/);
const path = z.string().min(1).max(4_096).refine((text) => !text.startsWith("-"));
const list = <T extends z.ZodType>(one: T) => z.array(one).min(1).max(20).optional();

/** The input of `scenario_run`. */
export const ScenarioRunInput = z.strictObject({
  target: z.url({ protocol: /^https?$/ }).max(2_000)
    .describe(
      "base URL of the running service; a service on another machine needs a person's approval",
    ),
  scenarios: list(path).describe(
    "scenario files; the default without `spec` is scenarios.json or openapi.json",
  ),
  spec: list(path).describe("OpenAPI, HAR, Postman or Markdown to generate scenarios from"),
  depth: z.enum(["light", "normal", "aggressive"]).optional(),
  budget: z.number().int().min(1).max(5_000).optional().describe("the most scenarios to generate"),
  filter: z.string().min(1).max(500).optional().describe("regular expression on id or title"),
  priority: list(z.enum(["critical", "high", "medium", "low"])),
  headers: list(header).describe('sent with every request: "Name: value"'),
  identities: z.record(z.string().regex(/^[A-Za-z]\w{0,31}$/), header).optional()
    .describe(
      '{"alice": "Authorization: Bearer {{ALICE}}", "bob": …}: tests which data each one may see',
    ),
  secrets: list(z.string().regex(/^[A-Z_][A-Z0-9_]*$/))
    .describe("environment variables that replace {{NAME}}; their values are never shown"),
});
export type ScenarioRunInput = z.infer<typeof ScenarioRunInput>;

const Failure = z.looseObject({ scenario_id: z.string(), priority: z.string() });

/** The last line that the scenario tool prints. */
const Brief = z.looseObject({
  summary: z.looseObject({ scenarios: z.number(), executed: z.number(), failed: z.number() }),
  failures: z.array(Failure),
  more_failures: z.number(),
  exit_code: z.number().int(),
});

/** The fields that `scenario_run` adds to the result of a command. */
export const ScenarioRunAnswer = {
  summary: Brief.shape.summary.optional().describe("the counts of the run"),
  failures: z.array(Failure).optional().describe(
    "the most important failures, each with the way to repeat it",
  ),
  more_failures: z.number().optional(),
};

/** The command line that policy evaluates, a person reviews and the ledger keeps. */
export function scenarioCommand(program: readonly string[], input: ScenarioRunInput): string {
  const { target, scenarios, spec, depth, budget, filter, priority, headers, secrets } = input;
  const each = (flag: string, values: readonly string[] = []) =>
    values.map((value) => `${flag}=${value}`);
  const one = (flag: string, value?: string | number) =>
    value === undefined ? [] : [`${flag}=${value}`];
  const words = [
    ...["scenario", "run", "--only-requests", "--output", "brief", `--target=${target}`],
    ...each("--scenarios", scenarios),
    ...each("--spec", spec),
    ...one("--depth", depth),
    ...one("--budget", budget),
    ...one("--filter", filter),
    ...each("--priority", priority),
    ...each("--header", headers),
    ...Object.entries(input.identities ?? {}).map(([name, is]) => `--as=${name}=${is}`),
    ...each("--secret", secrets),
  ];
  return [...program, ...words].map(quote).join(" ");
}

const RAN = " scenario run --only-requests --output brief ";

/** A command line of words only: no operators, expansions or redirects. */
const ONLY_WORDS = /^(?:[\w./:@=+,-]+|'(?:[^']|'\\'')*')(?: (?:[\w./:@=+,-]+|'(?:[^']|'\\'')*'))*$/;

/**
 * The variables that a run of this program's scenario tool names with `--secret`. None for other
 * commands: any program could otherwise ask for a variable that commands do not get.
 */
export function namedSecrets(program: readonly string[], command: string): string[] {
  const isOurs = command.startsWith(program.map(quote).join(" ") + RAN);
  if (!isOurs || !ONLY_WORDS.test(command)) return [];
  return [...command.matchAll(/ --secret=([A-Z_][A-Z0-9_]*)(?= |$)/g)].map(([, name]) => name!);
}

/** The result with the counts of the run, if its command is the scenario tool. */
export function withFigures(result: CallToolResult): CallToolResult {
  const fields = result.structuredContent as Record<string, unknown> | undefined;
  if (typeof fields?.command !== "string" || !fields.command.includes(RAN)) return result;
  const brief = briefOf(String(fields.output ?? ""));
  if (!brief) return result;
  const { summary, failures, more_failures } = brief;
  const { output: _output, ...rest } = fields;
  const structured = { ...rest, message: messageOf(brief), summary, failures, more_failures };
  return {
    ...result,
    structuredContent: structured,
    content: [{ type: "text", text: JSON.stringify(structured) }],
  };
}

function briefOf(output: string): z.infer<typeof Brief> | null {
  const line = output.split("\n").findLast((text) => text.startsWith('{"summary"'));
  try {
    return Brief.parse(JSON.parse(line ?? ""));
  } catch {
    return null; // the output was cut, or the tool ended with an error that is in the output
  }
}

function messageOf({ summary: { executed, failed }, exit_code }: z.infer<typeof Brief>): string {
  if (executed === 0) return "Nothing was tested: no scenario was executed.";
  if (failed === 0) return `All ${executed} executed scenarios passed or decided nothing.`;
  const critical = exit_code === 2 ? ", some of them critical" : "";
  return `${failed} of ${executed} executed scenarios failed${critical}: see failures.`;
}
