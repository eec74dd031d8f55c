import { useEffect, useRef } from "preact/hooks";
import type { ListedSession } from "../../server/sessions/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { count, number } from "../parts/words.ts";
import { stateOf } from "../sessions/session.ts";
import { SessionTitle } from "../sessions/title.tsx";
import { useAddress } from "../state/address.ts";
import type { Kept } from "../state/kept.ts";

interface SessionListProps {
  sessions: Kept<ListedSession>;
  chosen: string | null;
  several: boolean;
}

/** The newest sessions; the chosen one is evaluated beside the list. */
export function SessionList({ sessions, chosen, several }: SessionListProps) {
  const { rows } = sessions;
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <ul class="remediation-sessions" ref={list} aria-label="Sessions">
      {rows.map(({ item }) => (
        <Row key={item.id} session={item} isChosen={item.id === chosen} several={several} />
      ))}
    </ul>
  );
}

interface RowProps {
  session: ListedSession;
  isChosen: boolean;
  several: boolean;
}

function Row({ session, isChosen, several }: RowProps) {
  const address = useAddress();
  const { id, agent, project_id, started_at, action_count, pending_count, block_reason } = session;
  return (
    <li>
      <button
        type="button"
        class="list-row"
        aria-current={isChosen ? "true" : undefined}
        onClick={() => address.set({ session: id })}
      >
        <Icon name={block_reason === null ? "layers" : "ban"} class="tool-icon" />
        <span class="list-row-words">
          <SessionTitle session={session} />
          <span class="dotted quiet small">
            <Text as="span" value={agent} />
            <Ago at={started_at} said />
            {several && <Text as="span" value={project_id} />}
            <span>{count(action_count, "action")}</span>
            {pending_count > 0 && <span>{number(pending_count)} held</span>}
            <span>{stateOf(session)}</span>
          </span>
        </span>
      </button>
    </li>
  );
}
