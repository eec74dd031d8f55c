import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Recommendations } from "../../server/remediation/schema.ts";
import type { Session } from "../../server/sessions/schema.ts";
import { Button } from "../parts/button.tsx";
import { Code, Text } from "../parts/text.tsx";
import { announce } from "../parts/toast.tsx";
import { count } from "../parts/words.ts";
import { useWorking } from "../parts/working.ts";
import type { OnConflict } from "../rollback/rollback.ts";
import { SessionRollbackPreview } from "../sessions/rollback_preview.tsx";
import { createRollbackOf } from "../sessions/session.ts";
import { useAddress } from "../state/address.ts";
import { api, unwrap } from "../state/client.ts";

interface AdviceProps {
  advice: Recommendations;
  session: Session;
  onChange: () => void;
}

/** The ways to mend a session, the best first. Each asks before it does anything. */
export function Advice({ advice, session, onChange }: AdviceProps) {
  return (
    <section aria-labelledby="remediation-advice">
      <h4 id="remediation-advice">What you can do</h4>
      <ol class="room-list remediation-advice">
        {advice.map((one) => (
          <Way
            key={`${one.strategy} ${one.call.path}`}
            way={one}
            session={session}
            onChange={onChange}
          />
        ))}
      </ol>
    </section>
  );
}

type Recommendation = Recommendations[number];

const TITLES: Record<string, string> = {
  reject_held: "Reject what it has submitted",
  rollback_risky_actions: "Roll back its risky changes",
  rollback_session: "Roll back the whole session",
  revoke_grant: "Revoke the remembered approval",
  end_session: "End the session",
  lift_block: "Lift the block",
  review_changes: "Read what it changed",
};

interface WayProps extends Pick<AdviceProps, "session" | "onChange"> {
  way: Recommendation;
}

function Way({ way, session, onChange }: WayProps) {
  const { strategy, why, steps } = way;
  const title = TITLES[strategy] ?? strategy;
  return (
    <li class="room-row" aria-label={title}>
      <div class="room-row-what">
        <p>
          <strong>
            <Text value={title} />
          </strong>
        </p>
        <Text as="p" value={`${sentenceCase(why)}.`} />
        <ol class="remediation-steps quiet small">
          {steps.map((step) => <Text key={step} as="li" value={step} />)}
        </ol>
      </div>
      <Doing way={way} session={session} onChange={onChange} />
    </li>
  );
}

/** The control that does what is recommended; the call itself where the page knows no control. */
function Doing(props: WayProps) {
  const { way: { strategy, call }, session } = props;
  const address = useAddress();
  if (strategy.startsWith("rollback_")) return <RollBack {...props} />;
  if (strategy in DEEDS) return <Ask {...props} />;
  if (strategy === "review_changes") {
    return (
      <a class="button button-plain" href={address.href(`/sessions/${session.id}`)}>
        Read the changes
      </a>
    );
  }
  return <Code value={`${call.method} ${call.path}`} />;
}

interface Deed {
  /** The words on the button that does it. */
  button: string;
  /** What happens, in words; the page asks with them. */
  means: string;
  run: (call: Recommendation["call"], session: Session) => Promise<string>;
}

const DEEDS: Record<string, Deed> = {
  reject_held: {
    button: "Reject the held actions",
    means: "Everything that waits in this session is rejected. The agent is told.",
    run: async (_, { id, project_id }) => {
      const { reject } = api(project_id).api.actions;
      const { rejected } = await unwrap(reject.$post({ json: { session_id: id } }));
      return `Rejected ${count(rejected.length, "action")}`;
    },
  },
  revoke_grant: {
    button: "Revoke it",
    means: "A person is asked again about every action that it allowed.",
    run: async ({ path }, { project_id }) => {
      const param = { id: path.split("/").at(-1)! };
      await unwrap(api(project_id).api.grants[":id"].$delete({ param }));
      return "The remembered approval is revoked";
    },
  },
  end_session: {
    button: "End the session",
    means: "What it still holds is cancelled. The agent has to open another session.",
    run: async (_, { id, project_id }) => {
      await unwrap(api(project_id).api.sessions[":id"].end.$post({ param: { id } }));
      return "The session has ended";
    },
  },
  lift_block: {
    button: "Lift the block",
    means: "Its sessions may submit again.",
    run: async ({ path }, { project_id }) => {
      const param = { block_id: path.split("/").at(-2)! };
      const { blocks } = api(project_id).api.remediation;
      await unwrap(blocks[":block_id"].unblock.$post({ param, json: {} }));
      return "The block is lifted: its sessions may submit again";
    },
  },
};

function Ask({ way: { strategy, call }, session, onChange }: WayProps) {
  const isAsked = useSignal(false);
  const { busy, run } = useWorking(() => isAsked.value = false);
  const deed = DEEDS[strategy]!;
  const go = async () => {
    const done = await run(() => deed.run(call, session), null);
    if (done === null) return;
    announce({ text: done, tone: "ok" }, null);
    onChange();
  };
  if (!isAsked.value) {
    return <Button onClick={() => isAsked.value = true}>{deed.button}…</Button>;
  }
  return (
    <div class="remediation-ask" role="group" aria-label={deed.button}>
      <p>{deed.means}</p>
      <div class="room-buttons">
        <Button kind="danger" busy={busy.value} onClick={() => void go()}>{deed.button}</Button>
        <Button kind="quiet" onClick={() => isAsked.value = false}>Back</Button>
      </div>
    </div>
  );
}

/** Previews the recommended rollback, and runs it as previewed. */
function RollBack({ way: { call }, session, onChange }: WayProps) {
  const ids = call.body?.["action_ids"];
  const rollback = useMemo(() => createRollbackOf(session), [session.id]);
  const input = Array.isArray(ids) ? ids.map(String) : null;
  const preview = rollback.preview.value;
  const busy = rollback.busy.value;
  const run = async (on_conflict?: OnConflict) => {
    const result = await rollback.run(input, on_conflict);
    if (result === null) return;
    announce({ text: `Rolled back ${count(result.actions.length, "action")}`, tone: "ok" }, null);
    onChange();
  };
  if (!rollback.open.value) {
    return (
      <Button icon="rollback" onClick={() => void rollback.look(input)}>
        Preview the rollback
      </Button>
    );
  }
  return (
    <div class="remediation-rollback">
      <SessionRollbackPreview rollback={rollback} />
      <div class="room-buttons">
        {rollback.isReady() && (
          <Button
            kind="danger"
            icon="rollback"
            busy={busy}
            onClick={() => void run()}
          >
            Roll back
          </Button>
        )}
        {preview?.kind === "conflict" && (
          <>
            <Button busy={busy} onClick={() => void run("merge")}>Merge</Button>
            <Button kind="danger" busy={busy} onClick={() => void run("force")}>Overwrite</Button>
          </>
        )}
        <Button kind="quiet" onClick={() => rollback.close()}>Back</Button>
      </div>
    </div>
  );
}

/** Begins with a capital letter, apart from the program's own name. */
function sentenceCase(text: string): string {
  return /^gate\b/.test(text) ? text : `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`;
}
