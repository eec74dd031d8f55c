import type { Action } from "../../server/actions/schema.ts";
import type { ListedSession } from "../../server/sessions/schema.ts";
import { Text } from "../parts/text.tsx";
import { SessionTitle } from "../sessions/title.tsx";
import { api, unwrap } from "../state/client.ts";
import { useRead } from "../state/read.ts";

/** Names the session of a group by its title; by its agent while the session is not read. */
export function SessionGroup({ action }: { action: Action }) {
  const { agent, project_id, session_id: id } = action;
  const { value } = useRead(
    id,
    () => unwrap<ListedSession>(api(project_id).api.sessions[":id"].$get({ param: { id } })),
    () => false,
  );
  return (
    <>
      {value && <SessionTitle session={value} />}
      <Text as="span" value={value ? `by ${agent}` : agent} />
    </>
  );
}
