import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { PolicyLimits } from "../../server/policy/schema.ts";
import type { Block } from "../../server/remediation/schema.ts";
import type { Session } from "../../server/sessions/schema.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { count, durationOf, number } from "../parts/words.ts";
import { useWorking } from "../parts/working.ts";
import { useAddress } from "../state/address.ts";
import { api, unwrap } from "../state/client.ts";
import type { Kept } from "../state/kept.ts";

interface BlocksProps {
  blocks: Kept<Block>;
  sessions: Session[];
  limits: PolicyLimits | null;
  several: boolean;
  onChange: () => void;
}

/** The sessions and agents that gate has blocked, each with a way to lift the block. */
export function Blocks({ blocks, sessions, limits, several, onChange }: BlocksProps) {
  const { rows, waiting, take } = blocks;
  const heading = useRef<HTMLHeadingElement>(null);
  const active = rows.filter(({ isGone }) => !isGone).length;
  const lifted = () => {
    heading.current?.focus();
    onChange();
  };
  return (
    <section class="room-part" aria-labelledby="remediation-blocks">
      <div class="room-buttons">
        <h2 id="remediation-blocks" tabIndex={-1} ref={heading}>
          Blocks {active > 0 && <span class="quiet">{number(active)}</span>}
        </h2>
        <span role="status">
          {waiting > 0 && (
            <Button kind="quiet" keys="." onClick={take}>
              Show {count(waiting, "new block")}
            </Button>
          )}
        </span>
      </div>
      {rows.length === 0 && (
        <p class="remediation-none">
          {waiting === 0 && (
            <span class="badge tone-ok">
              <Icon name="check" />
              Nothing is blocked
            </span>
          )}
        </p>
      )}
      <ul class="room-list" aria-label="Blocks">
        {rows.map(({ item, isGone }) => (
          <BlockRow
            key={item.id}
            block={item}
            isGone={isGone}
            agent={item.agent ?? sessions.find(({ id }) => id === item.session_id)?.agent ?? null}
            several={several}
            onLifted={lifted}
          />
        ))}
      </ul>
      <p class="quiet small">{limits === null ? GENERAL : thresholdsOf(limits)}</p>
    </section>
  );
}

const GENERAL =
  "gate blocks a session or an agent that policy denies too often, or that tries what is " +
  "critical too often.";

/** When gate blocks, in the numbers of the policy in force. */
function thresholdsOf(limits: PolicyLimits): string {
  const { maxDenialsPerSession, maxDenialsPerAgent, maxCriticalPerSession } = limits;
  return `gate blocks a session after ${count(maxDenialsPerSession, "denial")} or ` +
    `${count(maxCriticalPerSession, "action")} of critical risk that nobody approved, and an ` +
    `agent after ${count(maxDenialsPerAgent, "denial")}, within ` +
    `${durationOf(limits.denialWindowSeconds * 1000)}. A block lasts ` +
    `${durationOf(limits.blockSeconds * 1000)}.`;
}

interface RowProps {
  block: Block;
  isGone: boolean;
  /** The agent of the session; null if it is not known. */
  agent: string | null;
  several: boolean;
  onLifted: () => void;
}

function BlockRow({ block, isGone, agent, several, onLifted }: RowProps) {
  const address = useAddress();
  const { id, project_id, session_id, action_id, reason, created_at, expires_at } = block;
  const isAsked = useSignal(false);
  const name = agent ?? "an agent";
  return (
    <li class="room-row" aria-label={`Block of ${name}`}>
      <div class="room-row-what">
        <p>
          <strong>
            {block.agent === null ? "A session of " : "Every session of "}
            <Text value={name} />
          </strong>{" "}
          {isGone && <span class="badge tone-quiet">ended</span>}
        </p>
        <Text as="p" value={reason} />
        <p class="dotted quiet small">
          {several && <Text as="span" value={project_id} />}
          <span>
            since <Ago at={created_at} said />
          </span>
          {expires_at === null ? <span>until a person lifts it</span> : !isGone && (
            <span>
              ends in <Until at={expires_at} />
            </span>
          )}
          <a href={address.href(`/sessions/${session_id}`)}>its session</a>
          {action_id !== null && (
            <a href={address.href(`/actions/${action_id}`)}>the action that led to it</a>
          )}
        </p>
        {isAsked.value && !isGone && (
          <Lift
            project={project_id}
            id={id}
            onBack={() => isAsked.value = false}
            onLifted={onLifted}
          />
        )}
      </div>
      {!isAsked.value && !isGone && (
        <Button icon="unlock" onClick={() => isAsked.value = true}>Lift the block</Button>
      )}
    </li>
  );
}

const LIFTED = "The block is lifted: its sessions may submit again";

interface LiftProps {
  project: string;
  id: string;
  onBack: () => void;
  onLifted: () => void;
}

/** Asks for the reason, which the log keeps, and lifts the block. */
function Lift({ project, id, onBack, onLifted }: LiftProps) {
  const reason = useSignal("");
  const field = useId();
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  const { busy, run } = useWorking(onLifted);
  const lift = () => {
    const given = reason.peek().trim();
    const { blocks } = api(project).api.remediation;
    const request = { param: { block_id: id }, json: given === "" ? {} : { reason: given } };
    void run(() => unwrap(blocks[":block_id"].unblock.$post(request)), LIFTED);
  };
  return (
    <form
      class="remediation-lift"
      onSubmit={(event) => {
        event.preventDefault();
        lift();
      }}
      onKeyDown={(event) => event.key === "Escape" && onBack()}
    >
      <label for={field}>Why, if you like; the log keeps it</label>
      <span class="field">
        <input
          id={field}
          ref={input}
          maxLength={4000}
          autocomplete="off"
          value={reason.value}
          onInput={(event) => reason.value = event.currentTarget.value}
        />
      </span>
      <div class="room-buttons">
        <button
          type="submit"
          class="button button-primary"
          aria-disabled={busy.value ? "true" : undefined}
        >
          <Icon name="unlock" />
          <span>Lift the block</span>
        </button>
        <Button kind="quiet" onClick={onBack}>Keep it</Button>
      </div>
    </form>
  );
}
