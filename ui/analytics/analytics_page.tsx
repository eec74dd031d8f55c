import { computed } from "@preact/signals";
import type { AnalyticsSummary } from "../../server/analytics/schema.ts";
import { Empty, Failed, Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { count, durationOf, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { api, unwrap } from "../state/client.ts";
import { daemon, now } from "../state/live.ts";
import { useProject, useWorkspace } from "../state/project.ts";
import { useRead } from "../state/read.ts";
import { Attention } from "./attention.tsx";
import { Bars } from "./bars.tsx";
import { Heat } from "./heat.tsx";
import { OverTime } from "./over_time.tsx";
import { isExact, type Range } from "./periods.ts";
import { RangePicker, useRange } from "./range.tsx";
import { Rules } from "./rules.tsx";
import type { Scope } from "./scope.ts";

/** Shows agents' actions and people's decisions in pictures; each mark opens the actions behind it. */
export function AnalyticsPage() {
  const choose = useRange();
  const { value, problem } = useSummary(choose.range);
  return (
    <main class="scroll page-scroll room">
      <div class="page-head analytics-head">
        <h1>Analytics</h1>
        <RangePicker choose={choose} />
      </div>
      {problem !== null && value !== null && (
        <p class="notice tone-warn" role="status">
          <Text as="span" value={`These figures are not fresh. ${problem}`} />
        </p>
      )}
      {value === null
        ? problem === null
          ? <Skeleton lines={12} />
          : <Failed title="The figures could not be loaded" problem={problem} />
        : <Pictures scope={value} onZoom={choose.between} />}
    </main>
  );
}

/** A range of hours that ends now moves on with each minute. */
const minute = computed(() => Math.floor(now.value / 60_000));

function useSummary(range: Range) {
  const project = useProject();
  const workspace = useWorkspace()?.id;
  const isKnown = daemon.value !== null;
  const { window, to } = range;
  const moves = isExact(range) && to === null ? minute.value : "";
  const read = useRead<Scope | null>(
    `${isKnown} ${project} ${workspace} ${window} ${to} ${moves}`,
    async () => {
      if (!isKnown) return null;
      const query = { window, ...to !== null && { to } };
      if (project === null) {
        const across = { ...query, ...workspace && { workspace } };
        const { global } = api().api;
        const summary = await unwrap(global.analytics.summary.$get({ query: across }));
        return scopeOf(summary, null, range);
      }
      const { analytics, policy } = api(project).api;
      const [summary, hits] = await Promise.all([
        unwrap(analytics.summary.$get({ query })),
        unwrap(policy.hits.$get()),
      ]);
      return scopeOf(summary, hits, range);
    },
    ({ topic, project_id }) =>
      (topic === "actions" || topic === "approvals") && (!project || project_id === project),
  );
  return read;
}

function scopeOf(summary: AnalyticsSummary, hits: Scope["hits"], range: Range): Scope {
  const from = isExact(range) ? summary.from : summary.from.slice(0, "YYYY-MM-DD".length);
  return {
    summary,
    hits,
    range,
    decided: { decided_from: from, decided_to: range.to },
    submitted: { from, to: range.to },
  };
}

interface PicturesProps {
  scope: Scope;
  onZoom: (from: string, to: string) => void;
}

function Pictures({ scope, onZoom }: PicturesProps) {
  const { summary, range, decided } = scope;
  if (summary.decisions.total === 0 && summary.busiest_hours.length === 0) {
    return (
      <Empty icon="chart" title="Nothing happened in this time">
        <p>
          When agents act and people decide, this page shows when, how fast, and which rules did it.
          Choose another time, or let an agent change a file.
        </p>
      </Empty>
    );
  }
  const { approval_latency: latency, top_blocked_paths: paths } = summary;
  return (
    <>
      <Totals scope={scope} />
      <OverTime scope={scope} onZoom={onZoom} />
      {!isExact(range) && <Heat scope={scope} />}
      <div class="analytics-pair">
        <Bars
          title="How long people took"
          note="From the submission to a person’s decision."
          none="No person decided anything in this time."
          rows={latency.distribution.map(({ from_ms, to_ms, count: n }) => ({
            name: spanName(from_ms, to_ms),
            count: n,
            changes: {
              waited_from: String(from_ms),
              waited_to: to_ms === null ? null : String(to_ms),
              ...decided,
            },
          }))}
        />
        <Bars
          title="Blocked paths"
          note="The paths that the policy blocked most often."
          none="The policy blocked no path in this time."
          isCode
          rows={paths.map(({ path, count: n }) => ({
            name: path,
            count: n,
            changes: { path, outcome: "blocked", ...decided },
          }))}
        />
      </div>
      <Rules scope={scope} />
      <Attention range={range} decided={decided} />
      <Bars
        title="Agents"
        note="Decisions on the actions of each agent."
        none="No agent acted in this time."
        rows={summary.decisions.by_agent.map(({ agent, ...outcomes }) => ({
          name: agent,
          count: Object.values(outcomes).reduce((sum, n) => sum + n, 0),
          changes: { agent, ...decided },
        }))}
      />
    </>
  );
}

/** "0", "2.5", "40". */
function percent(share: number): string {
  const value = share * 100;
  return String(value > 0 && value < 10 ? Number(value.toFixed(1)) : Math.round(value));
}

function spanName(from_ms: number, to_ms: number | null): string {
  if (to_ms === null) return `${short(from_ms)} or longer`;
  return from_ms === 0 ? `under ${short(to_ms)}` : `${short(from_ms)} to ${short(to_ms)}`;
}

function short(ms: number): string {
  return ms < 60_000 ? `${ms / 1000} s` : durationOf(ms);
}

function Totals({ scope: { summary, decided, submitted } }: { scope: Scope }) {
  const address = useAddress();
  const { decisions, approval_latency: latency, policy_accuracy: accuracy } = summary;
  const allowed = (decisions.by_step?.steps ?? decisions.by_day)
    .reduce((sum, part) => sum + part.allowed, 0);
  const behind = (outcome: string) => ({ outcome, ...decided });
  const figures = [
    {
      name: "Submitted by agents",
      n: summary.busiest_hours.reduce((sum, hour) => sum + hour.count, 0),
      changes: submitted,
    },
    { name: "Allowed by policy", n: allowed, changes: behind("allowed") },
    { name: "Approved by a person", n: decisions.approved - allowed, changes: behind("approved") },
    { name: "Rejected", n: decisions.rejected, changes: behind("rejected") },
    { name: "Blocked", n: decisions.blocked, changes: behind("blocked") },
    { name: "Expired", n: decisions.expired, changes: behind("expired") },
  ];
  return (
    <section aria-label="Totals">
      <ul class="analytics-figures">
        {figures.map(({ name, n, changes }) => (
          <li key={name}>
            <a href={address.href("/actions", changes)}>
              <strong>{number(n)}</strong>
              <span>{name}</span>
            </a>
          </li>
        ))}
        <li>
          <p>
            <strong>{latency.p50_ms === null ? "–" : durationOf(latency.p50_ms)}</strong>
            <span>Median wait for a person</span>
          </p>
        </li>
        <li>
          <p>
            <strong>{latency.p95_ms === null ? "–" : durationOf(latency.p95_ms)}</strong>
            <span>95 % waited less</span>
          </p>
        </li>
      </ul>
      <p class="quiet small">
        {accuracy.overruled_rate !== null &&
          `People rolled back ${percent(accuracy.overruled_rate)} % of what the policy allowed. `}
        {accuracy.asked_always_approved !== null && accuracy.asked_always_approved > 0 && (
          <>
            {count(accuracy.asked_always_approved, "rule")} asked often, and people never said no:
            {" "}
            <a href={address.href("/policy")}>look for rules that could allow it</a>.
          </>
        )}
      </p>
    </section>
  );
}
