import type { PeerRow } from "./peers.ts";
import type { TwinRow } from "./twins.ts";

/** The figures of one application. */
export interface Measured {
  name: string;
  operations: number;
  /** The operations that never succeeded. */
  untested: number;
  executed: number;
  duration_ms: number;
  /** The findings that only the second run showed. */
  later: string[];
  /** Passes without a control. */
  empty: number;
  /** The page of the authors that lists the holes. */
  source: string;
  holes: { hole: string; shown: string | null; missed: string; unseen: string }[];
  judged: {
    finding: string;
    severity: string;
    again: boolean;
    is: "true" | "false" | "not judged";
    why: string;
  }[];
}

/** The results as a page, without a path, a port or an address of the machine that ran them. */
export function resultsOf(
  { measured, peers, twins, executable }: {
    measured: Measured[];
    peers: PeerRow[];
    twins: TwinRow[];
    /** The compiled executable was measured, not the source. */
    executable: boolean;
  },
  apps: readonly string[],
): string {
  const left = apps.filter((name) => !measured.some((one) => one.name === name));
  const all = measured.flatMap((one) => one.holes);
  const holes = all.filter(isCounted);
  const judged = measured.flatMap((one) => one.judged);
  const found = holes.filter(({ shown }) => shown !== null).length;
  const wrong = judged.filter(({ is }) => is === "false").length;
  const later = measured.flatMap((one) => one.later.map((finding) => `${one.name}: ${finding}`));
  const again = judged.filter((one) => one.again).length;
  return [
    "# The scenario tool on applications of other authors",
    "",
    "`deno task test:targets` writes this page when `GATE_TARGETS` names six applications or more.",
    "Two ordinary logins, the application's own document, `--try login-limit,slow-sql,slow-pattern`.",
    `Measured: the ${executable ? "compiled executable (`GATE_TOOL`)" : "source"}.`,
    "",
    "The lists of holes are those of the applications' authors, line by line; none is ours.",
    "",
    `- Documented holes that requests of two ordinary logins can show: **${found} of ` +
    `${holes.length}** (${percent(found, holes.length)}) found.`,
    "- Security Vulnerability Lab came last: before anything was mended for it, 2 of 4 were found.",
    `- Of all ${all.length} lines of the authors: ${percent(found, all.length)}. The other ` +
    `${all.length - holes.length} show in a browser, a database or the source only, need another ` +
    "kind of login, or are not in the version that was started; the tables say which.",
    `- Findings: ${judged.length}, each judged one by one; **${wrong} false** ` +
    `(${percent(wrong, judged.length)}).`,
    `- A second run on a fresh start showed ${again} of ${judged.length} again.`,
    ...(later.length === 0 ? [] : [`- Only the second run showed ${later.join("; ")}.`]),
    ...(left.length === 0 ? [] : [`- Not started in this run: ${left.join("; ")}.`]),
    `- Passes that name no request that succeeded: ${sum(measured.map((one) => one.empty))}.`,
    "",
    "| application | operations | never succeeded | requests judged | seconds | findings | false | holes |",
    "|---|---|---|---|---|---|---|---|",
    ...measured.map(row),
    "",
    ...twinTable(twins),
    ...peerTable(peers, measured),
    ...measured.flatMap(section),
  ].join("\n");
}

function row({ name, operations, untested, executed, duration_ms, judged, holes }: Measured) {
  const wrong = judged.filter(({ is }) => is === "false").length;
  const counted = holes.filter(isCounted);
  const found = counted.filter(({ shown }) => shown !== null).length;
  const share = counted.length === 0 ? "–" : `${found} of ${counted.length}`;
  const seconds = Math.round(duration_ms / 1_000);
  return `| ${name} | ${operations} | ${untested} | ${executed} | ${seconds} | ${judged.length} | ` +
    `${wrong} | ${share} |`;
}

function twinTable(twins: TwinRow[]): string[] {
  if (twins.length === 0) return [];
  const listed = (names: string[]) => names.length === 0 ? "0" : cell(names.join("; "));
  return [
    "## Our own twins",
    "",
    "Each service runs twice with its holes, and once as its guarded twin, which has none.",
    "",
    "| twin | holes | found | findings | about no hole | unlike in the second run | findings on the guarded twin |",
    "|---|---|---|---|---|---|---|",
    ...twins.map(({ name, holes, missed, findings, stray, guarded, unlike }) =>
      `| ${name} | ${holes} | ${holes - missed.length} | ${findings} | ${listed(stray)} | ` +
      `${listed(unlike)} | ${listed(guarded)} |`
    ),
    "",
  ];
}

function peerTable(peers: PeerRow[], measured: Measured[]): string[] {
  if (peers.length === 0) return [];
  const ours = measured.map(({ name, duration_ms, judged }) => ({
    app: name,
    tool: "scenario-tool",
    seconds: Math.round(duration_ms / 100) / 10,
    reported: `${judged.length} findings, ${judged.filter(({ is }) => is === "true").length} true`,
    effort: "the document and two logins",
  }));
  const rows = measured.flatMap(({ name }) =>
    [...ours, ...peers].filter(({ app }) => app === name)
  );
  return [
    "## Side by side",
    "",
    "Schemathesis is missing: it is on PyPI only, and the others are npm and Debian packages.",
    "The time of the scenario tool includes races, delays and 20 wrong passwords for each login.",
    "",
    "| application | tool | seconds | what it reported | effort |",
    "|---|---|---|---|---|",
    ...rows.map(({ app, tool, seconds, reported, effort }) =>
      `| ${app} | ${tool} | ${seconds} | ${cell(reported)} | ${cell(effort)} |`
    ),
    "",
  ];
}

/** True for a hole that requests can show. */
function isCounted({ unseen }: { unseen: string }): boolean {
  return unseen === "";
}

function section({ name, source, holes, judged }: Measured): string[] {
  return [
    `## ${name}`,
    "",
    ...(holes.length === 0 ? [] : [
      `Holes as in ${source}:`,
      "",
      "| documented hole | found by | missed because |",
      "|---|---|---|",
      ...holes.map(({ hole, shown, missed, unseen }) => {
        const why = unseen === "" ? missed : `not counted: ${unseen}`;
        return `| ${cell(hole)} | ${shown === null ? "–" : cell(shown)} | ${cell(why)} |`;
      }),
      "",
    ]),
    "| finding | severity | true | why | again |",
    "|---|---|---|---|---|",
    ...judged.map(({ finding, severity, is, why, again }) =>
      `| ${cell(finding)} | ${severity} | ${is} | ${cell(why)} | ${again ? "yes" : "no"} |`
    ),
    "",
  ];
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll(/[<>]/g, (one) => one === "<" ? "&lt;" : "&gt;");
}

function percent(part: number, whole: number): string {
  return `${Math.round(100 * part / Math.max(1, whole))} %`;
}

function sum(numbers: number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
