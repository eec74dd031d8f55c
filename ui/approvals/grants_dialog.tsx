import { useSignal } from "@preact/signals";
import type { Grant } from "../../server/grants/schema.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Skeleton } from "../parts/placeholder.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { useLive } from "../state/live.ts";
import { useProject, useProjects } from "../state/project.ts";

/** At most this many projects are read at once. */
const MAX_PROJECTS = 50;

/** Lists the live grants, with a button to revoke each. */
export function GrantsDialog({ onClose }: { onClose: () => void }) {
  const project = useProject();
  const projects = useProjects().map(({ id }) => id);
  const ids = (project === null ? projects : [project]).slice(0, MAX_PROJECTS);
  const { grants, problem, revoke } = useGrants(ids);
  return (
    <Dialog title="Remembered approvals" onClose={onClose} class="dialog-wide dialog-remember">
      <p class="remember-notice tone-danger" role="alert">{problem}</p>
      {grants === null && problem === null && <Skeleton lines={4} />}
      {grants?.length === 0 && (
        <p class="quiet">
          No approval is remembered. Press m on a card to approve it and not be asked again for a
          while.
        </p>
      )}
      <ul class="grants">
        {grants?.map((grant) => (
          <GrantRow key={grant.id} grant={grant} several={ids.length > 1} revoke={revoke} />
        ))}
      </ul>
    </Dialog>
  );
}

function useGrants(ids: string[]) {
  const grants = useSignal<Grant[] | null>(null);
  const problem = useSignal<string | null>(null);
  useLive(ids.join("/"), async (late) => {
    const query = { state: "live" as const, limit: "500" };
    try {
      const lists = await Promise.all(
        ids.map((id) => unwrap(api(id).api.grants.$get({ query }))),
      );
      if (late.aborted) return;
      grants.value = lists.flatMap(({ items }) => items);
      problem.value = null;
    } catch (error) {
      if (!late.aborted) problem.value = explain(error);
    }
  }, ({ type }) => type.startsWith("grant."));
  const revoke = async ({ id, project_id }: Grant) => {
    try {
      await unwrap(api(project_id).api.grants[":id"].$delete({ param: { id } }));
      grants.value = grants.value?.filter((grant) => grant.id !== id) ?? null;
    } catch (error) {
      problem.value = explain(error);
    }
  };
  return { grants: grants.value, problem: problem.value, revoke };
}

interface RowProps {
  grant: Grant;
  several: boolean;
  revoke: (grant: Grant) => Promise<void>;
}

const VERBS = { run: "Run", read: "Read", write: "Write", delete: "Delete" } as const;

function GrantRow({ grant, several, revoke }: RowProps) {
  const address = useAddress();
  const { pattern, access, command, path, tool, scope, max_uses, uses } = grant;
  const what = pattern ?? command ?? path ?? tool;
  return (
    <li class="grant">
      <div class="grant-what">
        <p>
          {access ? VERBS[access] : "Use"} <Code value={what} />
          {pattern === null && <span class="quiet">, exactly</span>}
        </p>
        <p class="dotted meta">
          <span>
            {number(max_uses - uses)} of {number(max_uses)} uses left
          </span>
          <span>
            expires in <Until at={grant.expires_at} />
          </span>
          <span>{scope === "session" ? "one session" : "the whole project"}</span>
          {several && <Text as="span" value={grant.project_id} />}
          <span>
            by <Text value={grant.given_by} /> <Ago at={grant.created_at} said />
          </span>
          <a href={address.href(`/actions/${grant.action_id}`)}>
            approved action
          </a>
        </p>
      </div>
      <Button icon="ban" onClick={() => void revoke(grant)}>Revoke</Button>
    </li>
  );
}
