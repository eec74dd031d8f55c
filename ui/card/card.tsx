import type { ComponentChildren } from "preact";
import type { ActionDetail, Reversibility } from "../../server/actions/schema.ts";
import { configWrittenBy } from "../../server/actions/review/accept_written.ts";
import { runsOwnCode } from "../../server/actions/own_code.ts";
import { unnamedFiles } from "../../server/actions/show/unnamed_files.ts";
import { toolOf } from "../../server/actions/tools.ts";
import { builtinSubject } from "../../server/shown/builtin_rules.ts";
import type { DiffMode } from "../diff/diff.tsx";
import type { Reading } from "../diff/files.tsx";
import { RiskBadge, ToolIcon } from "../parts/badges.tsx";
import { Icon } from "../parts/icon.tsx";
import { useLazy, Waiting } from "../parts/placeholder.tsx";
import { Headline } from "../parts/sentence.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { bytesOf, count } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { daemon } from "../state/live.ts";
import { Programs, WhatItDoes } from "./command.tsx";
import { Content } from "./content.tsx";

interface CardProps {
  detail: ActionDetail;
  mode: DiffMode;
  onMode: (mode: DiffMode) => void;
  reading?: Reading;
  hidden?: number;
  children?: ComponentChildren;
}

/** One action for review: what it does, why it is held, its changes and its risk. */
export function Card({ detail, mode, onMode, reading, hidden, children }: CardProps) {
  return (
    <article class="card" aria-labelledby="card-title">
      <header class="card-head">
        <h2 id="card-title" class="headline">
          <ToolIcon action={detail} />
          <span>
            <Headline detail={detail} />
          </span>
        </h2>
        <Meta detail={detail} />
      </header>
      {children}
      {detail.base && <Base base={detail.base} detail={detail} />}
      {detail.obstacle !== null && <Obstacle why={detail.obstacle} />}
      {detail.conflicts.length > 0 && <Others detail={detail} />}
      {hidden !== undefined && hidden > 0 && <HiddenNote hidden={hidden} />}
      <dl class="facts">
        <Unnamed detail={detail} />
        {configWrittenBy(detail) && <Fact name="Config">{ACCEPTED_TOO}</Fact>}
        <WhyHeld detail={detail} />
        {(detail.decision.sandbox || detail.outside) && <Sandboxed detail={detail} />}
        {(detail.taken_from || detail.held_back) && <HeldChanges detail={detail} />}
        <Approvals approvals={detail.approvals} />
        <Effects detail={detail} />
        <Excerpts detail={detail} />
        <RiskFacts detail={detail} />
      </dl>
      {detail.base && <h3 class="as-submitted">The agent’s version</h3>}
      {detail.lease
        ? <Steps detail={detail} mode={mode} onMode={onMode} reading={reading} />
        : <Content detail={detail} mode={mode} onMode={onMode} reading={reading} />}
      {detail.status === "pending" && <Context detail={detail} />}
    </article>
  );
}

/** Loaded only for a plan. */
function Steps(props: CardProps) {
  const { value, failed } = useLazy(loadSteps);
  return value ? <value.Steps {...props} /> : <Waiting failed={failed} />;
}

/** Loaded after the plan, below it. */
function Context({ detail }: { detail: ActionDetail }) {
  const { value } = useLazy(loadContext, "card");
  return value && <value.Context detail={detail} />;
}

function Meta({ detail }: { detail: ActionDetail }) {
  const address = useAddress();
  const session = address.href(`/sessions/${detail.session_id}`);
  const several = (daemon.value?.projects.length ?? 0) > 1;
  return (
    <p class="dotted meta">
      <Text as="span" value={detail.agent} />
      {several && <Text as="span" value={detail.project_id} />}
      <span>
        submitted <Ago at={detail.created_at} said />
      </span>
      {detail.status === "pending" && detail.expires_at && (
        <span>
          expires in <Until at={detail.expires_at} />
        </span>
      )}
      <a href={session}>session</a>
      {detail.replay_of && (
        <a href={address.href(`/actions/${detail.replay_of}`)}>
          replays an earlier action
        </a>
      )}
      {detail.rollback_of && (
        <a href={address.href(`/actions/${detail.rollback_of}`)}>rolls back an earlier action</a>
      )}
    </p>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const SOURCES = {
  builtin: "built into gate",
  global: "your global policy",
  project: "the project’s policy",
  "auto-block": "an automatic block",
} as const;

type DecidingRule = NonNullable<ActionDetail["decision"]["rule"]>;

const QUESTIONS = { allow: "Why allowed", ask: "Why held", deny: "Why blocked" } as const;

const ACCEPTED_TOO = "Approving also accepts it: what it allows holds at once.";

/** The real paths that the digest covers and that nothing else on the card names. */
function Unnamed({ detail }: { detail: ActionDetail }) {
  const paths = unnamedFiles(detail);
  if (paths.length === 0) return null;
  return (
    <Fact name="Really">
      {paths.slice(0, 20).map((path) => (
        <p key={path}>
          <Code value={path} />
        </p>
      ))}
      {paths.length > 20 && <p>{count(paths.length - 20, "more file")}</p>}
    </Fact>
  );
}

/** The texts of a refused action that the ledger does not keep whole. */
function Excerpts({ detail: { shortened } }: { detail: ActionDetail }) {
  if (shortened === null) return null;
  return (
    <Fact name="Excerpt">
      {Object.entries(shortened).map(([name, { bytes, sha256 }]) => (
        <p key={name}>
          gate kept an excerpt of the {name}: {bytesOf(bytes)}, SHA-256 <Code value={sha256} />
        </p>
      ))}
    </Fact>
  );
}

function WhyHeld({ detail }: { detail: ActionDetail }) {
  const { rule, alternative, effect } = detail.decision;
  // The headline or the box below says the command itself.
  const reason = detail.decision.reason.replaceAll(`"${detail.command}"`, "this command");
  return (
    <Fact name={QUESTIONS[effect]}>
      {rule && <Rule rule={rule} />}
      {reason !== "" && !(rule && reason.includes(rule.pattern) && reason.includes(rule.list)) && (
        <Text as="p" value={reason} />
      )}
      {alternative && (
        <p class="quiet">
          Instead: <Text value={alternative} />
        </p>
      )}
    </Fact>
  );
}

const loadConflicts = () => import("./conflicts.tsx");
const loadSteps = () => import("./steps.tsx");
const loadContext = () => import("./context.tsx");
const loadSandboxed = () => import("./in_sandbox.tsx");
const loadHeldChanges = () => import("./held_changes.tsx");
const loadRouted = () => import("./approvals.tsx");

/** How the file has changed since the action was held. */
function Base({ base, detail }: { base: NonNullable<ActionDetail["base"]>; detail: ActionDetail }) {
  const { value, failed } = useLazy(loadConflicts);
  const canEdit = editableOf(detail) !== null;
  return value ? <value.ChangedBase base={base} canEdit={canEdit} /> : <Waiting failed={failed} />;
}

/** The other sessions that change the same files. */
function Others({ detail }: { detail: ActionDetail }) {
  const { value, failed } = useLazy(loadConflicts);
  return value ? <value.Conflicts detail={detail} /> : <Waiting failed={failed} />;
}

/** The sandbox of a command, or why the agent wants to leave it. */
function Sandboxed({ detail }: { detail: ActionDetail }) {
  const { value, failed } = useLazy(loadSandboxed);
  return value ? <value.InSandbox detail={detail} /> : <Waiting failed={failed} />;
}

/** The command whose changes are held, or the changes of a command. */
function HeldChanges({ detail }: { detail: ActionDetail }) {
  const { value, failed } = useLazy(loadHeldChanges);
  return value ? <value.HeldChanges detail={detail} /> : <Waiting failed={failed} />;
}

function Approvals({ approvals }: Pick<ActionDetail, "approvals">) {
  return approvals && <Routed approvals={approvals} />;
}

/** Loaded only for an action with an approval route. */
function Routed({ approvals }: { approvals: NonNullable<ActionDetail["approvals"]> }) {
  const { value } = useLazy(loadRouted);
  return (
    <Fact name="Approvals">
      {value && <value.Approvals approvals={approvals} />}
    </Fact>
  );
}

function Rule({ rule: { pattern, list, source } }: { rule: DecidingRule }) {
  // A built-in rule has a name; nobody wrote its pattern.
  if (source === "builtin") {
    return (
      <>
        A rule {SOURCES.builtin}, about {builtinSubject(list)}
      </>
    );
  }
  return (
    <>
      <Code value={pattern} /> in <Text value={list} />, {SOURCES[source]}
    </>
  );
}

function Effects({ detail }: { detail: ActionDetail }) {
  if (detail.command !== null) return <CommandEffects detail={detail} />;
  if (isRefused(detail)) return <NoEffects />;
  const effects = effectsOf(detail);
  if (effects === null) return null;
  return (
    <Fact name="Effects">
      {effects} <span class="quiet">{rollbackOf(detail)}</span>
    </Fact>
  );
}

/** True when the action was rejected, blocked, cancelled or expired before it ran. */
function isRefused({ status, execution }: ActionDetail): boolean {
  return execution === "none" && status !== "pending" && status !== "approved";
}

function NoEffects() {
  return <Fact name="Effects">None: it was not executed.</Fact>;
}

function CommandEffects({ detail }: { detail: ActionDetail }) {
  const { analysis, cwd, root, reversibility } = detail;
  return (
    <>
      {analysis
        ? <WhatItDoes analysis={analysis} command={detail.command} deletion={detail.deletion} />
        : <Fact name="Effects">Unknown: gate could not analyse the command.</Fact>}
      {cwd !== null && cwd !== root && (
        <Fact name="Folder">
          <Code value={cwd.startsWith(`${root}/`) ? cwd.slice(root.length + 1) : cwd} />
        </Fact>
      )}
      <Bound detail={detail} />
      {isRefused(detail)
        ? <NoEffects />
        : <RollbackFact reversibility={reversibility ?? OUT_OF_REACH} />}
      {detail.restored.length > 0 && <Undone restored={detail.restored} />}
    </>
  );
}

/** The programs and scripts that the approval covers, and what it does not cover. */
function Bound({ detail }: { detail: ActionDetail }) {
  const { scripts, programs, unbound, analysis, status } = detail;
  const commands = analysis?.commands ?? [];
  return (
    <>
      <Programs programs={programs ?? []} />
      {scripts.length > 0 && (
        <Fact name="Fixed">
          {scripts.slice(0, 10).map(({ path, is_frozen }) => (
            <p key={path}>
              <Code value={path} />
              {!is_frozen && <span class="quiet">only until it starts</span>}
            </p>
          ))}
        </Fact>
      )}
      {unbound !== null && (
        <Fact name="Not fixed">
          <Text as="p" class="quiet" value={unbound} />
        </Fact>
      )}
      {status === "pending" && runsOwnCode({ scripts, programs, commands }) && (
        <Fact name="Remember">{OWN_CODE}</Fact>
      )}
    </>
  );
}

const OWN_CODE = "It runs code that an agent can change, such as tests, builds and scripts. To " +
  "remember this approval is to trust that code in every later version.";

function Undone({ restored }: { restored: ActionDetail["restored"] }) {
  return (
    <Fact name="Undone">
      <span class="badge tone-danger">
        <Icon name="alert" />
        {count(restored.length, "guarded file")} changed without permission
      </span>
      {restored.slice(0, 20).map((one) => (
        <p key={one.path}>
          <Code value={one.path} />
          <Text as="span" class="quiet" value={outcomeOf(one)} />
        </p>
      ))}
    </Fact>
  );
}

function outcomeOf({ change, restored, quarantine }: ActionDetail["restored"][number]): string {
  const now = restored ? "restored" : "could not be restored";
  return ` ${change}, ${now}${quarantine ? `; found: ${quarantine}` : ""}`;
}

// An agent host runs the command itself.
const OUT_OF_REACH = { level: "not", kept: 0, why: "The agent host runs it, not gate" } as const;

const LEVELS = {
  reversible: { icon: "rollback", word: "reversible", tone: "ok" },
  partly: { icon: "alert", word: "partly reversible", tone: "warn" },
  not: { icon: "ban", word: "not reversible", tone: "danger" },
} as const;

function RollbackFact({ reversibility }: { reversibility: Reversibility }) {
  const { icon, word, tone } = LEVELS[reversibility.level];
  return (
    <Fact name="Rollback">
      <span class={`badge tone-${tone}`}>
        <Icon name={icon} />
        {word}
      </span>
      <Text as="p" class="quiet" value={reversibility.why} />
    </Fact>
  );
}

// An action that was blocked at once has no plan.
function effectsOf({ tool, before, after, files }: ActionDetail): string | null {
  if (files?.some((file) => !file.is_known)) return "Only the agent host knows what it writes.";
  if (files && files.length > 1) return `Changes ${count(files.length, "file")}.`;
  if (toolOf(tool).access === "read") return "Reads the file and changes nothing.";
  if (toolOf(tool).shows === "two_paths" && after) {
    return `Moves the file (${bytesOf(after.bytes)}).`;
  }
  if (before && after) {
    return `Replaces the file of ${bytesOf(before.bytes)} with ${bytesOf(after.bytes)}.`;
  }
  if (after) return `Creates a new file of ${bytesOf(after.bytes)}.`;
  if (before) return `Deletes the file (${bytesOf(before.bytes)}).`;
  return toolOf(tool).executor === "gate" ? null : "Unknown to gate.";
}

function rollbackOf(detail: ActionDetail): string {
  const { tool, reversible, reversibility, before, after, files } = detail;
  if (toolOf(tool).access === "read") return "";
  if (!before && !after && !files?.length) return "Cannot be rolled back: it happens outside gate.";
  if (!reversible) return `Cannot be rolled back. ${reversibility?.why ?? ""}`;
  if (toolOf(tool).shows === "two_paths") {
    return "Can be rolled back: the file would be moved back.";
  }
  const kept = detail.status === "pending" ? "current" : "previous";
  if (files && files.length > 1) return `Can be rolled back: gate keeps the ${kept} files.`;
  if (before) return `Can be rolled back: gate keeps the ${kept} file.`;
  return "Can be rolled back: the file would be deleted.";
}

function RiskFacts({ detail }: { detail: ActionDetail }) {
  const { risk } = detail;
  return (
    <Fact name="Risk">
      <span class="factors">
        <RiskBadge risk={risk} />
        <span>{risk.score} of 100</span>
        {risk.factors.map((factor) => (
          <span key={factor.name} title={factor.name}>
            <span class="quiet">{factor.weight > 0 ? "+" : ""}{factor.weight}</span>{" "}
            <Text value={factor.why || factor.name} />
          </span>
        ))}
      </span>
    </Fact>
  );
}

function Obstacle({ why }: { why: string }) {
  return (
    <p class="notice tone-danger">
      <Icon name="ban" />
      <span>
        An approval would be refused. <Text value={why} />.
      </span>
    </p>
  );
}

function HiddenNote({ hidden }: { hidden: number }) {
  return (
    <p class="notice tone-warn">
      <Icon name="alert" />
      <span>
        {count(hidden, "hidden character")} in the planned changes. Each one is marked like{"  "}
        <span class="chip chip-hidden">[U+202E]</span>.
      </span>
    </p>
  );
}

/** The text that a reviewer can edit, or null. */
export function editableOf(detail: ActionDetail): string | null {
  const { edits } = toolOf(detail.tool);
  if (edits === "command") return detail.command;
  return edits && (detail.base?.rebased?.text ?? detail.after?.text ?? null);
}
