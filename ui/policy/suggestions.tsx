import { type Signal, useSignal } from "@preact/signals";
import type { PolicyEntry } from "../../server/policy/schema.ts";
import type { PolicySuggestions } from "../../server/trials/schema.ts";
import { Button } from "../parts/button.tsx";
import { Code, Text } from "../parts/text.tsx";
import { count, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { useBusy } from "../state/read.ts";

const DAYS_MS = 30 * 86_400_000;

interface SuggestionsProps {
  project: string;
  chosen: Signal<PolicyEntry | null>;
}

/** Rules that the approvals of the last 30 days support; each can be tried above. */
export function Suggestions({ project, chosen }: SuggestionsProps) {
  const found = useSignal<PolicySuggestions | null>(null);
  const problem = useSignal<string | null>(null);
  const { busy, run } = useBusy();
  const look = () =>
    void run(async () => {
      problem.value = null;
      const since = new Date(Date.now() - DAYS_MS).toISOString();
      try {
        found.value = await unwrap(api(project).api.policy.suggest.$post({ json: { since } }));
      } catch (error) {
        problem.value = explain(error);
      }
    });
  return (
    <section class="panel" aria-labelledby="policy-suggestions">
      <div class="room-buttons policy-suggest">
        <h2 id="policy-suggestions">Suggestions</h2>
        <Button icon="search" busy={busy.value} onClick={look}>Suggest rules</Button>
      </div>
      <p class="quiet">
        Rules that would have spared you questions to which you always said yes. They are learned
        from the older half of your decisions and checked on the newer half.
      </p>
      <div role="status" aria-live="polite">
        {busy.value && <p class="quiet">Looking…</p>}
        {problem.value !== null && <Text as="p" class="tone-danger" value={problem.value} />}
        {found.value !== null && !busy.value && <Found found={found.value} chosen={chosen} />}
      </div>
    </section>
  );
}

interface FoundProps extends Pick<SuggestionsProps, "chosen"> {
  found: PolicySuggestions;
}

function Found({ found: { asked, suggestions, turned_down, truncated }, chosen }: FoundProps) {
  const address = useAddress();
  return (
    <>
      {suggestions.length === 0 && (
        <p>
          {count(asked, "question")} in 30 days support no rule yet.
        </p>
      )}
      <ul class="room-list">
        {suggestions.map(({ list, entry, prompts_saved, learned_from }) => {
          const pattern = typeof entry === "string" ? entry : entry.pattern;
          return (
            <li key={`${list} ${JSON.stringify(entry)}`} class="room-row">
              <div class="room-row-what">
                <p>
                  Allow <Code value={pattern} />
                </p>
                <p class="quiet small">
                  learned from {count(learned_from, "approval")}, saves{" "}
                  {count(prompts_saved, "question")}
                </p>
                {typeof entry !== "string" && entry.args && (
                  <p class="quiet small">
                    only with these arguments: <Code value={JSON.stringify(entry.args)} />
                  </p>
                )}
              </div>
              <Button
                onClick={() => {
                  chosen.value = entry;
                  address.set({ list, rule: pattern }, { push: true });
                }}
              >
                Try it
              </Button>
            </li>
          );
        })}
      </ul>
      {turned_down.length > 0 && (
        <details>
          <summary class="link">{count(turned_down.length, "pattern")} turned down</summary>
          <ul class="policy-examples">
            {turned_down.map(({ pattern, why }) => (
              <li key={pattern}>
                <Code value={pattern} />
                <Text as="span" class="quiet small" value={why} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {truncated && (
        <p class="quiet small">
          There was more history than gate looked at; {number(asked)} questions were.
        </p>
      )}
    </>
  );
}
