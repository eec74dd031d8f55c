import type { ConfigView } from "../../server/config/schema.ts";
import type { PolicyEntry, PolicyHit } from "../../server/policy/schema.ts";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Failed, Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { useAddress } from "../state/address.ts";
import { api, unwrap } from "../state/client.ts";
import { bind, useKeys } from "../state/keys.ts";
import { useProject, useProjects } from "../state/project.ts";
import { useRead } from "../state/read.ts";
import { Impact } from "./impact.tsx";
import { Rules } from "./rules.tsx";
import { State } from "./state.tsx";
import { Suggestions } from "./suggestions.tsx";
import { type Judged, Tester } from "./tester.tsx";

/** The rules of a project: what they are, what they say about an input, what a new one would do. */
export function PolicyPage() {
  const project = useProject();
  return (
    <main class="scroll page-scroll room">
      <div class="page-head">
        <h1>Policy</h1>
      </div>
      {project === null ? <ChooseProject /> : <PolicyOf key={project} project={project} />}
    </main>
  );
}

/** Links to the policy of each project, because each has its own. */
function ChooseProject() {
  const address = useAddress();
  const projects = useProjects();
  if (projects.length === 0) {
    return (
      <p class="quiet">
        No project is registered yet: run <code>gate init</code> in its folder.
      </p>
    );
  }
  return (
    <>
      <p class="quiet">Each project has its own rules. Choose one:</p>
      <ul class="room-list policy-projects">
        {projects.map(({ id, name }) => (
          <li key={id} class="room-row">
            <a href={address.href("/policy", { project: id, scope: null })}>
              <Text value={name} />
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The daemon does not watch config files; reading a config makes it check the file. */
const LOOK_MS = 5_000;

function PolicyOf({ project }: { project: string }) {
  const { config, policy } = api(project).api;
  const { value: view, problem, reread } = useRead<ConfigView>(
    project,
    () => unwrap(config.$get()),
    ({ type }) => type === "policy.changed",
  );
  const hits = useRead<PolicyHit[]>(
    project,
    () => unwrap(policy.hits.$get()),
    ({ topic, project_id }) => topic === "actions" && project_id === project,
  );
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && reread(), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  const judged = useSignal<Judged | null>(null);
  const suggested = useSignal<PolicyEntry | null>(null);
  const filter = useRef<HTMLInputElement>(null);
  const tester = useRef<HTMLTextAreaElement>(null);
  useKeys(bind(
    "Show",
    ["/", "Filter the rules", () => filter.current?.focus()],
    ["i", "Test an input", () => tester.current?.focus()],
  ));
  if (view === null || hits.value === null) {
    const why = problem ?? hits.problem;
    return why === null
      ? <Skeleton lines={12} />
      : <Failed title="The policy could not be read" problem={why} />;
  }
  return (
    <>
      <State view={view} onChange={reread} />
      <div class="policy-columns">
        <div>
          <Tester project={project} etag={view.etag} judged={judged} field={tester} />
          <Impact project={project} view={view} suggested={suggested} onAdded={reread} />
          <Suggestions project={project} chosen={suggested} />
        </div>
        <Rules view={view} hits={hits.value} judged={judged} filter={filter} />
      </div>
    </>
  );
}
