import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { useLive } from "../state/live.ts";
import { useProject, useProjects } from "../state/project.ts";
import { acceptHead, lookAtHeads, type Setback, setbacks } from "../state/witness.ts";
import { watchedIn } from "./watched.ts";

const LOOK_MS = 30_000;

/** Says loudly when a ledger lost or changed events that this browser saw. */
export function Ledgers() {
  useWitness();
  const all = [...setbacks.value];
  return (
    <div
      class="banners"
      role="region"
      aria-label="Records"
      aria-live="assertive"
      hidden={all.length === 0}
    >
      {all.map(([project_id, setback]) => (
        <WentBack key={project_id} project_id={project_id} setback={setback} />
      ))}
    </div>
  );
}

// Looks at the ledgers in view at the start, after their events, and from time to time.
function useWitness(): void {
  const project = useProject();
  const projects = useProjects();
  const turn = useSignal(0);
  const changed = useMemo(() => new Set<string>(), []);
  const watched = project ? [project] : watchedIn(projects, turn.value);
  useEffect(() => {
    const timer = setInterval(
      () => document.visibilityState === "visible" && (turn.value += 1),
      LOOK_MS,
    );
    return () => clearInterval(timer);
  }, []);
  useLive(`${watched.join()} ${turn.value}`, async () => {
    const ids = changed.size > 0 ? [...changed] : watched;
    changed.clear();
    await lookAtHeads(ids);
  }, ({ project_id }) => {
    changed.add(project_id);
    return true;
  });
}

function WentBack({ project_id, setback }: { project_id: string; setback: Setback }) {
  const { seen, now } = setback;
  const isShorter = now.seq < seen.seq;
  return (
    <div class="banner tone-danger">
      <Icon name="octagon" />
      <div class="banner-text">
        <p>
          <strong>
            The record of <Text value={project_id} /> {isShorter ? "lost events" : "was rewritten"}.
          </strong>
        </p>
        <p>
          This browser saw event {seen.seq}, <Ago at={seen.at} said />. {isShorter
            ? `The ledger now ends at event ${now.seq}.`
            : `Event ${seen.seq} is missing or different now.`}
        </p>
        <p class="quiet">
          A restored backup does this, and so does a program that hides what it did. Decide nothing
          here until you know. Compare with an export, and run{" "}
          <code>gate audit verify --project</code> <Text value={project_id} />.
        </p>
      </div>
      <Button icon="check" onClick={() => acceptHead(project_id)}>I know why</Button>
    </div>
  );
}
