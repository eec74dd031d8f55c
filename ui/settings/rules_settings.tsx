import { useSignal } from "@preact/signals";
import type { ConfigView, SourcedRule } from "../../server/config/schema.ts";
import { Skeleton } from "../parts/placeholder.tsx";
import { Code, Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { api, unwrap } from "../state/client.ts";
import { useLive } from "../state/live.ts";
import { useProject } from "../state/project.ts";

/** The rules in force for a project: what they deny, ask about and allow, and why. */
export function RulesSettings() {
  const project = useProject();
  return (
    <section class="settings" aria-labelledby="settings-rules">
      <h2 id="settings-rules">Rules</h2>
      {project === null
        ? <p class="quiet">Choose a project to see its rules.</p>
        : <RulesOf key={project} project={project} />}
    </section>
  );
}

function RulesOf({ project }: { project: string }) {
  const view = useSignal<ConfigView | null>(null);
  const failed = useSignal(false);
  useLive(project, async (late) => {
    const read = await unwrap(api(project).api.config.$get()).catch(() => null);
    if (late.aborted) return;
    failed.value = read === null;
    view.value = read ?? view.value;
  }, ({ type }) => type === "policy.changed");
  if (failed.value) return <p class="quiet">The rules cannot be read; reload the page.</p>;
  if (view.value === null) return <Skeleton lines={6} />;
  const { defaultEffect, rules } = view.value.effective;
  return (
    <>
      <p class="quiet">
        The strictest rule wins. Change them in{" "}
        <Text value={view.value.path ?? "gate.config.json"} />; a change that allows more waits for
        you.
      </p>
      <dl class="settings-facts">
        {groupsOf(rules).map(({ effect, reason, patterns }) => (
          <Group key={`${effect} ${reason}`} effect={effect} reason={reason} patterns={patterns} />
        ))}
        <dt>{WORDS[defaultEffect]}</dt>
        <dd>everything else</dd>
      </dl>
    </>
  );
}

type Effect = keyof typeof WORDS;
const WORDS = { deny: "Denied", ask: "Asks you", allow: "Allowed" } as const;

interface RuleGroup {
  effect: Effect;
  reason: string | null;
  patterns: string[];
}

const FIRST_PATTERNS = 12;

function Group({ effect, reason, patterns }: RuleGroup) {
  const rest = patterns.slice(FIRST_PATTERNS);
  return (
    <>
      <dt>{WORDS[effect]}</dt>
      <dd>
        <Patterns all={patterns.slice(0, FIRST_PATTERNS)} />
        {rest.length > 0 && (
          <details>
            <summary>Show {count(rest.length, "more rule")}</summary>
            <Patterns all={rest} />
          </details>
        )}
        {reason !== null && <Text as="p" class="quiet" value={reason} />}
      </dd>
    </>
  );
}

function Patterns({ all }: { all: string[] }) {
  return (
    <p class="settings-patterns">
      {all.map((pattern) => <Code key={pattern} value={pattern} />)}
    </p>
  );
}

const EFFECTS: [list: RegExp, effect: Effect][] = [
  [/^blocked/, "deny"],
  [/^ask/, "ask"],
  [/^allowed/, "allow"],
];

/** Rules of one effect and one reason together, the strictest effect first. */
function groupsOf(rules: readonly SourcedRule[]): RuleGroup[] {
  return EFFECTS.flatMap(([list, effect]) => {
    const groups = new Map<string | null, Set<string>>();
    for (const rule of rules.filter((one) => list.test(one.list))) {
      const known = groups.get(rule.reason) ?? new Set();
      groups.set(rule.reason, known.add(rule.pattern));
    }
    return [...groups].map(([reason, patterns]) => ({ effect, reason, patterns: [...patterns] }));
  });
}
