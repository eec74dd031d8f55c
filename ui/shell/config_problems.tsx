import { useSignal } from "@preact/signals";
import type { ConfigDifference, ConfigView, OutsideChange } from "../../server/config/schema.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { announce } from "../parts/toast.tsx";
import { count } from "../parts/words.ts";
import { api, explain, unwrap } from "../state/client.ts";

interface ProblemsProps {
  views: ConfigView[];
  reread: (path: string) => void;
}

/** The configs that are broken, and those that were changed outside gate. */
export function ConfigProblems({ views, reread }: ProblemsProps) {
  const broken = views.filter(({ problem }) => problem !== null);
  const changes = changesOf(views);
  return (
    <>
      {broken.map((view) => <Broken key={view.project_id} view={view} />)}
      {changes.length > 0 && <Changes all={changes} reread={reread} />}
    </>
  );
}

/** A changed config file, and the projects it applies to. */
interface FileChange {
  projects: string[];
  change: OutsideChange;
}

/** Lists each changed file once. A broken file must be fixed before it can be accepted. */
function changesOf(views: ConfigView[]): FileChange[] {
  const broken = views.map(({ problem }) => problem?.path);
  const files = new Map<string, FileChange>();
  for (const { project_id, outside_changes } of views) {
    for (const change of outside_changes.filter(({ path }) => !broken.includes(path))) {
      const key = `${change.path} ${change.before_sha256} ${change.after_sha256}`;
      const known = files.get(key);
      if (known) known.projects.push(project_id);
      else files.set(key, { projects: [project_id], change });
    }
  }
  return [...files.values()];
}

function Broken({ view: { project_id, problem } }: { view: ConfigView }) {
  const { path, line, column, cause, next } = problem!;
  return (
    <div class="banner tone-danger">
      <Icon name="octagon" />
      <div class="banner-text">
        <p>
          <strong>
            Everything in <Text value={project_id} /> is denied: its config is broken.
          </strong>
        </p>
        <p>
          {path && <Code value={`${path}:${line}:${column}`} />} <Text value={cause} />
        </p>
        <p class="quiet">{next}.</p>
      </div>
    </div>
  );
}

/**
 * One line for all changed files; a person unfolds it to see the changes and to accept them. Whether
 * it is unfolded is kept, and it never goes away before they are accepted.
 */
function Changes({ all, reread }: { all: FileChange[]; reread: (path: string) => void }) {
  const isOpen = useSignal(localStorage.getItem(OPEN) === "open");
  const [first] = all;
  return (
    <details
      class="banner-fold tone-warn"
      open={isOpen.value}
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
        if (currentTarget.open) localStorage.setItem(OPEN, "open");
        else localStorage.removeItem(OPEN);
      }}
    >
      <summary class="banner">
        <Icon name="alert" />
        <p class="banner-text">
          <span>
            <strong>
              {all.length === 1
                ? (
                  <>
                    The rules of <Text value={whoseOf(first!.projects)} />
                  </>
                )
                : `The rules of ${all.length} files`} were changed outside gate
            </strong>: <span class="banner-more">{sizeOf(all)}</span>
          </span>
        </p>
      </summary>
      {all.map(({ projects, change }) => (
        <Changed
          key={change.path + change.before_sha256 + change.after_sha256}
          projects={projects}
          change={change}
          onAccepted={() => reread(change.path)}
        />
      ))}
    </details>
  );
}

const OPEN = "gate.banners.config";

interface ChangedProps extends FileChange {
  onAccepted: () => void;
}

function Changed({ projects, change, onAccepted }: ChangedProps) {
  const busy = useSignal(false);
  const whose = whoseOf(projects);
  const accept = async () => {
    busy.value = true;
    try {
      const { path, after_sha256: sha256, number } = change;
      const json = { path, sha256, number };
      for (const id of projects) await unwrap(api(id).api.config.accept.$post({ json }));
      announce({ text: `Accepted the rules of ${whose}`, tone: "ok" }, null);
    } catch (error) {
      announce({ text: explain(error), tone: "danger" }, null);
    }
    busy.value = false;
    onAccepted();
  };
  return (
    <div class="banner-part">
      <div class="banner-text">
        <p>
          <Code value={change.path} />, changed <Ago at={change.at} said />
          {change.by && (
            <>
              , owned by <Text value={change.by} />
            </>
          )}
        </p>
        <Differences all={change.differences} />
      </div>
      <Button onClick={accept} icon="check" busy={busy.value}>Accept</Button>
    </div>
  );
}

const whoseOf = (projects: string[]) =>
  projects.length === 1 ? projects[0]! : count(projects.length, "project");

const SIGNS = { added: "+", removed: "−", changed: "~" } as const;

function Differences({ all }: { all: ConfigDifference[] | null }) {
  if (all === null) {
    return <p class="quiet">gate cannot show the changes: open the file to see them.</p>;
  }
  if (all.length === 0) return <p class="quiet">The rules are the same; only the text differs.</p>;
  return (
    <ul class="banner-changes" tabIndex={0} aria-label="Changes">
      {all.map(({ kind, key, text }) => (
        <li key={kind + key + text}>
          <span class="banner-sign" aria-hidden="true">{SIGNS[kind]}</span>
          <span class="visually-hidden">{kind}</span> {key}: <Code value={text} />
        </li>
      ))}
    </ul>
  );
}

/** How many changes there are; of a file that gate cannot compare, that there is one. */
function sizeOf(changes: FileChange[]): string {
  const all = changes.reduce((sum, { change }) => sum + (change.differences?.length ?? 1), 0);
  return all === 0 ? "same rules" : count(all, "change");
}
