import { join } from "node:path";
import { Actions } from "../actions/actions.ts";
import { listRunning } from "../actions/store.ts";
import type { Guarding } from "../actions/guarding/guarding.ts";
import type { ActionServices, Neighbours } from "../actions/context.ts";
import { KnownContents } from "../actions/known_contents.ts";
import { type Intake, overLimit } from "../actions/intake.ts";
import { Budgets } from "../actions/submit/budgets.ts";
import { viewSandbox } from "../actions/show/sandbox_view.ts";
import { whyLeaseEnded } from "../actions/review/lease.ts";
import { Openings } from "../actions/review/openings.ts";
import { testForSandbox } from "../actions/submit/evaluate_for_sandbox.ts";
import { History } from "../actions/submit/history.ts";
import { DaySums } from "../analytics/day_sums.ts";
import { measureAttention } from "../analytics/attention.ts";
import {
  type AnalyticsRange,
  type AnalyticsSummary,
  type Attention,
  boundsOf,
} from "../analytics/schema.ts";
import { summarize } from "../analytics/summarize.ts";
import { Audit } from "../audit/audit.ts";
import type { Journal } from "../evidence/journal.ts";
import type { AuditEvent, AuditType } from "../evidence/schema.ts";
import { redactEvent } from "../audit/redact.ts";
import type { Signer } from "../audit/signer.ts";
import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import type { Config } from "../config/config.ts";
import { compareAccepted } from "../config/outside.ts";
import type { ApprovalRoutes } from "../approval_routes/approval_routes.ts";
import type { Configs } from "../config/configs.ts";
import { listPolicyChanges } from "../config/store.ts";
import { MACHINE_ID } from "../constants.ts";
import type { Environment } from "../environment.ts";
import type { GateError } from "../errors.ts";
import type { Ledger, MachineName, NewEvent } from "../db/ledger.ts";
import { isOwnEvent } from "../db/machines.ts";
import type { ServerAddress } from "../db/server_database.ts";
import { openLedger } from "../db/open_ledger.ts";
import type { Bus } from "../events/bus.ts";
import type { Stream } from "../events/stream.ts";
import { Grants } from "../grants/grants.ts";
import type { GrantPreview, GrantPreviewInput, GrantWaiting } from "../grants/schema.ts";
import type { PolicyTestInput, PolicyTestResult } from "../policy/schema.ts";
import { digestOf } from "../proof/digest.ts";
import type { Proofs } from "../proof/proofs.ts";
import type { ProofVerb } from "../proof/schema.ts";
import { Blocks } from "../remediation/blocks.ts";
import { Thresholds } from "../remediation/thresholds.ts";
import { Retention } from "../retention/retention.ts";
import { SeenFiles } from "../runtime/file_image.ts";
import type { HostKey } from "../sessions/host_key.ts";
import type { SandboxView } from "../sandbox/schema.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import { Sessions } from "../sessions/sessions.ts";
import type { Team } from "../team/team.ts";
import { consultGrants } from "../trials/consult.ts";
import { previewGrants } from "../trials/preview.ts";
import { listWaiting } from "../trials/waiting.ts";
import { servePassed } from "./serve_passed.ts";
import { countPending, hasJoined, isUnfinished } from "./store.ts";

/** The answer to a request of another machine before this one has recovered its actions. */
const STILL_OPENING = {
  code: "unavailable",
  message:
    "Cannot carry out the request: the machine of the agent is opening the ledger; try again",
  fields: {},
};

/** How long after a failure a change of the proof on another machine is read again. */
const FOLLOW_AGAIN_MS = 1_000;

export interface ProjectOptions {
  id: string;
  roots: string[];
  environment: Environment;
  port: number;
  pid: number;
  signer: Signer;
  host_key: HostKey;
  /** Tells the system's journal the newest events. */
  journal: Journal | null;
  bus: Bus;
  stream: Stream;
  configs: Configs;
  guarding: Guarding;
  sandboxes: Sandboxes;
  intake: Intake;
  /** The other projects, seen from this one. */
  neighbours: (id: string) => Neighbours;
  /** Records in another project's ledger that its agent begins to work here. */
  visit: (home_project: string, event: NewEvent) => Promise<void>;
  /** How to reach a ledger on a server. @throws GateError `unavailable` */
  reach: (url: string) => Promise<ServerAddress>;
  /** The name of this machine among those that share a ledger. */
  own: () => MachineName;
  /** Told whether the newest commit was saved; its error if not. */
  noteSaved: (error: GateError | null) => void;
  /** Called when the server of the ledger stops answering. */
  lost: (error: unknown) => void;
  /** The event of a person who has just let this machine join others. */
  joining?: NewEvent | undefined;
  proofs: Proofs;
  team: Team;
  routes: ApprovalRoutes;
  /** The lists of the machine whose changes every ledger records. */
  kept: readonly { attach(ledger: Ledger): Promise<void>; detach(project_id: string): void }[];
}

/** The event of a machine that used the ledger before others joined it. */
const JOINED: NewEvent = {
  ...{ session_id: null, action_id: null, type: "machine.joined" },
  actor: { kind: "system", id: "gate" },
  data: {},
};

/** One registered project with its open ledger. Creates the services of the project. */
export class Project {
  readonly id: string;
  readonly roots: readonly string[];
  readonly ledger: Ledger;
  readonly config: Config;
  readonly sessions: Sessions;
  readonly actions: Actions;
  readonly grants: Grants;
  readonly openings: Openings;
  readonly budgets: Budgets;
  readonly blocks: Blocks;
  readonly audit: Audit;
  readonly retention: Retention;
  readonly daySums: DaySums;
  /** The new path of a damaged ledger that this one replaces. */
  readonly moved_to: string | null;
  readonly #roots: string[];
  readonly #proofs: Proofs;
  readonly #configs: Configs;
  readonly #signer: Signer;
  readonly #own: ProjectOptions["own"];
  readonly #log: Environment["log"];
  readonly #kept: ProjectOptions["kept"];
  readonly #services: ActionServices;
  readonly #now: () => number;
  #isClosed = false;
  #followAgain: ReturnType<typeof setTimeout> | undefined;
  #pending: { seq: number; count: number } | null = null;
  #summary: { state: string; summary: AnalyticsSummary } | null = null;

  private constructor(
    options: ProjectOptions,
    { ledger, moved_to, blocks }: {
      ledger: Ledger;
      moved_to: string | null;
      blocks: Blocks;
    },
  ) {
    const { id, environment, signer, host_key, bus, stream, configs } = options;
    this.id = id;
    this.#now = environment.now;
    this.#proofs = options.proofs;
    this.#configs = configs;
    this.#signer = signer;
    this.#own = options.own;
    this.#log = environment.log;
    this.#kept = options.kept;
    // All services share one array, so that they see a root added later.
    this.#roots = [...options.roots];
    const roots = this.roots = this.#roots;
    this.ledger = ledger;
    this.moved_to = moved_to;
    this.config = configs.of(id, roots);
    this.config.files.attach({
      record: async (event) => {
        await ledger.commit({ statements: [], events: [event] });
      },
      listPolicyChanges: async () =>
        (await listPolicyChanges(ledger, id)).filter((data) => isOwnEvent(ledger.machine, data)),
      writes: (path) => options.guarding.accept([path]),
      head: () => ledger.head.seq === 0 ? null : ledger.head.hash,
    }, roots);
    const in_any_folder = id === MACHINE_ID;
    const { visit } = options;
    this.sessions = new Sessions({
      environment,
      ledger,
      roots,
      host_key,
      in_any_folder,
      visit,
      blocks,
      admit: async () => {
        const { compiled } = await this.config.inForce();
        const reached = options.intake.admitSession(compiled.limits);
        if (reached !== null) throw overLimit(reached, "the session", "use an open session");
      },
    });
    this.openings = new Openings({ ledger, environment, proofs: options.proofs });
    const services: ActionServices = this.#services = {
      ...{ project_id: id, roots, environment, ledger, bus },
      config: this.config,
      sessions: this.sessions,
      neighbours: options.neighbours(id),
      proofs: options.proofs,
      signer,
      team: options.team,
      routes: options.routes,
      leases: { whyEnded: (row, questions) => whyLeaseEnded(services, row, questions) },
      guarding: options.guarding,
      sandboxes: options.sandboxes,
      openings: this.openings,
      intake: options.intake,
      contents: new KnownContents(environment),
      budgets: new Budgets(ledger),
      blocks,
      thresholds: new Thresholds({ ledger, environment, blocks }),
      history: new History(ledger, environment),
      seen: new SeenFiles(),
    };
    this.actions = new Actions(services);
    this.retention = new Retention({
      ...{ environment, ledger, contents: services.contents },
      days: () => configs.retentionDays(),
    });
    this.grants = new Grants(services);
    this.blocks = blocks;
    this.budgets = services.budgets;
    const remembered = () => stream.remembered(id);
    this.daySums = new DaySums(ledger);
    this.audit = new Audit({
      environment,
      ledger,
      signer,
      remembered,
      compareAccepted: () => compareAccepted(this.config.files),
    });
  }

  /** Opens the ledger, publishes events that a crash held back and recovers unfinished actions. */
  static async open(
    options: ProjectOptions,
  ): Promise<{ project: Project; problem: string | null }> {
    const { id, environment, pid, signer, stream, journal } = options;
    let blocks: Blocks | null = null;
    let opened: Project | null = null;
    const { ledger, moved_to } = await openLedger({
      project_id: id,
      folder: join(environment.home, "projects", id),
      pid,
      now: environment.now,
      redact: redactEvent,
      sign: (head) => signer.sign(head),
      publish: (events) => {
        blocks?.note(events);
        stream.append(events);
      },
      noteDurable: (events) => {
        journal?.note(events);
        stream.remember(events);
      },
      reach: options.reach,
      noteSaved: options.noteSaved,
      lost: options.lost,
      own: options.own,
      isWaiting: () => opened?.actions.isWaiting ?? false,
      hear: (events) => opened?.hear(events),
      serve: async (request) =>
        opened ? await servePassed(opened, request, environment.log) : { refused: STILL_OPENING },
    });
    blocks = new Blocks({ ledger, environment, proofs: options.proofs });
    try {
      if (moved_to) await stream.forget(id);
      const problem = await stream.reconcile(ledger);
      await options.proofs.attach(ledger);
      for (const list of options.kept) await list.attach(ledger);
      const project = new Project(options, { ledger, moved_to, blocks });
      await project.config.changes.acceptKnown();
      await project.config.changes.rememberMachine();
      await project.#recordJoined(options.joining);
      opened = project;
      // A change may have come before this project listened.
      if (ledger.machine !== null) await project.#followProofs();
      await project.actions.recover();
      return { project, problem };
    } catch (error) {
      options.proofs.detach(id);
      for (const list of options.kept) list.detach(id);
      await ledger.close();
      throw error;
    }
  }

  /** The decision of policy, or of a grant that would apply. Records nothing. */
  async testPolicy(input: PolicyTestInput): Promise<PolicyTestResult> {
    const session = input.session_id === undefined
      ? null
      : await this.sessions.get(input.session_id).catch(() => null);
    const tested = await testForSandbox(this.#services, input, session);
    return await consultGrants(this.#services, input, tested);
  }

  /** The grants that an approval of a pending action could create. Saves nothing. */
  async previewGrants(input: GrantPreviewInput, caller: Caller): Promise<GrantPreview> {
    requireReviewer(caller, "preview the grants", "gate approve --remember");
    return await previewGrants(this.#services, input);
  }

  /** The held actions that a grant would allow if they were submitted now. Decides nothing. */
  async listWaiting(grant_id: string): Promise<GrantWaiting> {
    return await listWaiting(this.#services, grant_id);
  }

  /** The sandbox of commands, with the walls that people opened. */
  viewSandbox(): Promise<SandboxView> {
    return viewSandbox(this.#services, this.openings);
  }

  /** The totals of a range. Cached until the next event. */
  async summarize({ window, to }: AnalyticsRange): Promise<AnalyticsSummary> {
    const now = this.#now();
    const { from } = boundsOf({ window, to }, now);
    const state = `${window} ${to} ${this.ledger.head.seq} ${from}`;
    if (this.#summary?.state !== state) {
      this.#summary = { state, summary: await summarize([this], { window, to }, now) };
    }
    return this.#summary.summary;
  }

  /** How carefully people decided in the last days. */
  attention(range: AnalyticsRange): Promise<Attention> {
    return measureAttention([this.ledger], range, this.#now());
  }

  /** The number of pending actions. Cached until the next event. */
  async countPending(): Promise<number> {
    const { seq } = this.ledger.head;
    if (this.#pending?.seq !== seq) {
      this.#pending = { seq, count: await countPending(this.ledger) };
    }
    return this.#pending.count;
  }

  /** Whether an action, or with `own` one of this machine, waits for decision, execution or recovery. */
  isUnfinished(of?: { own: boolean }): Promise<boolean> {
    return isUnfinished(this.ledger, of);
  }

  /** Asks for a proof of the removal and records it. @throws GateError `proof_required` */
  async recordRemoval(caller: Caller): Promise<void> {
    const asked = { project_id: this.id, roots: [...this.#roots] };
    await this.#recordDeed(caller, "remove_project", "project.removed", asked);
  }

  /** Asks for a proof of the ledger's move and records it. @throws GateError `proof_required` */
  async recordMove(caller: Caller, asked: { to: "server" | "here"; url: string }): Promise<void> {
    const whole = { project_id: this.id, ...asked };
    await this.#recordDeed(caller, "move_ledger", "ledger.move_started", whole);
  }

  /** Asks for a proof that this machine leaves the ledger, and records it. @throws GateError `proof_required` */
  async recordLeaving(caller: Caller, asked: { to: "here"; url: string }): Promise<void> {
    const whole = { project_id: this.id, ...asked };
    await this.#recordDeed(caller, "move_ledger", "machine.left", whole, { machine: this.#own() });
  }

  /**
   * Asks for a proof that this machine joins the others. Returns the event for the shared ledger,
   * whose newest event has the hash `head`. @throws GateError `proof_required`
   */
  async proveJoin(
    caller: Caller,
    { url, head }: { url: string; head: string },
  ): Promise<NewEvent> {
    const asked = { project_id: this.id, to: "server", url };
    return await this.#proveDeed(caller, {
      verb: "move_ledger",
      type: "machine.joined",
      asked,
      head,
    });
  }

  /**
   * Records once that this machine uses a shared ledger, with the key of its signed heads: other
   * machines and audit bundles check them.
   */
  async #recordJoined(joining: NewEvent | undefined): Promise<void> {
    const { ledger } = this;
    const { public_key } = this.#signer;
    if (ledger.machine === null || (!joining && await hasJoined(ledger, public_key))) return;
    const { data, ...event } = joining ?? JOINED;
    await ledger.commit({
      statements: [],
      events: [{ ...event, data: { ...data, machine: this.#own(), public_key } }],
    });
  }

  /** The id of an action that is being executed on this machine, or null. */
  async findExecuting(): Promise<string | null> {
    return (await listRunning(this.ledger))[0]?.id ?? null;
  }

  /** Takes over what other machines that share the ledger have committed. */
  hear(events: readonly AuditEvent[]): void {
    if (events.some(({ type }) => type === "proof.changed")) void this.#followProofs();
    this.actions.hear(events);
  }

  /** Repeats itself after a failure: until then, keys that no longer count elsewhere count here. */
  async #followProofs(): Promise<void> {
    try {
      if (await this.#proofs.follow(this.id)) this.#configs.accepted.forget();
    } catch (error) {
      if (this.#isClosed) return;
      this.#log("error", "Cannot take over a change of the proof", { error: String(error) });
      clearTimeout(this.#followAgain);
      this.#followAgain = setTimeout(() => void this.#followProofs(), FOLLOW_AGAIN_MS);
      this.#followAgain.unref();
    }
  }

  async #recordDeed(
    caller: Caller,
    verb: ProofVerb,
    type: AuditType,
    asked: Record<string, unknown>,
    more: Record<string, unknown> = {},
  ): Promise<void> {
    const head = this.ledger.head.hash;
    const event = await this.#proveDeed(caller, { verb, type, asked, head });
    const data = { ...event.data, ...more };
    await this.ledger.commit({ statements: [], events: [{ ...event, data }] });
  }

  async #proveDeed(
    caller: Caller,
    { verb, type, asked, head }: {
      verb: ProofVerb;
      type: AuditType;
      asked: Record<string, unknown>;
      head: string;
    },
  ): Promise<NewEvent> {
    const proof = await this.#proofs.require(caller, {
      ...{ verb, project_id: this.id, action_id: null },
      ...{ digest: digestOf(asked), head },
    });
    return {
      ...{ session_id: null, action_id: null, type },
      actor: { kind: "reviewer", id: caller.id },
      data: proof ? { asked, proof } : { asked },
    };
  }

  /** Replaces the folders of the project, for every service at once. */
  setRoots(roots: readonly string[]): void {
    this.#roots.splice(0, this.#roots.length, ...roots);
  }

  /** Closes the ledger. Returns whether it holds unfinished actions for the next start. */
  async close(): Promise<boolean> {
    this.#isClosed = true;
    clearTimeout(this.#followAgain);
    await this.actions.close();
    this.#proofs.detach(this.id);
    for (const list of this.#kept) list.detach(this.id);
    this.config.files.detach();
    try {
      // Asked last, when no action can begin any more.
      return await this.isUnfinished();
    } finally {
      await this.ledger.close();
    }
  }
}
