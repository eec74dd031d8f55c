import type { Attention as Figures } from "../../server/analytics/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { durationOf, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { api, unwrap } from "../state/client.ts";
import { daemon } from "../state/live.ts";
import { useProject, useWorkspace } from "../state/project.ts";
import { useRead } from "../state/read.ts";
import type { Range } from "./periods.ts";
import type { Scope } from "./scope.ts";

type AttentionProps = Pick<Scope, "range" | "decided">;

/** The time that each person took for decisions, against the length of what they decided on. */
export function Attention({ range, decided }: AttentionProps) {
  const { value, problem } = useFigures(range, decided.decided_from);
  return (
    <section class="room-part analytics-part" aria-labelledby="analytics-attention">
      <h2 id="analytics-attention">Attention</h2>
      <p class="quiet">
        A quick approval took less time than its text takes to read: 60 characters a second, and 1.5
        seconds at least. Five in a row are a streak.
      </p>
      {problem !== null && (
        <p class="notice tone-warn" role="status">
          <Text
            as="span"
            value={`${value ? "These figures are not fresh" : "They cannot be read"}: ${problem}`}
          />
        </p>
      )}
      {value === null
        ? problem === null && <Skeleton lines={3} />
        : value.reviewers.length === 0
        ? <p>No person decided anything in this time.</p>
        : <People reviewers={value.reviewers} decided={decided} />}
    </section>
  );
}

/** @param from reads again when it changes */
function useFigures({ window, to }: Range, from: string) {
  const project = useProject();
  const workspace = useWorkspace()?.id;
  const isKnown = daemon.value !== null;
  return useRead<Figures | null>(
    `${isKnown} ${project} ${workspace} ${window} ${from} ${to}`,
    async () => {
      if (!isKnown) return null;
      const days = { window, ...to !== null && { to } };
      if (project !== null) {
        return await unwrap(api(project).api.analytics.attention.$get({ query: days }));
      }
      const query = { ...days, ...workspace && { workspace } };
      return await unwrap(api().api.global.analytics.attention.$get({ query }));
    },
    ({ topic, project_id }) => topic === "approvals" && (!project || project_id === project),
  );
}

interface PeopleProps extends Pick<Scope, "decided"> {
  reviewers: Figures["reviewers"];
}

function People({ reviewers, decided }: PeopleProps) {
  const address = useAddress();
  return (
    <>
      {reviewers.filter(({ is_streak }) => is_streak).map(({ reviewer, longest_streak }) => (
        <p class="notice tone-warn" key={reviewer}>
          <Icon name="alert" />
          <span>
            <Text value={reviewer} />: {number(longest_streak)}{" "}
            approvals in a row took less time than reading them takes.
          </span>
        </p>
      ))}
      <div class="wide-table" tabIndex={0} role="region" aria-label="Attention of people">
        <table class="numbers rules-table stacked">
          <thead>
            <tr>
              <th scope="col">Person</th>
              <th scope="col">Decisions</th>
              <th scope="col">Approved</th>
              <th scope="col">Median time</th>
              <th scope="col">Characters</th>
              <th scope="col">Quick</th>
              <th scope="col">Quick at high risk</th>
              <th scope="col">Longest streak</th>
            </tr>
          </thead>
          <tbody>
            {reviewers.map((one) => (
              <tr key={one.reviewer}>
                <th scope="row">
                  <a
                    href={address.href("/actions", {
                      decided_by: one.reviewer,
                      ...decided,
                    })}
                  >
                    <Text value={one.reviewer} />
                  </a>
                </th>
                <td data-label="Decisions">{number(one.decisions)}</td>
                <td data-label="Approved">{number(one.approved)}</td>
                <td data-label="Median time">
                  {one.median_ms === null ? "–" : durationOf(one.median_ms)}
                </td>
                <td data-label="Characters">{number(one.characters)}</td>
                <td data-label="Quick">{number(one.quick)}</td>
                <td data-label="Quick at high risk">{number(one.quick_risky)}</td>
                <td data-label="Longest streak">{number(one.longest_streak)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
