import { useSignal } from "@preact/signals";
import type { Compliance } from "../../server/remediation/schema.ts";
import type { Risk } from "../../server/risk/schema.ts";
import type { Session } from "../../server/sessions/schema.ts";
import { RiskBadge } from "../parts/badges.tsx";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Failed, More, Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { bytesOf, count, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { now as clock } from "../state/live.ts";
import { useRead } from "../state/read.ts";
import { Advice } from "./advice.tsx";
import { evaluate } from "./reading.ts";

interface EvaluationProps {
  session: Session;
  onChange: () => void;
}

/** One session: its risk, what it did against the rules, its budget, and what a person can do. */
export function Evaluation({ session, onChange }: EvaluationProps) {
  const address = useAddress();
  const state = stateOf(session);
  const { value, problem, reread } = useRead(session.id, async () => ({
    ...await evaluate(session),
    at: new Date().toISOString(),
  }), () => false);
  // The list is read a moment after what a person did here.
  const isOlder = value !== null && clock.value - Date.parse(value.at) > SETTLED_MS;
  const isStale = isOlder && stateOf(value.session) !== state;
  const changed = () => {
    reread();
    onChange();
  };
  return (
    <div class="remediation-session" role="region" aria-label="The session">
      <div>
        <div class="room-buttons remediation-who">
          <h3>
            <Text value={session.agent} />
          </h3>
          <div class="room-buttons">
            <Button kind={isStale ? "primary" : "plain"} icon="replay" onClick={reread}>
              Evaluate again
            </Button>
            <a class="button button-plain" href={address.href(`/sessions/${session.id}`)}>
              Open the session
            </a>
          </div>
        </div>
        <p class="quiet small">
          {value === null ? "Evaluating…" : (
            <>
              Evaluated <Ago at={value.at} said />
            </>
          )}
          <span role="status">{isStale && ", and it has gone on since"}</span>
        </p>
      </div>
      {problem !== null && value !== null && (
        <Text as="p" class="notice tone-warn" value={problem} />
      )}
      {value === null
        ? problem === null
          ? <Skeleton lines={8} />
          : <Failed title="The session could not be evaluated" problem={problem} />
        : (
          <>
            <RiskOf risk={value.risk} />
            <Findings {...value.compliance} />
            <Budget budget={value.compliance.budget} />
            <Advice advice={value.advice} session={session} onChange={changed} />
          </>
        )}
    </div>
  );
}

const SETTLED_MS = 1_500;

/** Changes with everything that an evaluation is about. */
function stateOf({ action_count, pending_count, ended_at, block_reason, rollback_state }: Session) {
  return JSON.stringify([action_count, pending_count, ended_at, block_reason, rollback_state]);
}

function RiskOf({ risk }: { risk: Risk }) {
  return (
    <section aria-label="Risk">
      <p>
        <strong>Risk {risk.score}</strong> <span class="quiet">of 100</span>{" "}
        <RiskBadge risk={risk} />
      </p>
      <ul class="remediation-factors">
        {risk.factors.map(({ name, weight, why }) => (
          <li key={name}>
            <span class="quiet">+{weight}</span>
            <Why text={why} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A reason; one that is only an action's id is a link to it. */
function Why({ text }: { text: string }) {
  const address = useAddress();
  const id = /^action ([0-9a-f-]{36})$/.exec(text)?.[1];
  if (id === undefined) return <Text as="span" value={text} />;
  return <a href={address.href(`/actions/${id}`)}>its riskiest action</a>;
}

type Finding = Compliance["violations"][number];

const RULES: Record<Finding["rule"], string> = {
  session_blocked: "gate blocked it",
  guarded_file_changed: "Guarded files changed while it ran",
  secret_touched: "It touched secrets",
  review_skipped: "A remembered approval let high risk pass",
  unreviewed_overwrite: "It overwrote files at high risk, and nobody reviewed it",
  unreviewed_risk: "It acted at high risk, and nobody reviewed it",
  budget_spent: "It spent its budget",
  blocked_attempt: "The policy denied it",
};

function Findings({ compliant, violations }: Compliance) {
  if (compliant) {
    return (
      <section aria-label="Findings">
        <p class="badge tone-ok">
          <Icon name="check" />
          Nothing in this session is against the rules
        </p>
      </section>
    );
  }
  const groups = (Object.keys(RULES) as Finding["rule"][])
    .map((rule) => ({ rule, found: violations.filter((one) => one.rule === rule) }))
    .filter(({ found }) => found.length > 0);
  return (
    <section aria-label="Findings">
      <h4>
        {count(violations.length, "finding")}
      </h4>
      {groups.map(({ rule, found }, at) => (
        <details key={rule} open={at === 0} class="remediation-findings">
          <summary>
            {RULES[rule]} <span class="quiet">{number(found.length)}</span>
          </summary>
          <FoundList found={found} />
        </details>
      ))}
    </section>
  );
}

const STEP = 20;

function FoundList({ found }: { found: Finding[] }) {
  const address = useAddress();
  const shown = useSignal(STEP);
  const rest = found.length - shown.value;
  return (
    <>
      <ul>
        {found.slice(0, shown.value).map(({ action_id, why }, at) => (
          <li key={at}>
            <Text as="span" value={why} />
            {action_id !== null && (
              <a href={address.href(`/actions/${action_id}`)}>show the action</a>
            )}
          </li>
        ))}
      </ul>
      {rest > 0 && (
        <More
          rest={count(rest, "more finding")}
          next={Math.min(STEP, rest)}
          onMore={() => shown.value += STEP}
        />
      )}
    </>
  );
}

const BUDGETS = { files: "Files", bytes: "Written", deletions: "Deletions" } as const;

/** What the session changed without a person, as bars. */
function Budget({ budget }: Pick<Compliance, "budget">) {
  return (
    <section aria-labelledby="remediation-budget">
      <h4 id="remediation-budget">Budget</h4>
      <p class="quiet small">
        What the policy allowed without a person. Beyond a limit a person is asked; an approval
        begins it anew.
      </p>
      <ul class="remediation-budget">
        {budget.map(({ of, spent, limit }) => {
          const said = of === "bytes" ? bytesOf : number;
          return (
            <li key={of}>
              <span>{BUDGETS[of]}</span>
              <progress max={limit} value={Math.min(spent, limit)} aria-label={BUDGETS[of]} />
              <span class={spent >= limit ? "tone-warn" : "quiet"}>
                {said(spent)} of {said(limit)}
                {spent >= limit && ", spent"}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
