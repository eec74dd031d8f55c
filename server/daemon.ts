import { homedir } from "node:os";
import { join } from "node:path";
import type { HeldAction } from "./actions/schema.ts";
import { Guarding } from "./actions/guarding/guarding.ts";
import { Intake } from "./actions/intake.ts";
import { AGENTS } from "./agent_monitor/agents/agents.ts";
import { listHeldActions } from "./agent_monitor/held.ts";
import { AgentMonitor, type MonitorOptions } from "./agent_monitor/monitor.ts";
import { readSettings, readStatusLine } from "./agent_monitor/settings.ts";
import type { ActionList } from "./actions/list/schema.ts";
import { measureAttention } from "./analytics/attention.ts";
import {
  type AnalyticsRange,
  type AnalyticsSummary,
  type Attention,
  boundsOf,
} from "./analytics/schema.ts";
import { summarize } from "./analytics/summarize.ts";
import type { Export } from "./audit/export.ts";
import { withoutWindow } from "./audit/schema.ts";
import { Journal } from "./evidence/journal.ts";
import { Signer } from "./audit/signer.ts";
import { keptProblem, problemOf } from "./config/daemon_problem.ts";
import { configuredProof, configuredUnlock } from "./config/approvals.ts";
import { Config } from "./config/config.ts";
import { Configs } from "./config/configs.ts";
import { SOLE_MEMBER } from "./auth/schema.ts";
import { MACHINE_ID, VERSION } from "./constants.ts";
import { Doctor } from "./doctor/doctor.ts";
import type { Environment } from "./environment.ts";
import { listDamaged } from "./db/health.ts";
import { type OwnerLock, takeOwnership } from "./db/owner.ts";
import { ApprovalRoutes } from "./approval_routes/approval_routes.ts";
import { Bus } from "./events/bus.ts";
import { Stream } from "./events/stream.ts";
import type { DaemonStatus, GlobalActionQuery, GlobalAuditExportQuery } from "./global/schema.ts";
import { Idempotency } from "./idempotency/idempotency.ts";
import { exportAcross } from "./projects/export_across.ts";
import { listAcross, listPendingAcross, narrow, type ProjectSet } from "./projects/across.ts";
import { machineConfig, machineRoots } from "./projects/machine.ts";
import { Projects } from "./projects/projects.ts";
import { Registry } from "./projects/registry.ts";
import { type NotificationLimits, Notifications } from "./notifications/notifications.ts";
import { Proofs } from "./proof/proofs.ts";
import { openHome } from "./runtime/home.ts";
import { openProcessList } from "./runtime/open_process_list.ts";
import { ownUid, sendSignal } from "./runtime/process_list.ts";
import { secretVariables } from "./config/secret_variables.ts";
import { ownEnvironment, ownPid } from "./runtime/self.ts";
import { HostShells } from "./sandbox/host_shells.ts";
import { Sandboxes } from "./sandbox/sandboxes.ts";
import { Homes } from "./sessions/homes.ts";
import { ViewedFiles } from "./sessions/viewed.ts";
import { HostKey } from "./sessions/host_key.ts";
import { Team } from "./team/team.ts";
import { Workspaces } from "./workspaces/workspaces.ts";

export interface DaemonOptions {
  port: number;
  /** Serves only this project (`gate start`). */
  project?: string | null;
  /** Whether the daemon needs no credential (`--auth none`). */
  open?: boolean;
  /** The person of the reviewer's token. */
  owner?: string;
  /** The machine that the agent monitor looks at; only tests set it. */
  machine?: Partial<Pick<MonitorOptions, "processes" | "terminator" | "home" | "env">>;
  /** Shorter times of notifications; only tests set them. */
  notifying?: Partial<NotificationLimits>;
}

/** The machine-wide services: the registry, the open projects, the event bus, workspaces. */
export class Daemon {
  readonly home: string;
  readonly port: number;
  readonly log: Environment["log"];
  readonly bus: Bus;
  readonly stream: Stream;
  readonly guarding: Guarding;
  readonly homes: Homes;
  readonly viewed: ViewedFiles;
  readonly host_shells: HostShells;
  readonly idempotency: Idempotency;
  readonly projects: Projects;
  readonly proofs: Proofs;
  readonly configs: Configs;
  readonly team: Team;
  readonly routes: ApprovalRoutes;
  readonly workspaces: Workspaces;
  readonly monitor: AgentMonitor;
  readonly doctor: Doctor;
  readonly notifications: Notifications;
  readonly #environment: Environment;
  readonly #started: number;
  readonly #owner: OwnerLock;
  readonly #registry: Registry;
  readonly #journal: Journal | null;
  #closing: Promise<void> | null = null;

  private constructor(
    environment: Environment,
    port: number,
    parts:
      & Pick<
        Daemon,
        "stream" | "bus" | "guarding" | "proofs" | "projects" | "configs" | "team" | "routes"
      >
      & {
        owner: OwnerLock;
        registry: Registry;
        journal: Journal | null;
        machine: DaemonOptions["machine"];
        notifying: DaemonOptions["notifying"];
      },
  ) {
    this.#environment = environment;
    this.#started = environment.now();
    this.home = environment.home;
    this.port = port;
    this.log = environment.log;
    this.bus = parts.bus;
    this.stream = parts.stream;
    this.guarding = parts.guarding;
    this.host_shells = new HostShells({ home: environment.home, port });
    this.homes = new Homes(parts.registry.database, environment.now);
    this.viewed = new ViewedFiles(parts.registry.database, environment.now);
    this.idempotency = new Idempotency(parts.registry.database, environment.now);
    this.#owner = parts.owner;
    this.#registry = parts.registry;
    this.#journal = parts.journal;
    this.proofs = parts.proofs;
    this.configs = parts.configs;
    this.team = parts.team;
    this.routes = parts.routes;
    this.projects = parts.projects;
    this.workspaces = new Workspaces({
      registry: parts.registry.database,
      register: (root, caller) => parts.projects.register(root, caller),
      now: environment.now,
      log: environment.log,
      home: environment.home,
    });
    this.monitor = this.#createMonitor(environment, parts.machine);
    const { stream, configs, projects, team } = parts;
    this.doctor = new Doctor({
      ...{ environment, port },
      env: parts.machine?.env ?? ownEnvironment(),
      secretVariables: async () => secretVariables(await configs.acceptedMachine()),
      record: async (event) => {
        const { ledger } = await projects.get(MACHINE_ID);
        await ledger.commit({ statements: [], events: [event] });
      },
    });
    this.notifications = new Notifications({
      ...{ environment, port, bus: parts.bus, stream, configs },
      registry: parts.registry.database,
      members: () => team.members(),
      project: (id) => projects.get(id),
      ...parts.notifying && { limits: parts.notifying },
    });
  }

  /** Locks the data folder for this process and recovers projects after a crash. */
  static async open(environment: Environment, options: DaemonOptions): Promise<Daemon> {
    openHome(environment.home);
    const { port } = options;
    const pid = ownPid();
    const owner = takeOwnership(environment.home, pid);
    const bus = new Bus();
    let registry: Registry | null = null;
    try {
      registry = await Registry.open(environment);
      const stream = await Stream.open(registry.database, bus, environment.log);
      const signer = Signer.open(join(environment.home, "keys"));
      const proofs = await Proofs.open({
        environment,
        port,
        registry: registry.database,
        open: options.open ?? false,
        configured: () => configuredProof(environment.home),
        unlock_seconds: () => configuredUnlock(environment.home),
        seal: (state) => configs.accepted.seal(state),
        role_of: (member_id) => team.roleOf(member_id),
      });
      const only = options.project ?? null;
      const { database } = registry;
      const listRoots = registry.roots.bind(registry);
      const configs: Configs = await Configs.open({
        ...{ environment, port, registry: database, proofs, listRoots },
        create: (services, id, roots) =>
          id === MACHINE_ID
            ? new Config(services, id, machineRoots(), machineConfig())
            : new Config(services, id, roots),
      });
      registry.countRoots((id, roots, proofs) => configs.accepted.countRoots(id, roots, proofs));
      const guarding = new Guarding(environment);
      const intake = new Intake(environment);
      const engine = async () => await environment.sandbox?.() ?? null;
      const sandboxes = new Sandboxes(environment.home, engine, environment.now);
      const host_key = HostKey.open(join(environment.home, "keys"));
      const journal = environment.journal
        ? new Journal(environment.journal, environment.home)
        : null;
      const lists = { environment, registry: database, proofs };
      const team: Team = await Team.open({
        ...lists,
        owner: options.owner ?? SOLE_MEMBER,
        neededBy: (member_id) => routes.neededBy(member_id),
      });
      const routes = await ApprovalRoutes.open({ ...lists, team });
      const parts = { environment, port, pid, signer, host_key, journal };
      const kept = [team.list, routes.list];
      const shared = {
        ...parts,
        bus,
        stream,
        proofs,
        configs,
        guarding,
        sandboxes,
        intake,
        team,
        routes,
        kept,
      };
      const projects = new Projects(registry, shared, only);
      await projects.wake();
      const daemon = new Daemon(environment, port, {
        ...{
          owner,
          registry,
          stream,
          bus,
          guarding,
          proofs,
          projects,
          configs,
          team,
          routes,
          journal,
        },
        machine: options.machine,
        notifying: options.notifying,
      });
      daemon.notifications.start();
      return daemon;
    } catch (error) {
      await registry?.close();
      owner.release();
      throw error;
    }
  }

  /** The pending actions of all projects or of a workspace, newest first. */
  async listPending(workspace?: string): Promise<HeldAction[]> {
    return await listPendingAcross(await this.#projectsOf(workspace));
  }

  /** The number of pending actions of all projects or of a workspace. */
  async countPending(workspace?: string): Promise<number> {
    const open = await (await this.#projectsOf(workspace)).listOpen();
    const counts = await Promise.all(open.map((project) => project.countPending()));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** One page of the actions of all projects or of a workspace, newest first. */
  async listActions({ workspace, ...query }: GlobalActionQuery): Promise<ActionList> {
    return await listAcross(await this.#projectsOf(workspace), query);
  }

  /** The audit log of all projects or of a workspace, as a stream of pieces. */
  async exportAudit({ workspace, ...query }: GlobalAuditExportQuery): Promise<Export> {
    const wanted = withoutWindow(query, this.#environment.now());
    const projects = await this.#projectsOf(workspace);
    return { format: query.format, pieces: await exportAcross(projects, wanted) };
  }

  /** The totals of all projects or of a workspace in the last days. */
  async summarize(range: AnalyticsRange, workspace?: string): Promise<AnalyticsSummary> {
    const now = this.#environment.now();
    const set = await this.#projectsOf(workspace);
    const projects = await set.listSince(boundsOf(range, now).from);
    return await summarize(projects, range, now);
  }

  /** How carefully people decided in all projects or in a workspace in the last days. */
  async attention(range: AnalyticsRange, workspace?: string): Promise<Attention> {
    const now = this.#environment.now();
    const set = await this.#projectsOf(workspace);
    const projects = await set.listSince(boundsOf(range, now).from);
    return await measureAttention(projects.map(({ ledger }) => ledger), range, now);
  }

  /** The health of the daemon. Any problem for a person makes it unhealthy. */
  async status(): Promise<DaemonStatus> {
    const now = this.#environment.now();
    const others = [
      ...await this.team.problems(),
      ...await this.proofs.problems(),
      ...await this.routes.problems(),
      ...await this.notifications.problems(),
    ];
    const findings = [
      ...listDamaged(join(this.home, "gate.db")).map((path) =>
        keptProblem("damaged registry", path)
      ),
      ...this.projects.problems(),
      ...await this.configs.problems(),
      ...others.map((message) => problemOf(message)),
    ];
    return {
      version: VERSION,
      pid: ownPid(),
      port: this.port,
      started_at: new Date(this.#started).toISOString(),
      uptime_seconds: Math.max(0, (now - this.#started) / 1000),
      healthy: findings.length === 0,
      projects: await this.projects.list(),
      problems: findings.map(({ message }) => message),
      findings,
    };
  }

  /** Ends every wait for a decision, so that no request is cut off at shutdown. */
  letGo(): Promise<void> {
    return this.projects.letGo();
  }

  /** Closes every ledger, its log folded into the file, and gives the data folder free. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  /** @throws GateError `not_found` */
  async #projectsOf(workspace: string | undefined): Promise<ProjectSet> {
    if (workspace === undefined) return this.projects;
    const { project_ids } = await this.workspaces.get(workspace);
    return narrow(this.projects, new Set(project_ids));
  }

  #createMonitor(
    { home, now, log }: Environment,
    machine: DaemonOptions["machine"],
  ): AgentMonitor {
    const { projects, bus, stream } = this;
    return new AgentMonitor({
      agents: AGENTS,
      processes: openProcessList(),
      terminator: TERMINATOR,
      home: homedir(),
      env: ownEnvironment(),
      ...machine,
      registry: this.#registry.database,
      own: { pid: ownPid(), uid: ownUid() },
      ...{ now, log },
      listRoots: () => projects.listRoots(),
      listHeld: async () => await listHeldActions(await projects.listOpen()),
      async holderOf(gate_session) {
        const { sessions } = await projects.ofSession(gate_session);
        return await sessions.holderOf(gate_session);
      },
      settings: () => readSettings(home),
      statusLimits: (agent) => readStatusLine(home, agent),
      async record(project_id, event) {
        // A project may be removed meanwhile; what was done is recorded in any case.
        const { ledger } = await projects.get(project_id ?? MACHINE_ID)
          .catch(() => projects.get(MACHINE_ID));
        await ledger.commit({ statements: [], events: [event] });
      },
      publish: () =>
        bus.publish([{
          ...{ topic: "agents", type: "agents.changed", project_id: MACHINE_ID, id: null, seq: 0 },
          at: new Date(now()).toISOString(),
          cursor: stream.head,
        }]),
    });
  }

  async #close(): Promise<void> {
    await this.monitor.close();
    await this.doctor.close();
    await this.notifications.close();
    await this.projects.close();
    this.#journal?.flush();
    await this.stream.close();
    await this.#registry.close();
    this.#owner.release();
  }
}

/** How orphans of agents are ended. */
const TERMINATOR = { send: sendSignal, poll_ms: 100, grace_ms: 5_000, kill_ms: 1_000 };
