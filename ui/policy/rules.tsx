import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import type { ConfigView, SourcedRule } from "../../server/config/schema.ts";
import type { Effect, PolicyHit, Rule } from "../../server/policy/schema.ts";
import { Key } from "../parts/button.tsx";
import { Choice } from "../parts/choice.tsx";
import { Icon } from "../parts/icon.tsx";
import { More } from "../parts/placeholder.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { count, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { EffectBadge, effectOf, keyOf, SOURCES } from "./effects.tsx";
import type { Judged } from "./tester.tsx";

interface RulesProps {
  view: ConfigView;
  hits: PolicyHit[];
  judged: Signal<Judged | null>;
  filter: RefObject<HTMLInputElement | null>;
}

const STEP = 60;
const ORDER: (Effect | null)[] = [null, "deny", "ask", "allow"];

/** The rules in force, the strictest first, with the source of each and how often it decided. */
export function Rules({ view, hits, judged, filter }: RulesProps) {
  const address = useAddress();
  const shown = useSignal(STEP);
  const { q, source, effect } = address.query;
  const known = new Map(hits.map((hit) => [keyOf(hit.rule), hit]));
  const now = judged.value;
  const matched = new Set(now?.matched.map(keyOf));
  const maybe = new Set(now?.unsure.map(keyOf));
  const rules = [...view.effective.rules]
    .filter((rule) =>
      (!source || rule.source === source) && (!effect || effectOf(rule.list) === effect) &&
      (!q || `${rule.pattern} ${rule.list} ${rule.reason ?? ""}`.toLowerCase()
        .includes(q.toLowerCase()))
    )
    .sort((a, b) => rank(a, matched) - rank(b, matched));
  const rest = rules.length - shown.value;
  return (
    <section class="policy-rules" aria-labelledby="policy-rules">
      <h2 id="policy-rules">
        Rules <span class="quiet">{number(rules.length)}</span>
      </h2>
      <p class="quiet">
        The strictest rule that matches wins. Without one:{" "}
        <EffectBadge
          effect={view.effective.defaultEffect}
        />
      </p>
      <p class="quiet small">
        gate’s own rules protect its files and the settings of the agents’ hosts besides. The test
        names them where they match.
      </p>
      <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Rule filters">
        <label class="field">
          <Icon name="search" />
          <span class="visually-hidden">Filter the rules</span>
          <input
            ref={filter}
            type="search"
            placeholder="Pattern or reason"
            value={q ?? ""}
            onInput={(event) => address.set({ q: event.currentTarget.value })}
            onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
          />
          <Key keys="/" />
        </label>
        <Choice name="effect" label="Effect" all="Any effect" options={EFFECTS} />
        <Choice name="source" label="Source" all="Any source" options={sourcesOf(view)} />
      </form>
      {rules.length === 0 && (
        <p class="quiet">
          {view.effective.rules.length === 0
            ? "There is no rule, so the default decides."
            : "No rule matches the filter."}
        </p>
      )}
      <ul class="rule-list" aria-label="Rules">
        {rules.slice(0, shown.value).map((rule) => (
          <RuleRow
            key={keyOf(rule)}
            rule={rule}
            hit={known.get(keyOf(rule)) ?? null}
            mark={now?.rule && keyOf(now.rule) === keyOf(rule)
              ? "wins"
              : maybe.has(keyOf(rule))
              ? "maybe"
              : matched.has(keyOf(rule))
              ? "matches"
              : null}
          />
        ))}
      </ul>
      {rest > 0 && (
        <More
          rest={count(rest, "more rule")}
          next={Math.min(STEP, rest)}
          onMore={() => shown.value += STEP}
        />
      )}
    </section>
  );
}

const EFFECTS = { deny: "Denies", ask: "Asks", allow: "Allows" };

/** The sources of the rules that are listed. */
function sourcesOf({ effective: { rules } }: ConfigView): Record<string, string> {
  const used = new Set<string>(rules.map(({ source }) => source));
  return Object.fromEntries(Object.entries(SOURCES).filter(([source]) => used.has(source)));
}

/** Rules that match what is tested come first, then the strictest. */
function rank(rule: Rule, matched: ReadonlySet<string>): number {
  return (matched.has(keyOf(rule)) ? 0 : 10) + ORDER.indexOf(effectOf(rule.list));
}

/** What a rule is for the tested action. */
const MARKS = {
  wins: "decides the test",
  matches: "matches the test",
  maybe: "may match the test",
};

interface RowProps {
  rule: SourcedRule;
  hit: PolicyHit | null;
  mark: keyof typeof MARKS | null;
}

function RuleRow({ rule, hit, mark }: RowProps) {
  const address = useAddress();
  return (
    <li class={`rule ${mark ? `rule-${mark}` : ""}`}>
      <p class="rule-head">
        <EffectBadge effect={effectOf(rule.list)} />
        <Code value={rule.pattern} />
        {mark && (
          <span class="badge tone-info">
            <Icon name={mark === "wins" ? "check" : "dot"} />
            {MARKS[mark]}
          </span>
        )}
      </p>
      <p class="dotted quiet small">
        <span>{SOURCES[rule.source] ?? rule.source}</span>
        <Text as="span" value={rule.list} />
        {hit && (
          <a href={address.href("/actions", { rule: keyOf(rule) })}>
            {count(hit.count, "decision")}
          </a>
        )}
        {hit && (
          <span>
            last used <Ago at={hit.last_hit_at} said />
          </span>
        )}
        {hit && hit.overruled > 0 && <span>{number(hit.overruled)} overruled</span>}
      </p>
      {rule.reason !== null && <Text as="p" class="quiet small" value={rule.reason} />}
      {rule.alternative !== null && (
        <Text as="p" class="quiet small" value={`Instead: ${rule.alternative}`} />
      )}
    </li>
  );
}
