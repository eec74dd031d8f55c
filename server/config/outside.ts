import type { Fault } from "./accepted.ts";
import { hashOf, MACHINE } from "./config_text.ts";
import { oncePerMessage, problemOf } from "./daemon_problem.ts";
import type { ProjectFiles } from "./project_files.ts";
import type { DaemonProblem, OutsideChange } from "./schema.ts";
import type { Snapshot } from "./snapshot.ts";
import { describeOutside, forgedError, goneError, lostError } from "./view.ts";

/** The problems of the config that a person must solve. */
export async function listProblems(files: ProjectFiles): Promise<DaemonProblem[]> {
  const snapshot = await files.read();
  const isNew = snapshot.accepted.project === null && files.builtin === null;
  const waiting = isNew ? (await listOutside(files, snapshot)).filter((one) => one.waiting) : [];
  const own = waiting.filter(({ path }) => path === files.path);
  // Nobody can accept a broken file, so its error is the problem.
  const broken = snapshot.compiled.error;
  const changed = await faultsInDatabase(files);
  const told = changed.map(({ path, fault }) => toAccept(files, path, forgedError(path, fault)));
  return [
    ...oncePerMessage([...goneProblems(files, snapshot), ...told]),
    ...broken === null
      ? own.map(({ path }) =>
        toAccept(files, path, `nobody has accepted what "${path}" allows, so it waits`)
      )
      : [{ message: broken, fix: null, is_config: true }],
  ];
}

/** How the accepted rules in gate.db contradict the audit logs; null if they agree. */
export async function compareAccepted(files: ProjectFiles): Promise<string | null> {
  const found = await faultsInDatabase(files);
  // A text without a proof contradicts no log; the status tells it.
  const other = found.find(({ fault }) => fault === "older" || fault === "unrecorded");
  return other ? forgedError(other.path, other.fault) : null;
}

/** Another program can change gate.db while the daemon runs: what it wrote counts after a start. */
async function faultsInDatabase(
  files: ProjectFiles,
): Promise<{ path: string; fault: Fault }[]> {
  const { accepted, machine_path } = files.configs;
  const sides = [
    ...files.builtin === null ? [{ owner: files.id, path: files.path }] : [],
    { owner: MACHINE, path: machine_path },
  ];
  const found = sides.map(async ({ owner, path }) => {
    const fault = await accepted.compare(owner);
    return fault === null ? [] : [{ path, fault }];
  });
  return (await Promise.all(found)).flat();
}

/** How each file differs from what a person accepted. */
export async function listOutside(
  project: ProjectFiles,
  { files, accepted }: Snapshot,
): Promise<OutsideChange[]> {
  const { accepted: store, machine_path } = project.configs;
  const sides = [
    ...project.builtin === null
      ? [{ owner: project.id, path: project.path, file: files.project, known: accepted.project }]
      : [],
    { owner: MACHINE, path: machine_path, file: files.global, known: accepted.global },
  ];
  const changes = sides.map(async ({ owner, path, file, known }) => {
    const { row } = await store.find(owner);
    const after = { sha256: hashOf(file.text), text: file.text };
    const before = known ?? NOTHING;
    if (before.sha256 === after.sha256) return [];
    const at = row.changed_at ?? new Date(project.configs.services.environment.now()).toISOString();
    const others = owner === MACHINE ? files.project.value : files.global.value;
    const number = await store.nextNumber(owner);
    return [describeOutside(owner, { path, at, before, after, number }, [others?.policies])];
  });
  return (await Promise.all(changes)).flat();
}

/** The problems of configs that are gone, and of accepted texts that another program changed. */
export function goneProblems(
  files: ProjectFiles,
  { gone, forged, accepted }: Snapshot,
): DaemonProblem[] {
  const { machine_path } = files.configs;
  const forgedIn = (path: string, fault: Fault) => toAccept(files, path, forgedError(path, fault));
  const isLost = accepted.global === null && forged.global === null;
  return [
    ...(gone.project
      ? [
        problemOf(
          goneError(files.path),
          `${PUT_BACK}, or run gate init in the project's new folder`,
        ),
      ]
      : []),
    ...(gone.global ? [problemOf(goneError(machine_path), PUT_BACK)] : []),
    ...(forged.project ? [forgedIn(files.path, forged.project)] : []),
    ...(forged.global ? [forgedIn(machine_path, forged.global)] : []),
    ...(isLost ? [problemOf(lostError(machine_path))] : []),
  ];
}

/** A problem that ends when a person accepts the config with this path. */
function toAccept(files: ProjectFiles, path: string, message: string): DaemonProblem {
  const isOwn = path === files.path && files.builtin === null;
  const named = isOwn ? ` --project ${files.id}` : "";
  return problemOf(message, `gate config show${named}, then gate config accept${named}`);
}

const NOTHING = { sha256: "", text: "" };
const PUT_BACK = "put the file back";
