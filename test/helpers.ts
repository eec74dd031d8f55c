import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished, TestRunner } from "vitest";
import type { AuditEvent } from "../server/evidence/schema.ts";
import { listEvents } from "../server/audit/store.ts";
import { LoginCodes, PageKeys } from "../server/auth/login.ts";
import { Prover } from "../server/auth/prover.ts";
import type { Caller, Scope } from "../server/auth/schema.ts";
import type { Environment } from "../server/environment.ts";
import { Daemon, type DaemonOptions } from "../server/daemon.ts";
import { EventReaders } from "../server/events/readers.ts";
import type { PublishedEvent } from "../server/events/schema.ts";
import type { Policies } from "../server/policy/schema.ts";
import { identifyProject } from "../server/projects/identity.ts";
import type { Project } from "../server/projects/project.ts";
import { createApp } from "../server/app.ts";
import { placeLedger, placeRegistry } from "./ledger_template.ts";
import { SessionKeys } from "./session_keys.ts";

export interface TestGateOptions {
  /** The `policies` of the project's config; allows everything unless given. */
  policies?: Policies;
  /** The `policies` of the global config; there is none unless given. */
  globalPolicies?: Policies;
  /** The `storage` of the global config; there is none unless given. */
  storage?: Record<string, unknown>;
  /** More keys of the project's config. */
  config?: Record<string, unknown>;
  /** Files of the project, by path relative to its root. */
  files?: Record<string, string>;
  project_id?: string;
  /** The project's folder, by default one in a new temporary folder. */
  root?: string;
  /** Without it the reviewer's token decides; `none` leaves the choice to the test. */
  proof?: "none";
  /** Finds the engine of a sandbox; without it there is none. */
  sandbox?: Environment["sandbox"];
  fault?: Environment["fault"];
  /** The machine that the agent monitor looks at. */
  machine?: DaemonOptions["machine"];
  /** Shorter times of notifications. */
  notifying?: DaemonOptions["notifying"];
}

/** A clock that stands still until it is told to go on. */
export interface TestClock {
  now: number;
  /** The clock that nobody can set. */
  uptime: number;
  advance(ms: number): void;
}

/** One line that the gate logged. */
export interface LogLine {
  level: string;
  message: string;
  fields?: Record<string, unknown>;
}

/** A whole gate in a temporary folder: real ledger, real files, recorded events. */
export interface TestGate {
  readonly home: string;
  /** The project's folder, its real path. */
  readonly root: string;
  readonly environment: Environment;
  readonly clock: TestClock;
  readonly logs: LogLine[];
  /** Every event published so far, in order. */
  readonly events: PublishedEvent[];
  /** Those that stand now: `reopen` replaces them. */
  daemon: Daemon;
  project: Project;
  /** The whole audit chain of the project. */
  audit(): Promise<AuditEvent[]>;
  /**
   * Calls the routes without the guard, so no scope is checked; the default is a reviewer. `scope`
   * may be a whole caller, such as a member. An agent sends the secret of the session that it names, unless `headers` name another.
   */
  request(
    method: string,
    path: string,
    body?: unknown,
    scope?: Scope | Caller,
    headers?: Record<string, string>,
  ): Promise<Response>;
  /** Writes a file of the project and returns its absolute path. */
  write(path: string, content: string | Uint8Array): string;
  /** Opens the daemon again on the same folders, after it was closed. */
  open(): Promise<void>;
  /** Closes the daemon and opens it again on the same folders, after whatever comes between. */
  reopen(between?: () => void): Promise<void>;
  close(): Promise<void>;
}

/** A caller of that scope, as the guard would establish it. */
export function testCaller(scope: Scope = "agent", id: string = scope): Caller {
  return { scope, id, member_id: scope === "agent" ? null : id, via: "token", proof: null };
}

/** Makes a gate with one registered project; it is closed and removed when the test ends. */
export async function createTestGate(options: TestGateOptions = {}): Promise<TestGate> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-test-")));
  const home = join(base, "home");
  const root = options.root ?? join(base, "project");
  writeFiles(home, root, options);
  const gate = new OpenTestGate(base, home, root, options.fault);
  if (options.sandbox) gate.environment.sandbox = options.sandbox;
  gate.machine = options.machine;
  gate.notifying = options.notifying;
  await gate.open();
  // In a hook there is no current test: whoever calls from there closes the gate itself.
  if (TestRunner.getCurrentTest()) onTestFinished(() => gate.close());
  return gate;
}

/** A clock, ids that grow with it, and a log that is kept. */
export function createTestEnvironment(
  home: string,
  fault?: Environment["fault"],
): { environment: Environment; clock: TestClock; logs: LogLine[] } {
  const clock: TestClock = {
    now: Date.UTC(2026, 0, 1),
    uptime: 0,
    advance(ms) {
      this.now += ms;
      this.uptime += ms;
    },
  };
  const logs: LogLine[] = [];
  const environment: Environment = {
    home,
    now: () => clock.now,
    uptime: () => clock.uptime,
    id: createIds(() => clock.now),
    log: (level, message, fields) => logs.push({ level, message, fields }),
    ...(fault ? { fault } : {}),
  };
  return { environment, clock, logs };
}

/** UUIDs of version 7: the clock, then a counter. */
function createIds(now: () => number): () => string {
  let count = 0;
  return () => {
    const time = now().toString(16).padStart(12, "0");
    const tail = (++count).toString(16).padStart(15, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${tail.slice(0, 3)}-8000-${tail.slice(3)}`;
  };
}

function writeFiles(home: string, root: string, options: TestGateOptions): void {
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(root);
  const policies = options.policies ?? { defaultEffect: "allow" };
  const config = { id: options.project_id ?? "test", policies, ...options.config };
  writeInto(root, "gate.config.json", JSON.stringify(config, null, 2));
  for (const [path, content] of Object.entries(options.files ?? {})) writeInto(root, path, content);
  const { globalPolicies: global, proof, storage } = options;
  const approvals = proof === "none" ? {} : { approvals: { proof: "token" } };
  if (!global && !storage && proof === "none") return;
  const config_json = { ...approvals, policies: global, storage };
  writeInto(home, "config.json", JSON.stringify(config_json, null, 2));
}

function writeInto(folder: string, path: string, content: string | Uint8Array): string {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content);
  return target;
}

class OpenTestGate implements TestGate {
  machine: DaemonOptions["machine"];
  notifying: DaemonOptions["notifying"];
  readonly #keys = new SessionKeys();
  readonly home: string;
  readonly root: string;
  readonly environment: Environment;
  readonly clock: TestClock;
  readonly logs: LogLine[];
  readonly events: PublishedEvent[] = [];
  daemon!: Daemon;
  project!: Project;
  readonly #base: string;
  #router!: ReturnType<typeof createApp>;
  #isOpen = false;
  #id: string | null = null;

  constructor(base: string, home: string, root: string, fault?: Environment["fault"]) {
    this.#base = base;
    this.home = home;
    this.root = root;
    const made = createTestEnvironment(home, fault);
    this.environment = made.environment;
    this.clock = made.clock;
    this.logs = made.logs;
  }

  async open(): Promise<void> {
    const { machine, notifying } = this;
    if (this.#id === null) await placeRegistry(this.home);
    this.daemon = await Daemon.open(this.environment, { port: 47999, machine, notifying });
    this.#isOpen = true;
    this.daemon.bus.subscribe((event) => this.events.push(event));
    this.#router = this.#createApp();
    this.#id = await this.#register();
    this.project = await this.daemon.projects.get(this.#id);
  }

  /** A daemon that finds its project without a config does not register it again. */
  async #register(): Promise<string> {
    if (this.#id !== null && !existsSync(join(this.root, "gate.config.json"))) return this.#id;
    if (this.#id === null) await placeLedger(this.home, identifyProject(this.root).id);
    return (await this.daemon.projects.register(this.root, testCaller("reviewer"))).id;
  }

  audit(): Promise<AuditEvent[]> {
    return listEvents(this.project.ledger, 0, 100_000);
  }

  async request(
    method: string,
    path: string,
    body?: unknown,
    scope: Scope | Caller = "reviewer",
    headers?: Record<string, string>,
  ): Promise<Response> {
    const caller = typeof scope === "string" ? testCaller(scope) : scope;
    const sent = headers ?? this.#keys.headersFor(path, body, caller.scope);
    const request = new Request(`http://localhost:47999${path}`, { method, headers: sent });
    return this.#keys.note(await this.#router.fetch(request, { caller, json: body }));
  }

  #createApp() {
    const { daemon, environment } = this;
    const { log } = environment;
    const keys = new PageKeys(environment);
    return createApp({
      ...environment,
      daemon,
      logins: { codes: new LoginCodes(environment), keys },
      prover: new Prover(keys),
      readers: new EventReaders({ bus: daemon.bus, stream: daemon.stream, log }),
      assets: () => Promise.resolve(null),
    });
  }

  write(path: string, content: string | Uint8Array): string {
    return writeInto(this.root, path, content);
  }

  async reopen(between = () => {}): Promise<void> {
    await this.#shut();
    between();
    await this.open();
  }

  async close(): Promise<void> {
    if (this.#isOpen) await this.#shut();
    rmSync(this.#base, { recursive: true, force: true });
  }

  async #shut(): Promise<void> {
    this.#isOpen = false;
    await this.#router.close();
    await this.daemon.close();
  }
}
