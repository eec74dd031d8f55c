import { Command } from "@commander-js/extra-typings";
import {
  type AnalyticsSummary,
  AnalyticsWindow,
  type Attention,
} from "../../server/analytics/schema.ts";
import { unwrap } from "../../server/client.ts";
import { connect } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { examples, matching } from "../options.ts";
import { openProject } from "../project.ts";
import { count, paint, print, printJson, say, table } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate analytics`: how the policy and the people decide. */
export function createCommand(io: Io) {
  const analytics = new Command("analytics")
    .description("Sum up the decisions of the last hours or days, and how carefully people decide.")
    .addHelpText("after", HELP);
  analytics.command("summary")
    .description("Sum up the decisions: outcomes, blocked paths, waiting times.")
    .option("--window <time>", WINDOW_HELP, matching(AnalyticsWindow))
    .option("--project <id>", "only this project (default: all projects)")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate analytics summary", "gate analytics summary --window 6h"))
    .action(async ({ window, project, json }) => {
      const query = { window };
      const summary = project === undefined
        ? await unwrap((await viewer(io)).api.global.analytics.summary.$get({ query }))
        : await unwrap((await openProject(io, project)).api.analytics.summary.$get({ query }));
      if (json) return printJson(io, summary);
      showSummary(io, summary);
    });
  analytics.command("attention")
    .description(
      "Compare the time that each person took for their decisions with the length of what they " +
        "read, and count approvals that were too quick to be a review.",
    )
    .option("--window <time>", WINDOW_HELP, matching(AnalyticsWindow))
    .option("--project <id>", "only this project (default: all projects)")
    .option("--json", "print JSON")
    .addHelpText("after", ATTENTION_HELP)
    .action(async ({ window, project, json }) => {
      const query = { window };
      const attention = project === undefined
        ? await unwrap((await viewer(io)).api.global.analytics.attention.$get({ query }))
        : await unwrap((await openProject(io, project)).api.analytics.attention.$get({ query }));
      if (json) return printJson(io, attention);
      showAttention(io, attention);
    });
  return analytics;
}

const WINDOW_HELP = "the last minutes, hours or days, such as 30m, 6h or 7d (default: 30d)";

const viewer = (io: Io) => connect(io, { scope: "viewer" });

function showSummary(io: Io, summary: AnalyticsSummary): void {
  const { window, decisions, approval_latency, top_blocked_paths, policy_accuracy } = summary;
  const { total, approved, rejected, blocked, expired, cancelled } = decisions;
  print(io, `${count(total, "decision")} in ${window}`);
  print(
    io,
    `  approved ${approved}, rejected ${rejected}, blocked ${blocked}, expired ${expired}, ` +
      `cancelled ${cancelled}`,
  );
  const { p50_ms, p95_ms } = approval_latency;
  if (p50_ms !== null && p95_ms !== null) {
    print(
      io,
      `  a person decides half of them in ${timeOf(p50_ms)}, 95 of 100 in ${timeOf(p95_ms)}`,
    );
  }
  const { asked_always_approved, allowed_later_rolled_back } = policy_accuracy;
  if (asked_always_approved) {
    print(io, `  ${count(asked_always_approved, "rule")} asked often and nothing was rejected`);
  }
  if (allowed_later_rolled_back) {
    const were = allowed_later_rolled_back === 1 ? "was" : "were";
    print(io, `  ${count(allowed_later_rolled_back, "allowed action")} ${were} rolled back later`);
  }
  if (top_blocked_paths.length === 0) return;
  print(io, "\nMost blocked");
  const rows = top_blocked_paths.slice(0, MOST).map((one) => [
    `  ${one.count}`,
    visibleLine(one.path),
  ]);
  print(io, table(rows));
}

function showAttention(io: Io, { window, reviewers }: Attention): void {
  if (reviewers.length === 0) return print(io, `No person decided in ${window}.`);
  const rows = reviewers.map((one) => [
    visibleLine(one.reviewer),
    `${one.decisions}`,
    `${one.approved}`,
    one.median_ms === null ? "" : timeOf(one.median_ms),
    `${one.characters}`,
    `${one.quick}`,
    `${one.quick_risky}`,
    `${one.longest_streak}`,
  ]);
  print(io, table([HEAD, ...rows]));
  for (const { reviewer, longest_streak } of reviewers.filter(({ is_streak }) => is_streak)) {
    const what = `${longest_streak} approvals in a row took less time than reading them takes`;
    say(io, paint(io, "yellow", `${visibleLine(reviewer)}: ${what}`));
  }
}

const MOST = 10;
const HEAD = [
  "person",
  "decisions",
  "approved",
  "median",
  "characters",
  "quick",
  "risky",
  "streak",
];

/** A duration in one unit: `640 ms`, `12 s`, `3 min`. */
function timeOf(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

const ATTENTION_HELP = `
Columns:
  median      half of the decisions took less time
  characters  the length of the commands and new contents that the person decided about
  quick       approvals that took less time than reading takes
  risky       quick approvals of high or critical risk
  streak      the longest row of quick approvals
${examples("gate analytics attention --window 7d")}`;

const HELP = `
Examples:
  gate analytics summary --window 7d
  gate analytics attention
`;
