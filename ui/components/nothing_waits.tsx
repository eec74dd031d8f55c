import { connection } from "../events.ts";
import { usePending } from "../project.ts";
import { daemon } from "../state.ts";
import { Empty } from "./empty.tsx";

// An empty queue would be a false comfort.
function NobodyKnows() {
  return (
    <Empty icon="alert" title="What waits is not known">
      <p>
        The daemon does not answer. <code>gate daemon start</code>{" "}
        starts it; nothing is let through meanwhile.
      </p>
    </Empty>
  );
}

/** The queue is empty: what would stand here, and how to see the first card. */
export function NothingWaits() {
  const pending = usePending();
  if (connection.value === "offline") return <NobodyKnows />;
  if (pending === null || pending.length > 0) return null;
  return (
    <Empty icon="check" title="Nothing waits for you">
      <p>
        When an agent asks for something that the policy wants a person to see, its card stands
        here, and the agent waits until you decide.
      </p>
      <p class="quiet">
        {daemon.value?.projects.length === 0
          ? (
            <>
              No project is known yet: run <code>gate init</code> in its folder.
            </>
          )
          : (
            <>
              <code>gate global-setup</code> connects your agents; then ask one to change a file.
            </>
          )} <code>gate demo</code> plays the whole story in a terminal.
      </p>
    </Empty>
  );
}
