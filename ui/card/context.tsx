import { useSignal } from "@preact/signals";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import Diff from "../diff/diff.tsx";
import { ExecutionBadge, StatusBadge } from "../parts/badges.tsx";
import { SentenceLine } from "../parts/sentence.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { deciderOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { findFirstRequest } from "../state/first_request.ts";
import { useRead } from "../state/read.ts";
import { beginningOf, type Earlier, readEarlier } from "./earlier.ts";

/** What came before a held action: its session, earlier decisions, and the last approved version. */
export function Context({ detail }: { detail: ActionDetail }) {
  const { value, problem } = useRead(detail.id, () => readEarlier(detail), () => false);
  if (value === null) return problem && <Text as="p" class="quiet" value={problem} />;
  return (
    <section class="context" aria-label="Context">
      <div>
        <Asked session={detail.session_id} />
        <h3>Before it in this session</h3>
        {value.session.length === 0
          ? <p class="quiet">It is the first action of its session.</p>
          : <Actions actions={value.session} />}
      </div>
      <div>
        <h3>
          People’s decisions about <Subject detail={detail} />
        </h3>
        {value.decided.length === 0
          ? <p class="quiet">Nobody has decided about it before.</p>
          : <Actions actions={value.decided} decided />}
        <LastApproved detail={detail} approved={value.approved} />
      </div>
    </section>
  );
}

/** The person's first request in the session, where the agent's own record tells it. */
function Asked({ session }: { session: string }) {
  const { value } = useRead(session, () => findFirstRequest(session), () => false);
  if (value === null) return null;
  return (
    <>
      <h3>First request to the agent</h3>
      <Text as="p" class="small asked" value={value} />
      <p class="quiet small">From the agent’s own record, which the agent can change.</p>
    </>
  );
}

function Subject({ detail: { path, command, tool, taken_from, lease } }: { detail: ActionDetail }) {
  if (taken_from) return <>changes of a command</>;
  if (lease) return <>plans</>;
  if (command !== null) return <Code value={beginningOf(command)} />;
  return path === null ? <Text value={tool} /> : <>this file</>;
}

function Actions({ actions, decided = false }: { actions: Action[]; decided?: boolean }) {
  const address = useAddress();
  return (
    <ul class="small">
      {actions.map((action) => (
        <li key={action.id}>
          <a href={address.href(`/actions/${action.id}`)}>
            <SentenceLine action={action} />
          </a>
          <span class="dotted quiet">
            <span>
              <StatusBadge action={action} />
            </span>
            {!decided && action.execution === "failed" && (
              <span>
                <ExecutionBadge execution={action.execution} />
              </span>
            )}
            {decided && <Text as="span" value={`by ${deciderOf(action)}`} />}
            <Ago at={action.decided_at ?? action.created_at} said />
          </span>
          {decided && action.reason && <Text as="p" class="quiet" value={action.reason} />}
        </li>
      ))}
    </ul>
  );
}

interface ApprovedProps {
  detail: ActionDetail;
  approved: Earlier["approved"];
}

/** The difference to the version of the file that a person approved last. */
function LastApproved({ detail, approved }: ApprovedProps) {
  const before = useSignal<{ text: string | null } | null>(null);
  const problem = useSignal<string | null>(null);
  const text = detail.after?.text ?? null;
  if (approved === null || text === null) return null;
  if (approved.after_sha256 === detail.before_sha256) {
    return <p class="quiet small">The file is as a person approved it last.</p>;
  }
  const load = async () => {
    if (before.peek() !== null) return;
    try {
      const { after } = await unwrap(
        api(approved.project_id).api.actions[":id"].$get({ param: { id: approved.id } }),
      );
      before.value = { text: after?.text ?? null };
    } catch (error) {
      problem.value = explain(error);
    }
  };
  return (
    <details class="small" onToggle={() => void load()}>
      <summary>Compare with the version that a person approved last</summary>
      {problem.value !== null && <Text as="p" class="tone-danger" value={problem.value} />}
      {before.value !== null && (before.value.text === null
        ? <p class="quiet">That version is too large to show, or its content is gone.</p>
        : (
          <div class="file">
            <Diff
              path={detail.path}
              before={before.value.text}
              after={text}
              mode="unified"
              caption="Changes since the version that a person approved last"
            />
          </div>
        ))}
    </details>
  );
}
