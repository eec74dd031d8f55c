import type { Signal } from "@preact/signals";
import type { ConfigView } from "../../server/config/schema.ts";
import type { PolicyEntry } from "../../server/policy/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { announce } from "../parts/toast.tsx";
import { count, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { useBusy } from "../state/read.ts";
import { EffectBadge } from "./effects.tsx";
import { type List, LISTS, type Replay, useReplay, withRule } from "./replaying.ts";

interface ImpactProps {
  project: string;
  view: ConfigView;
  /** The suggestion that was chosen: it may hold more than a pattern. */
  suggested: Signal<PolicyEntry | null>;
  onAdded: () => void;
}

/** The impact of a rule on the last 30 days, while the rule is typed; a button adds it. */
export function Impact({ project, view, suggested, onAdded }: ImpactProps) {
  const address = useAddress();
  const asked = address.query["list"] ?? "";
  const list: List = asked in LISTS ? asked as List : "allowedCommands";
  const pattern = (address.query["rule"] ?? "").slice(0, 256);
  const entry = entryOf(pattern.trim(), suggested.value);
  const { replay, problem } = useReplay(project, view, list, entry);
  const { busy, run } = useBusy();
  const isKnown = view.effective.rules.some((rule) =>
    rule.list === list && rule.pattern === pattern.trim() && rule.source === "project"
  );
  const add = () =>
    void run(async () => {
      try {
        const { config } = api(project).api;
        const json = withRule(view, list, entry);
        const headers = { "if-match": view.etag };
        await unwrap(config.policies.$put({ json }, { headers }));
        announce({ text: "The rule is in force", tone: "ok" }, null);
        address.set({ rule: null });
      } catch (error) {
        announce({ text: explain(error), tone: "danger" }, null);
      }
      onAdded();
    });
  return (
    <section class="panel" aria-labelledby="policy-impact">
      <h2 id="policy-impact">Try a rule</h2>
      <p class="quiet">What it would have changed in the last 30 days, as you type.</p>
      <form
        class="policy-try"
        aria-label="Try a rule"
        onSubmit={(event) => {
          event.preventDefault();
          if (pattern.trim() !== "" && !isKnown && problem === null) add();
        }}
      >
        <label class="choice">
          <span class="visually-hidden">Effect of the rule</span>
          <select
            value={list}
            onChange={(event) => address.set({ list: event.currentTarget.value })}
          >
            {Object.entries(LISTS).map(([value, word]) => (
              <option key={value} value={value}>{word}</option>
            ))}
          </select>
          <Icon name="chevron" />
        </label>
        <label class="field">
          <span class="visually-hidden">Pattern of the rule</span>
          <input
            type="text"
            maxLength={256}
            spellcheck={false}
            autocomplete="off"
            placeholder={list.endsWith("Paths") ? "docs/**" : "npm test"}
            value={pattern}
            onInput={(event) => address.set({ rule: event.currentTarget.value })}
          />
        </label>
        <button
          type="submit"
          class="button button-primary"
          disabled={pattern.trim() === "" || isKnown || problem !== null}
          aria-disabled={busy.value ? "true" : undefined}
        >
          <Icon name="check" />
          <span>Add the rule</span>
        </button>
      </form>
      {typeof entry !== "string" && <p class="quiet small">{limitsOf(entry)}</p>}
      <div role="status" aria-live="polite">
        {problem !== null && <Text as="p" class="tone-danger" value={problem} />}
        {isKnown && <p class="quiet">The project has this rule already.</p>}
        {replay !== null && problem === null && <Changes replay={replay} />}
        {replay === null && problem === null && pattern.trim() !== "" && (
          <p class="quiet">Replaying…</p>
        )}
      </div>
    </section>
  );
}

/** The suggestion with this pattern, else the pattern alone. */
function entryOf(pattern: string, suggested: PolicyEntry | null): PolicyEntry {
  const isSame = suggested !== null && typeof suggested !== "string" &&
    suggested.pattern === pattern;
  return isSame ? suggested : pattern;
}

function limitsOf({ args }: Exclude<PolicyEntry, string>): string {
  if (!args) return "As suggested, with its reason.";
  return `As suggested: only with the arguments ${JSON.stringify(args)}.`;
}

function Changes({ replay: { checked, totals, examples, unjudged, reached, isDone } }: {
  replay: Replay;
}) {
  const address = useAddress();
  const rows = [
    { n: totals.newly_allowed, word: "would be allowed", tone: "ok" },
    { n: totals.newly_asked, word: "would be asked about", tone: "info" },
    { n: totals.newly_blocked, word: "would be denied", tone: "danger" },
  ].filter(({ n }) => n > 0);
  return (
    <div class="policy-result">
      {rows.length === 0
        ? <p>It would have changed nothing{isDone ? "" : " so far"}.</p>
        : (
          <ul class="policy-changes">
            {rows.map(({ n, word, tone }) => (
              <li key={word} class={`tone-${tone}`}>
                <strong>{number(n)}</strong> {word}
              </li>
            ))}
          </ul>
        )}
      {totals.rejected_now_allowed > 0 && (
        <p class="badge tone-danger">
          <Icon name="alert" />
          A person rejected {number(totals.rejected_now_allowed)} of those that it would allow
        </p>
      )}
      {totals.prompts_saved > 0 && (
        <p>It would have saved you {count(totals.prompts_saved, "question")}.</p>
      )}
      <ul class="policy-examples">
        {examples.map(({ id, what, was, now }) => (
          <li key={id}>
            <a href={address.href(`/actions/${encodeURIComponent(id)}`)} class="code-text">
              <Text value={what.slice(0, 200)} />
            </a>
            <span class="quiet small">
              <EffectBadge effect={was} /> → <EffectBadge effect={now} />
            </span>
          </li>
        ))}
      </ul>
      <p class="quiet small">
        {count(checked, "action")} replayed{isDone || !reached ? "" : (
          <>
            , back to <Ago at={reached} said /> so far
          </>
        )}
        {unjudged > 0 && `; ${count(unjudged, "action")} cannot be judged again`}.
      </p>
    </div>
  );
}
