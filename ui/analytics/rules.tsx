import type { PolicyHit } from "../../server/policy/schema.ts";
import { Segmented } from "../parts/button.tsx";
import { Code } from "../parts/text.tsx";
import { number } from "../parts/words.ts";
import { nameOfRule } from "../policy/effects.tsx";
import { useAddress } from "../state/address.ts";
import type { Scope } from "./scope.ts";

interface Row {
  effect: string | null;
  source: string | null;
  list: string | null;
  pattern: string | null;
  decisions: number;
  approved: number;
  rejected: number;
  blocked: number;
  /** Since the ledger began; null for several projects. */
  overruled: number | null;
}

const ORDERS = [
  { value: "decisions", label: "By decisions" },
  { value: "overruled", label: "By overruling" },
] as const;
const MOST = 50;
const EFFECTS: Record<string, string> = { allow: "allows", ask: "asks", deny: "blocks" };

/** The rules that decided, by how often they did or how often people overruled them. */
export function Rules({ scope: { summary, hits, decided } }: { scope: Scope }) {
  const address = useAddress();
  const order = hits !== null && address.query["rules"] === "overruled" ? "overruled" : "decisions";
  const rows = rowsOf(summary.decisions.by_rule, hits)
    .sort((a, b) => (b[order] ?? 0) - (a[order] ?? 0)).slice(0, MOST);
  return (
    <section class="room-part analytics-part" aria-labelledby="analytics-rules">
      <div class="room-buttons">
        <h2 id="analytics-rules">Rules</h2>
        {hits !== null && (
          <Segmented
            label="Order"
            value={order}
            options={ORDERS}
            onChange={(next) => address.set({ rules: next === "overruled" ? next : null })}
          />
        )}
      </div>
      <p class="quiet">
        {hits === null
          ? "What each rule decided in this time."
          : "What each rule decided in this time. Overruled: asked and then approved, or allowed and rolled back, since the log began."}
      </p>
      <div class="wide-table" tabIndex={0} role="region" aria-label="Decisions of rules">
        <table class="numbers rules-table stacked">
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">Decisions</th>
              <th scope="col">Approved or allowed</th>
              <th scope="col">Rejected</th>
              <th scope="col">Blocked</th>
              {hits !== null && <th scope="col">Overruled</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={`${row.effect} ${keyOf(row)}`}>
                <th scope="row">
                  <a
                    href={address.href("/actions", { rule: keyOf(row), ...decided })}
                  >
                    {row.pattern === null
                      ? nameless(row.effect)
                      : <Code value={nameOfRule({ ...row, pattern: row.pattern })} />}
                  </a>
                  <span class="quiet small">
                    {EFFECTS[row.effect ?? ""] ?? ""}
                    {row.list && `, ${placeOf(row)}`}
                  </span>
                </th>
                <td data-label="Decisions">{number(row.decisions)}</td>
                <td data-label="Approved or allowed">{number(row.approved)}</td>
                <td data-label="Rejected">{number(row.rejected)}</td>
                <td data-label="Blocked">{number(row.blocked)}</td>
                {hits !== null && <td data-label="Overruled">{number(row.overruled ?? 0)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

type Ruled = Scope["summary"]["decisions"]["by_rule"];

function rowsOf(rules: Ruled, hits: PolicyHit[] | null): Row[] {
  const overruled = new Map(hits?.map((hit) => [keyOf(hit.rule), hit.overruled]));
  return rules.map(({ expired, cancelled, ...rule }) => ({
    ...rule,
    decisions: rule.approved + rule.rejected + rule.blocked + expired + cancelled,
    overruled: hits === null ? null : overruled.get(keyOf(rule)) ?? 0,
  }));
}

/** An action that no rule decided: a remembered approval or a plan can have allowed it. */
function nameless(effect: Row["effect"]): string {
  return effect === "allow"
    ? "No rule: the default or an earlier approval"
    : "No rule: the default";
}

function placeOf({ source, list }: Row): string {
  return source === "builtin" ? "built into gate" : `${source} ${list}`;
}

/** A rule as the list of actions takes it. */
function keyOf({ source, list, pattern }: Pick<Row, "source" | "list" | "pattern">): string {
  return pattern === null ? "default" : `${source}/${list}/${pattern}`;
}
