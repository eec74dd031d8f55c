import type { PeerRow } from "./peers.ts";

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

/** The applications of the last addition, for which nothing was mended yet, so that they show apart. */
const NEW = ["Security Vulnerability Lab"];

/** The results as a page, without a path, a port or an address of the machine that ran them. */
export function resultsOf(
  measured: Measured[],
  peers: PeerRow[],
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
  const unseenBefore = measured.filter(({ name }) => NEW.includes(name));
  const fresh = unseenBefore.flatMap((one) => one.holes).filter(isCounted);
  const freshFound = fresh.filter(({ shown }) => shown !== null).length;
  return [
    "# The scenario tool on applications of other authors",
    "",
    "`deno task test:targets` writes this page when `GATE_TARGETS` names six applications or more.",
    "Two ordinary logins, the application's own document, `--try login-limit,slow-sql,slow-pattern`.",
    "",
    "The lists of holes are those of the applications' authors, line by line; none is ours.",
    "",
    `- Documented holes that requests of two ordinary logins can show: **${found} of ` +
    `${holes.length}** (${percent(found, holes.length)}) found.`,
    ...(fresh.length === 0 ? [] : [
      `- Of these, in applications for which nothing was mended (${
        unseenBefore.map(({ name }) => name).join(", ")
      }): ${freshFound} of ${fresh.length} (${percent(freshFound, fresh.length)}).`,
    ]),
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
    ...peerTable(peers),
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

function peerTable(peers: PeerRow[]): string[] {
  if (peers.length === 0) return [];
  return [
    "## Side by side",
    "",
    "Schemathesis is missing: it is neither an npm nor a Debian package.",
    "",
    "| application | tool | seconds | what it reported | effort |",
    "|---|---|---|---|---|",
    ...peers.map(({ app, tool, seconds, reported, effort }) =>
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
