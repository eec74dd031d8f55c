import { existsSync } from "node:fs";
import { join } from "node:path";
import { verifyEvents } from "../audit/verify.ts";
import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import { keptProblem, problemOf } from "../config/daemon_problem.ts";
import type { DaemonProblem } from "../config/schema.ts";
import { listDamaged } from "../db/health.ts";
import type { NewEvent } from "../db/ledger.ts";
import { isAway, nextStepOf } from "../db/server_database.ts";
import type { Neighbour } from "../actions/context.ts";
import { rootAsked } from "../config/digests.ts";
import { isKey } from "../config/seal.ts";
import { MACHINE_ID } from "../constants.ts";
import { GateError } from "../errors.ts";
import type { NamedPaths } from "../policy/named_paths.ts";
import { digestOf } from "../proof/digest.ts";
import { listLedgerChanges } from "../proof/store.ts";
import { identifyProject, type Identity } from "./identity.ts";
import { LedgerPlaces } from "./ledger_places.ts";
import { machineRoots } from "./machine.ts";
import { touchedProjects } from "./neighbours.ts";
import { OpenProjects } from "./open_projects.ts";
import { Project, type ProjectOptions } from "./project.ts";
import type { Registry } from "./registry.ts";
import { ownMachine } from "./own_machine.ts";
import type {
  HubProject,
  MovedLedger,
  RegisteredProject,
  SharingMachine,
  StorageView,
} from "./schema.ts";
import { hasAction, hasSession, type Registered } from "./store.ts";

/** The caller who registers a project, or a part of gate, which brings no proof. */
export type Registrant =
  & Pick<Caller, "id" | "scope">
  & Partial<Pick<Caller, "member_id" | "via" | "proof">>;

type Shared = Omit<
  ProjectOptions,
  "id" | "roots" | "neighbours" | "visit" | "reach" | "own" | "lost" | "joining" | "noteSaved"
>;

/** The projects of this machine. Opens each one at its first use. */
export class Projects {
  readonly #registry: Registry;
  readonly #shared: Shared;
  /** Serves only this project (`gate start`). */
  readonly #only: string | null;
  readonly #open: OpenProjects;
  readonly #places: LedgerPlaces;
  /** The problem of each project, until the project opens without it. */
  readonly #problems = new Map<string, DaemonProblem>();
  /** Why the newest change of a project was not saved, until one is. */
  readonly #unsaved = new Map<string, DaemonProblem>();
  /** The projects whose ledger cannot be read now. */
  readonly #unread = new Set<string>();
  /** The projects whose ledger is being moved. */
  readonly #moving = new Set<string>();
  /** The events of projects whose ledgers join those of other machines now. */
  readonly #joining = new Map<string, NewEvent>();
  /** Damaged ledgers that were moved aside, by path, until a person deletes them. */
  readonly #damaged = new Map<string, string>();

  constructor(registry: Registry, shared: Shared, only: string | null) {
    this.#registry = registry;
    this.#shared = shared;
    this.#only = only;
    const { environment: { home, now }, pid, configs } = shared;
    this.#places = new LedgerPlaces({
      ...{ home, now, pid },
      storage: async () => (await configs.acceptedMachine())?.storage ?? null,
      written: () => configs.readMachine().loaded.value?.storage ?? null,
      reopen: (id) => this.get(id),
    });
    this.#open = new OpenProjects({
      open: (id) => this.#openProject(id),
      closed: (id, isLeft) => registry.setAwake(id, isLeft),
      failed: (id, error) => this.#report(id, error),
      now: shared.environment.now,
    });
  }

  /** Opens the projects that the last daemon left with unfinished actions. */
  async wake(): Promise<void> {
    for (const { project_id, is_awake } of await this.#list()) {
      this.#noteDamaged(project_id);
      // Other machines may commit to a shared one at any time, and people here hear of it.
      if (!is_awake && !this.#places.isRemote(project_id)) continue;
      // `get()` reports a project that cannot be opened.
      const opened = this.get(project_id).catch(() => {});
      // A server that does not answer must not hold up the others.
      if (!this.#places.isRemote(project_id)) await opened;
    }
  }

  /** The project with that id. Opens its ledger. @throws GateError `not_found`, `unavailable` */
  get(id: string): Promise<Project> {
    return this.#open.get(id);
  }

  /** The only project. @throws GateError `project_required` with the list of all projects */
  async only(): Promise<Project> {
    const registered = (await this.#list()).filter(({ project_id }) => project_id !== MACHINE_ID);
    const first = registered[0];
    if (first && registered.length === 1) return await this.get(first.project_id);
    const projects = registered.map(({ project_id, name, roots }) => ({
      id: project_id,
      name,
      roots,
    }));
    if (!first) {
      throw new GateError("project_required", "Cannot choose a project: none is registered", {
        fields: { projects },
        next: "gate init in its folder",
      });
    }
    const message = "Cannot choose a project: several are registered; add ?project=<id>";
    throw new GateError("project_required", message, { fields: { projects } });
  }

  /** The project of an action. @throws GateError `not_found` */
  async ofAction(id: string): Promise<Project> {
    for await (const project of UUID.test(id) ? this.#mayHold(id) : []) {
      if (await hasAction(project.ledger, id)) return project;
    }
    throw new GateError("not_found", `Cannot find action "${id}" in any project`, {
      fields: { unknown: "action" },
    });
  }

  /** The project of a session. @throws GateError `not_found` */
  async ofSession(id: string): Promise<Project> {
    for await (const project of UUID.test(id) ? this.#each() : []) {
      if (await hasSession(project.ledger, id)) return project;
    }
    throw new GateError("not_found", `Cannot find session "${id}" in any project`, {
      fields: { unknown: "session" },
    });
  }

  /** Every project that can be opened, the open ones first. */
  async *#each(): AsyncGenerator<Project> {
    const open = await this.listOpen();
    yield* open;
    const seen = new Set(open.map((project) => project.id));
    for (const { project_id } of await this.#list()) {
      const project = seen.has(project_id) ? null : await this.get(project_id).catch(() => null);
      if (project) yield project;
    }
  }

  /** The open projects, whose newest actions may lack an index entry, then the indexed ones. */
  async *#mayHold(id: string): AsyncGenerator<Project> {
    const open = await this.listOpen();
    yield* open;
    const seen = new Set(open.map((project) => project.id));
    for (const other of await this.#registry.listByAction(id)) {
      const project = seen.has(other) ? null : await this.get(other).catch(() => null);
      if (project) yield project;
    }
  }

  /**
   * Registers the project with a config in `root`. Its config is accepted at the first registration,
   * if this caller may; otherwise what it loosens waits. @throws GateError `conflict` …
   */
  async register(root: string, caller: Registrant): Promise<RegisteredProject> {
    const identity = identifyProject(root);
    const adding = await this.#registry.addsRoot(identity)
      ? await this.#proveRoot(identity, caller)
      : null;
    if (identity.warning) this.#shared.environment.log("warn", identity.warning);
    const registered = await this.#registry.register(identity, adding?.data.proof);
    if (adding) {
      await (await this.get(identity.id)).ledger.commit({ statements: [], events: [adding] });
    }
    (await this.#open.peek(identity.id))?.setRoots(registered.roots);
    const config = this.#shared.configs.of(identity.id, registered.roots);
    config.files.setRoots(registered.roots);
    await config.changes.acceptFirst(caller);
    return { ...await this.#toHub(registered), warnings: (await config.view()).warnings };
  }

  /**
   * Asks a person to prove that a folder becomes one more of a project, because it is judged by the
   * project's accepted policy then. Null where no key is enrolled. @throws GateError `proof_required`
   */
  async #proveRoot({ id, root }: Identity, caller: Registrant) {
    const { proofs } = this.#shared;
    const { kind, problem } = await proofs.status();
    if (!isKey(kind) && problem === null) return null;
    const { scope, member_id = null, via = null, proof = null } = caller;
    if (scope !== "reviewer" || via === null) {
      const message = `Cannot add "${root}" to project "${id}": a person must prove it`;
      throw new GateError("proof_required", message, { next: "gate init in that folder" });
    }
    const { ledger } = await this.get(id);
    const asked = rootAsked(id, root);
    const record = await proofs.require({ scope, member_id, via, proof }, {
      verb: "register_project",
      project_id: id,
      action_id: null,
      digest: digestOf(asked),
      head: ledger.head.hash,
    });
    return record && {
      session_id: null,
      action_id: null,
      type: "policy.changed" as const,
      actor: { kind: "reviewer" as const, id: caller.id },
      data: { source: "root", asked, proof: record },
    };
  }

  /** Forgets a project. Keeps its ledger and files. @throws GateError `not_found`, `conflict` */
  async remove(id: string, caller: Caller): Promise<void> {
    if (id === MACHINE_ID) {
      const message = `Cannot remove "${id}": it records the calls from folders of no project`;
      throw new GateError("conflict", message, {
        next: "remove the hooks instead: gate global-setup --no-enforce",
      });
    }
    const project = await this.get(id);
    requireReviewer(caller, "remove the project", "gate project remove");
    if (await project.isUnfinished()) {
      throw new GateError(
        "conflict",
        `Cannot remove project "${id}": it has unfinished actions`,
        { next: "review the held ones (gate pending) and wait until the others finish" },
      );
    }
    await project.recordRemoval(caller);
    await this.#registry.remove(id);
    await this.#open.close(id);
  }

  /** Where the ledger of each project is, and which machines share it. */
  async viewStorage(): Promise<StorageView> {
    const ids = (await this.#list()).map(({ project_id }) => project_id);
    return await this.#places.view(ids, (id) => this.#machinesOf(id));
  }

  /**
   * Moves the ledger of a project to the server of the global config, and verifies its chain in both
   * places. With `share` the project uses the ledger that other machines have there instead.
   * @throws GateError `conflict`, `proof_required`, `unavailable`
   */
  async joinServer(id: string, caller: Caller, { share = false } = {}): Promise<MovedLedger> {
    requireReviewer(caller, "move the ledger", "gate hub join");
    return await this.#whileMoving(
      id,
      () => share ? this.#join(id, caller) : this.#moveLedger(id, "server", caller),
    );
  }

  /**
   * Moves the ledger of a project back here. While other machines share it, it stays with them, and
   * the project goes on with the ledger that it had before; with `whole` they lose it.
   * @throws GateError `conflict`, `proof_required`, `unavailable`
   */
  async leaveServer(id: string, caller: Caller, { whole = false } = {}): Promise<MovedLedger> {
    requireReviewer(caller, "move the ledger", "gate hub leave");
    return await this.#whileMoving(id, async () => {
      const project = await this.get(id);
      const others = (await project.ledger.listMachines())
        .filter((one) => one.id !== project.ledger.machine?.id);
      if (others.length > 0 && !whole) return await this.#leave(id, caller, others);
      const connected = others.filter(({ is_connected }) => is_connected);
      if (connected.length > 0) {
        const names = connected.map(({ name }) => name).join(", ");
        throw cannotMove(id, `${names} use it now`, "stop gate there (gate daemon stop)");
      }
      return await this.#moveLedger(id, "here", caller);
    });
  }

  async #whileMoving<T>(id: string, work: () => Promise<T>): Promise<T> {
    if (this.#moving.has(id)) {
      throw cannotMove(id, "it is being moved already", "gate hub status");
    }
    this.#moving.add(id);
    try {
      return await work();
    } finally {
      this.#moving.delete(id);
    }
  }

  async #moveLedger(id: string, to: "server" | "here", caller: Caller): Promise<MovedLedger> {
    const project = await this.get(id);
    const url = await this.#places.target(id, to);
    await requireQuiet(project);
    await project.recordMove(caller, { to, url });
    const before = await project.audit.verify();
    if (!before.ok) throw cannotMove(id, before.problem!.what, "gate audit verify");
    const { rows } = await this.#places.move(id, to, () => this.#open.close(id))
      // Also after a failure, because held actions of an open project expire in time.
      .finally(() => this.get(id).catch(() => {}));
    return await this.#verified(id, { place: to, url, rows });
  }

  /** Joins the machines that have the ledger on the server: its keys are those of this home then. */
  async #join(id: string, caller: Caller): Promise<MovedLedger> {
    const project = await this.get(id);
    const url = await this.#places.target(id, "server");
    const shared = await this.#places.lookAtShared(id);
    try {
      await requireQuiet(project);
      if (await project.isUnfinished()) {
        throw cannotMove(id, "the ledger of this home holds unfinished actions", REVIEW_FIRST);
      }
      const { problem } = await verifyEvents(shared, { public_key: "", remembered: null });
      if (problem) {
        const next = "run gate audit verify on a machine that shares it";
        throw cannotMove(id, `the one on the server is damaged: ${problem.what}`, next);
      }
      await this.#adoptKeys(id, await listLedgerChanges(shared, id));
      const joining = await project.proveJoin(caller, { url, head: shared.head.hash });
      this.#joining.set(id, joining);
      await this.#places.join(id, shared.mark, async () => {
        await this.#open.close(id);
        await this.#forgetLedger(id);
      }).finally(() => this.get(id).catch(() => {}));
    } finally {
      this.#joining.delete(id);
      await shared.close();
    }
    return await this.#verified(id, { place: "server", url, rows: 0 });
  }

  /** @throws GateError `conflict` until a person has accepted the global config with these keys */
  async #adoptKeys(id: string, changes: readonly unknown[]): Promise<void> {
    const { proofs, configs } = this.#shared;
    if (!await proofs.adopt(changes)) return;
    configs.accepted.forget();
    if (await configs.acceptedMachine() !== null) return;
    const why = "this home has the keys of the machines that share it now, and no person has " +
      "accepted its global config with one";
    throw cannotMove(id, why, "gate config accept, then gate hub join --shared again");
  }

  async #leave(
    id: string,
    caller: Caller,
    others: readonly { name: string }[],
  ): Promise<MovedLedger> {
    const project = await this.get(id);
    const url = await this.#places.target(id, "here");
    await requireQuiet(project);
    if (await project.isUnfinished({ own: true })) {
      throw cannotMove(id, "it holds unfinished actions of this machine", REVIEW_FIRST);
    }
    await project.recordLeaving(caller, { to: "here", url });
    await this.#places.leave(id, async () => {
      await this.#open.close(id);
      await this.#forgetLedger(id);
    }).finally(() => this.get(id).catch(() => {}));
    const moved = await this.#verified(id, { place: "here", url, rows: 0 });
    return { ...moved, shared_with: others.map(({ name }) => name) };
  }

  /** Drops what this home remembers of a ledger when another one takes its place. */
  async #forgetLedger(id: string): Promise<void> {
    await this.#shared.stream.forget(id);
    this.#shared.configs.accepted.forget();
  }

  async #verified(
    id: string,
    moved: Pick<MovedLedger, "place" | "url" | "rows">,
  ): Promise<MovedLedger> {
    const project = await this.get(id);
    // Leaving others, this home goes on with a ledger that may not know its newest configs.
    const of_configs = moved.place === "server" || moved.rows > 0;
    const { ok, events, problem } = await project.audit.verify({ of_configs });
    const { machine } = project.ledger;
    const shared_with = (await project.ledger.listMachines())
      .filter((one) => one.id !== machine?.id).map(({ name }) => name);
    return { ...moved, project_id: id, events, ok, problem: problem?.what ?? null, shared_with };
  }

  async #machinesOf(id: string): Promise<SharingMachine[] | null> {
    const ledger = (await this.#open.peek(id))?.ledger;
    const machines = await ledger?.listMachines().catch(() => []) ?? [];
    if (!ledger || machines.length === 0) return null;
    return machines.map(({ seen_seq, schema: _, ...one }) => ({
      ...one,
      is_this: one.id === ledger.machine?.id,
      lag: Math.max(0, ledger.head.seq - seen_seq),
    }));
  }

  /** The ids and folders of every served project. Faster than `list()`. */
  async listRoots(): Promise<Pick<HubProject, "id" | "roots">[]> {
    return (await this.#registry.roots()).filter(({ id }) =>
      this.#only === null || id === this.#only
    );
  }

  /** Every served project, with the number of its pending actions. */
  async list(): Promise<HubProject[]> {
    const registered = await this.#list();
    return await Promise.all(registered.map((project) => this.#toHub(project)));
  }

  /** The projects with actions, newest activity first. Opens each one when the caller reaches it. */
  async *listActive(
    only?: ReadonlySet<string>,
  ): AsyncGenerator<{ project: Project; last_activity_at: string }> {
    for (const { project_id, last_activity_at } of await this.#byActivity()) {
      if (last_activity_at === null || only?.has(project_id) === false) continue;
      const project = await this.get(project_id).catch(() => null);
      if (project) yield { project, last_activity_at };
    }
  }

  /** The projects with an event at that time or later. @throws GateError */
  async listSince(at: string, only?: ReadonlySet<string>): Promise<Project[]> {
    const active = (await this.#list()).filter(({ project_id, last_activity_at }) =>
      last_activity_at !== null && last_activity_at >= at && only?.has(project_id) !== false
    );
    return await Promise.all(active.map(({ project_id }) => this.get(project_id)));
  }

  /** The open projects. Only they can hold pending actions. */
  listOpen(): Promise<Project[]> {
    return this.#open.list();
  }

  /** The problems for a person. */
  problems(): DaemonProblem[] {
    const damaged = [...this.#damaged].filter(([path]) => existsSync(path)).map(([path, id]) =>
      keptProblem(`damaged ledger of "${id}"`, path)
    );
    return [...this.#problems.values(), ...this.#unsaved.values(), ...damaged];
  }

  /** Ends every wait for a decision. */
  async letGo(): Promise<void> {
    for (const project of await this.#open.list()) project.actions.letGo();
  }

  close(): Promise<void> {
    this.#places.close();
    return this.#open.closeAll();
  }

  async #openProject(id: string): Promise<Project> {
    const { project_id, roots, is_indexed } = await this.#find(id);
    this.#places.requireOpenable(project_id);
    try {
      // Written first, so that the next start after a crash opens the project.
      await this.#registry.setAwake(project_id, true);
      const { project, problem } = await Project.open({
        ...this.#shared,
        id: project_id,
        roots: project_id === MACHINE_ID ? machineRoots() : roots,
        reach: (url) => this.#places.reach(project_id, url),
        own: () => ownMachine(this.#shared.environment.home),
        // Only the first opening on the server is that of the join.
        joining: this.#places.isRemote(project_id) ? this.#joining.get(project_id) : undefined,
        lost: (error) => {
          this.#report(project_id, error);
          this.#places.note(project_id, error);
          void this.#open.close(project_id);
        },
        noteSaved: (error) => this.#noteSaved(project_id, error),
        visit: async (home_project, event) => {
          const { ledger } = await this.get(home_project);
          await ledger.commit({ statements: [], events: [event] });
        },
        neighbours: (id) => ({
          touched: (named) => this.#neighbours(id, named),
          all: () => this.#neighbours(id, null),
          roots: async () => (await this.#registry.roots()).flatMap(({ roots }) => roots),
        }),
      });
      if (problem) this.#problems.set(project_id, problemOf(problem));
      else this.#problems.delete(project_id);
      // The opening wrote to the disk or to the server.
      this.#unsaved.delete(project_id);
      this.#unread.delete(project_id);
      this.#noteDamaged(project_id);
      if (!is_indexed) await this.#registry.index(project.ledger);
      return project;
    } catch (error) {
      this.#report(project_id, error);
      if (isAway(error)) this.#places.note(project_id, error);
      throw error;
    }
  }

  /** The other projects in whose folders a named path lies, or all; also those that are not served. */
  async #neighbours(id: string, named: NamedPaths | null): Promise<Neighbour[]> {
    const all = await this.#registry.roots();
    const others = all.filter((other) => other.id !== id);
    const own = all.find((one) => one.id === id)?.roots ?? [];
    const ids = named
      ? touchedProjects(named, others, own)
      : others.filter(({ roots }) => roots.length > 0).slice(0, MAX_NEIGHBOURS).map((one) =>
        one.id
      );
    return ids.map((touched) => {
      const { roots } = others.find((other) => other.id === touched)!;
      return { id: touched, config: this.#shared.configs.of(touched, roots) };
    });
  }

  #noteDamaged(project_id: string): void {
    const { home } = this.#shared.environment;
    for (const path of listDamaged(join(home, "projects", project_id, "ledger.db"))) {
      this.#damaged.set(path, project_id);
    }
  }

  #noteSaved(project_id: string, error: GateError | null): void {
    if (error === null) return void this.#unsaved.delete(project_id);
    const message = `project "${project_id}": the newest change was not saved: ${error.message}`;
    this.#unsaved.set(project_id, problemOf(message, error.toProblem().next));
  }

  #report(project_id: string, error: unknown): void {
    const { message, stack } = error as Error;
    const next = error instanceof GateError ? error.fields.next : null;
    const fix = nextStepOf(error) ?? (typeof next === "string" ? next : null);
    const problem = problemOf(`project "${project_id}": ${message}`, fix);
    this.#problems.set(project_id, problem);
    this.#unread.add(project_id);
    this.#shared.environment.log("error", `project "${project_id}": ${message}`, { stack });
  }

  async #toHub(registered: Registered): Promise<HubProject> {
    const { project_id, name, roots, last_activity_at, workspace_ids } = registered;
    const open = await this.#open.peek(project_id);
    return {
      id: project_id,
      name,
      roots,
      pending_count: await open?.countPending() ?? 0,
      last_activity_at,
      reachable: !this.#problems.has(project_id) &&
        (project_id === MACHINE_ID || roots.some((root) => existsSync(root))),
      unread: this.#unread.has(project_id),
      workspace_ids,
    };
  }

  async #list(): Promise<Registered[]> {
    // Copied before the read, so that an event saved during the read is in at least one of them.
    const unsaved = this.#shared.stream.unsavedActivity();
    const all = (await this.#registry.list()).map((project) => ({
      ...project,
      last_activity_at: unsaved.get(project.project_id) ?? project.last_activity_at,
    }));
    return this.#only === null ? all : all.filter(({ project_id }) => project_id === this.#only);
  }

  async #byActivity(): Promise<Registered[]> {
    const activity = ({ last_activity_at }: Registered) => last_activity_at ?? "";
    return (await this.#list()).toSorted((a, b) => activity(a) < activity(b) ? 1 : -1);
  }

  async #find(id: string): Promise<Registered> {
    const isServed = this.#only === null || id === this.#only;
    const registered = isServed && !id.includes("\0") ? await this.#registry.find(id) : null;
    if (registered) return registered;
    // Made when it is first needed, so that lists show it only where it is used.
    if (isServed && id === MACHINE_ID) return await this.#registry.addMachine();
    throw new GateError(
      "not_found",
      `Cannot find project "${id}": it is not registered`,
      { next: "gate project list" },
    );
  }
}

const REVIEW_FIRST = "review them first (gate pending)";

function cannotMove(id: string, why: string, next?: string): GateError {
  return new GateError("conflict", `Cannot move the ledger of "${id}": ${why}`, { next });
}

/** @throws GateError `conflict` while something uses the ledger that a move would cut off */
async function requireQuiet(project: Project): Promise<void> {
  const running = await project.findExecuting();
  if (running !== null) {
    // An agent host that has ended never reports its action.
    const end =
      "wait until it has finished, or until gate gives it up: a minute after the project's " +
      "commandTimeoutSeconds";
    throw cannotMove(project.id, `the action ${running} runs`, end);
  }
  if (project.audit.isExporting) {
    throw cannotMove(project.id, "an export is being read", "wait for its end");
  }
}

/** The rules of more projects are not compared with a file that has several names. */
const MAX_NEIGHBOURS = 100;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
