import type { ActionDetail } from "../../server/actions/schema.ts";
import { Text } from "../parts/text.tsx";
import { Until } from "../parts/time.tsx";
import { count } from "../parts/words.ts";

interface ApprovalsProps {
  approvals: NonNullable<ActionDetail["approvals"]>;
}

/** How many approvals a route asks for and has, who is asked, and who has answered. */
export function Approvals({ approvals }: ApprovalsProps) {
  const { route, have, need, asked, answered, deadline } = approvals;
  const names = asked.map(({ name }) => name).join(", ");
  return (
    <>
      {have} of {count(need, "approval")}
      {names !== "" && <Text value={`: asked ${names}`} />}
      {answered.map(({ name, verdict, at }) => (
        <p key={at} class="quiet">
          <Text value={name} /> {verdict === "approve" ? "approved" : "rejected"}
        </p>
      ))}
      <p class="quiet">
        Route <Text value={route.name} />
        {deadline !== null && (
          <>
            , <Until at={deadline} /> left to answer
          </>
        )}
      </p>
    </>
  );
}
