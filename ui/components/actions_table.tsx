import type { Action } from "../../server/actions/schema.ts";
import { useAddress } from "../router.ts";
import { deciderOf } from "../words.ts";
import { ExecutionBadge, RiskBadge, StatusBadge, ToolIcon } from "./badges.tsx";
import { SentenceLine } from "./sentence.tsx";
import { Text } from "./text.tsx";
import { Ago } from "./time.tsx";

interface TableProps {
  items: Action[];
  several: boolean;
}

/** Actions as dense rows; each opens its record. */
export function ActionsTable({ items, several }: TableProps) {
  return (
    <table class="table">
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">Decision</th>
          <th scope="col" class="cell-outcome">Outcome</th>
          <th scope="col" class="cell-risk">Risk</th>
          <th scope="col" class="cell-agent">Agent</th>
          {several && <th scope="col" class="cell-project">Project</th>}
          <th scope="col" class="cell-by">Decided by</th>
          <th scope="col" class="cell-time">Asked</th>
        </tr>
      </thead>
      <tbody>
        {items.map((action) => <Row key={action.id} action={action} several={several} />)}
      </tbody>
    </table>
  );
}

function Row({ action, several }: { action: Action; several: boolean }) {
  const address = useAddress();
  const href = address.href(`/actions/${action.id}`, { project: action.project_id });
  return (
    <tr>
      <td class="cell-what">
        <a class="row-link" href={href}>
          <ToolIcon action={action} />
          <SentenceLine action={action} />
        </a>
      </td>
      <td>
        <StatusBadge status={action.status} />
      </td>
      <td class="cell-outcome">
        {action.execution !== "none" && <ExecutionBadge execution={action.execution} />}
      </td>
      <td class="cell-risk">
        <RiskBadge risk={action.risk} />
      </td>
      <td class="cell-agent">
        <Text value={action.agent} />
      </td>
      {several && (
        <td class="cell-project">
          <Text value={action.project_id} />
        </td>
      )}
      <td class="cell-by">
        {action.decided_at && <Text value={deciderOf(action.decided_by)} />}
      </td>
      <td class="cell-time">
        <Ago at={action.created_at} />
      </td>
    </tr>
  );
}
