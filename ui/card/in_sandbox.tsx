import type { ActionDetail } from "../../server/actions/schema.ts";
import { describeSandbox, SANDBOX_MEANS } from "../../server/actions/show/sandbox_text.ts";
import { Text } from "../parts/text.tsx";

/** The sandbox that a command runs in, and why the agent wants to leave it. */
export function InSandbox({ detail }: { detail: ActionDetail }) {
  const { decision: { sandbox, effect }, outside } = detail;
  const earlier = outside?.earlier;
  return (
    <div class="fact">
      <dt>Sandbox</dt>
      <dd>
        {sandbox && (
          <p>
            {effect === "ask" ? "Would run" : "Runs"} in a sandbox:{" "}
            <Text value={describeSandbox(sandbox)} />
          </p>
        )}
        {outside && (
          <p>
            The agent wants it to run outside the sandbox: <Text value={outside.reason} />
          </p>
        )}
        {earlier && (
          <p>
            In the sandbox it {earlier.execution}:{" "}
            <Text value={earlier.error ?? describeSandbox(earlier.sandbox)} />
          </p>
        )}
        {earlier && earlier.met.length > 0 && (
          <p>
            It may have met: <Text value={earlier.met.join("; ")} />
          </p>
        )}
        <p class="quiet">{SANDBOX_MEANS}</p>
      </dd>
    </div>
  );
}
