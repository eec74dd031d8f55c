import { useMemo } from "preact/hooks";
import type { ActionDetail, PlanStep } from "../../server/actions/schema.ts";
import { stepAsAction } from "../../server/actions/show/check_shown.ts";
import { unnamedFiles } from "../../server/actions/show/unnamed_files.ts";
import type { DiffMode } from "../diff/diff.tsx";
import type { Reading } from "../diff/files.tsx";
import { RiskBadge } from "../parts/badges.tsx";
import { Headline } from "../parts/sentence.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Until } from "../parts/time.tsx";
import { count } from "../parts/words.ts";
import { Programs, WhatItDoes } from "./command.tsx";
import { Content } from "./content.tsx";
import { InSandbox } from "./in_sandbox.tsx";

interface StepsProps {
  detail: ActionDetail;
  mode: DiffMode;
  onMode: (mode: DiffMode) => void;
  reading?: Reading;
}

/** The actions of a plan in their order, each with its content. */
export function Steps({ detail, mode, onMode, reading }: StepsProps) {
  const { steps, seconds, ends_at } = detail.lease!;
  const readings = useMemo(() => readTogether(steps.length, reading), [detail.id, steps.length]);
  return (
    <>
      <p class="quiet">
        One approval holds for {count(steps.length, "step")}, each once and in this order,{" "}
        {ends_at === null ? `for ${Math.round(seconds / 60)} minutes` : (
          <>
            for another <Until at={ends_at} />
          </>
        )}. Anything else is asked as usual.
      </p>
      <ol class="plan-steps">
        {steps.map((step, at) => (
          <li key={step.number} aria-label={`Step ${step.number}`}>
            <Step detail={detail} step={step} mode={mode} onMode={onMode} reading={readings[at]} />
          </li>
        ))}
      </ol>
    </>
  );
}

function Step({ detail, step, ...shown }: StepsProps & { step: PlanStep }) {
  const own = stepAsAction(detail, step);
  const { decision, outside, analysis, cwd, root, scripts, programs, unbound } = own;
  return (
    <section>
      <h3 class="step-head">
        <span class="quiet">{step.number}.</span> <Headline detail={own} />
        {step.action_id !== null && <span class="badge tone-ok">done</span>}
      </h3>
      <dl class="facts">
        <div class="fact">
          <dt>{decision.effect === "allow" ? "Why allowed" : "Why held"}</dt>
          <dd>
            <Text value={decision.reason} />
          </dd>
        </div>
        {(decision.sandbox || outside) && <InSandbox detail={own} />}
        <Paths name="Really" paths={unnamedFiles(own)} />
        {own.command !== null && (
          <>
            {analysis && <WhatItDoes analysis={analysis} />}
            <Paths name="Folder" paths={cwd === null || cwd === root ? [] : [cwd]} />
            <Programs programs={programs ?? []} />
            <Paths name="Fixed" paths={scripts.map(({ path }) => path)} />
            {unbound !== null && (
              <div class="fact">
                <dt>Not fixed</dt>
                <dd>
                  <Text class="quiet" value={unbound} />
                </dd>
              </div>
            )}
          </>
        )}
        <div class="fact">
          <dt>Risk</dt>
          <dd>
            <span class="factors">
              <RiskBadge risk={own.risk} />
              <span>{own.risk.score} of 100</span>
            </span>
          </dd>
        </div>
      </dl>
      <Content detail={own} {...shown} />
    </section>
  );
}

function Paths({ name, paths }: { name: string; paths: readonly string[] }) {
  if (paths.length === 0) return null;
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>
        {paths.slice(0, 20).map((path) => (
          <p key={path}>
            <Code value={path} />
          </p>
        ))}
        {paths.length > 20 && <p>{count(paths.length - 20, "more file")}</p>}
      </dd>
    </div>
  );
}

/** Joins the readings of all steps into one, which ends when every step was read to its end. */
function readTogether(length: number, whole: Reading | undefined): (Reading | undefined)[] {
  if (whole === undefined) return Array.from({ length }, () => undefined);
  const hidden = new Map<number, { hidden: number; unseen: boolean }>();
  const seen = new Map<number, boolean>();
  return Array.from({ length }, (_, at): Reading => ({
    shown(count, unseen = false) {
      hidden.set(at, { hidden: count, unseen });
      if (hidden.size < length) return;
      const all = [...hidden.values()];
      whole.shown(
        all.reduce((sum, one) => sum + one.hidden, 0),
        all.some((one) => one.unseen),
      );
    },
    end(is_seen) {
      seen.set(at, (seen.get(at) ?? false) || is_seen);
      whole.end(seen.size === length && [...seen.values()].every((one) => one));
    },
  }));
}
