import type { RateLimits } from "../../server/agent_monitor/schema.ts";
import { Text } from "../parts/text.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { Bar, Fullness } from "./parts.tsx";
import { windowOf } from "./words.ts";

/** The rate limits that the agents tell; where one tells none, why. */
export function Limits({ all }: { all: RateLimits[] }) {
  const known = all.filter(({ status }) => status === "known");
  const others = all.filter(({ status }) => status === "unavailable");
  return (
    <section aria-labelledby="agents-limits" class="agents-part">
      <h2 id="agents-limits">Rate limits</h2>
      <p class="quiet small">Of the whole machine, as the agents report them.</p>
      {known.map((one) => <Known key={one.agent} one={one} />)}
      {others.length > 0 && (
        <dl class="rates-none">
          {others.map(({ agent, name, reason }) => (
            <div key={agent}>
              <dt>{name}</dt>
              <dd class="quiet">
                unavailable: <Text value={reason ?? "nothing tells them"} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

function Known({ one: { name, updated_at, stale, limits } }: { one: RateLimits }) {
  return (
    <div class="rates">
      <h3>
        {name}
        {updated_at && (
          <span class="quiet small">
            reported <Ago at={updated_at} said />
            {stale && ", may be old"}
          </span>
        )}
      </h3>
      <ul>
        {limits.map(({ id, window_minutes, used_percent, resets_at }) => (
          <li key={id}>
            <span>{window_minutes === null ? <Text value={id} /> : windowOf(window_minutes)}</span>
            <Bar percent={used_percent ?? 0} />
            <span>
              {used_percent === null ? "reset since" : `${used_percent} % used`}{" "}
              {used_percent !== null && <Fullness percent={used_percent} />}
            </span>
            <span class="quiet">
              {resets_at !== null && (
                <>
                  resets in <Until at={resets_at} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
