import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ConfigView } from "../../server/config/schema.ts";
import { useLazy, Waiting } from "../parts/placeholder.tsx";
import { api, unwrap } from "../state/client.ts";
import { useLive } from "../state/live.ts";
import { useProject, useProjects } from "../state/project.ts";
import { watchedIn } from "./watched.ts";

/** The daemon does not watch config files; reading a config makes it check the file. */
const LOOK_MS = 5_000;

/** Warns of configs that are broken, or that were changed outside gate. */
export function ConfigBanners() {
  const { views, reread } = useConfigs();
  const nothing = views.every(({ problem, outside_changes }) =>
    problem === null && outside_changes.length === 0
  );
  return (
    <div class="banners" role="region" aria-label="Config" aria-live="polite" hidden={nothing}>
      {!nothing && <Problems views={views} reread={reread} />}
    </div>
  );
}

interface ProblemsProps {
  views: ConfigView[];
  reread: (path: string) => void;
}

/** Loaded only when there is something to say. */
function Problems(props: ProblemsProps) {
  const { value, failed } = useLazy(loadProblems);
  if (value) return <value.ConfigProblems {...props} />;
  return failed ? <Waiting failed /> : null;
}

const loadProblems = () => import("./config_problems.tsx");

/** The configs of the selected projects, read repeatedly. */
function useConfigs(): { views: ConfigView[]; reread: (path: string) => void } {
  const project = useProject();
  const projects = useProjects();
  const views = useSignal(new Map<string, ConfigView>());
  const turn = useSignal(0);
  const shown = project ? [project] : projects.map(({ id }) => id);
  const ids = project ? [project] : watchedIn(projects, turn.value);
  const look = () => turn.value += 1;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && look(), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  useLive(`${ids.join()} ${turn.value}`, async (late) => {
    const read = await Promise.all(
      ids.map((id) => unwrap(api(id).api.config.$get()).catch(() => null)),
    );
    if (late.aborted) return;
    // A config that cannot be read keeps its last known state; the footer reports the problem.
    const fresh = read.filter((view) => view !== null).map((view) =>
      [view.project_id, view] as const
    );
    views.value = new Map([...views.value, ...fresh]);
  }, ({ type }) => type === "policy.changed");
  const known = shown.map((id) => views.value.get(id)).filter((view) => view !== undefined);
  const reread = (path: string) => {
    // A global file is part of every project's config, also of those read in a later turn.
    const others = [...views.value].filter(([, view]) =>
      !view.outside_changes.some((change) => change.path === path)
    );
    views.value = new Map(others);
    look();
  };
  return { views: known, reread };
}
