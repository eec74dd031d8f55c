import type { EndedSession } from "../../server/agent_monitor/schema.ts";
import { Button } from "../parts/button.tsx";
import { Choice } from "../parts/choice.tsx";
import { Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { number } from "../parts/words.ts";
import { Long } from "./parts.tsx";
import { dollars, ENDS, keyOf } from "./words.ts";

interface HistoryProps {
  items: EndedSession[] | null;
  /** Names by agent, for the filter. */
  names: Record<string, string>;
  filtered: boolean;
  /** Null when nothing more can be shown. */
  onMore: (() => void) | null;
}

/** The sessions that have ended, newest first. */
export function History({ items, names, filtered, onMore }: HistoryProps) {
  return (
    <section aria-labelledby="agents-history" class="agents-part">
      <div class="agents-row">
        <h2 id="agents-history">Ended sessions</h2>
        <Choice name="agent" label="Agent" all="Any agent" options={names} />
      </div>
      {items === null ? <Skeleton lines={4} /> : items.length === 0
        ? (
          <p class="quiet">
            {filtered ? "No session of this agent has ended yet." : "No session has ended yet."}
          </p>
        )
        : <Table items={items} />}
      {onMore && <Button onClick={onMore}>Show more sessions</Button>}
    </section>
  );
}

function Table({ items }: { items: EndedSession[] }) {
  return (
    <table class="table ended">
      <thead>
        <tr>
          <th scope="col">Session</th>
          <th scope="col">End</th>
          <th scope="col">Model</th>
          <th scope="col" class="ended-number">Tokens</th>
          <th scope="col" class="ended-number">Cost</th>
          <th scope="col" class="ended-number">Ended</th>
        </tr>
      </thead>
      <tbody>
        {items.map((one) => <Row key={keyOf(one)} one={one} />)}
      </tbody>
    </table>
  );
}

function Row({ one }: { one: EndedSession }) {
  const { name, project_id, cwd, model, tokens, cost_usd, ended_at, end_reason } = one;
  return (
    <tr>
      <td class="cell-what">
        <Text value={name} /> <span class="quiet">{project_id === null ? "" : "in "}</span>
        {project_id !== null && <Text as="span" class="quiet" value={project_id} />}
        {cwd !== null && (
          <span class="ended-cwd quiet small code-text">
            <Long value={cwd} />
          </span>
        )}
      </td>
      <td>{ENDS[end_reason]}</td>
      <td>{model !== null && <Long value={model} />}</td>
      <td class="ended-number">{tokens === null ? "" : `${number(tokens.total)} tokens`}</td>
      <td class="ended-number">{cost_usd === null ? "" : dollars(cost_usd)}</td>
      <td class="ended-number">
        <Ago at={ended_at} said />
      </td>
    </tr>
  );
}
