import { z } from "zod";
import { requireReviewer } from "../auth/scopes.ts";
import type { Caller } from "../auth/schema.ts";
import type { NewEvent } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { PLATFORMS } from "../hosts/hosts.ts";
import { closeHome } from "../runtime/home.ts";
import { runSelf } from "../runtime/run_self.ts";
import { ERRORS_AS_JSON, failureIn } from "../runtime/self_failure.ts";
import { DoctorReport, type DoctorState, type Repair, type Repaired } from "./schema.ts";

/** The services of a doctor. */
interface DoctorOptions {
  environment: Environment;
  port: number;
  /** The environment of the commands that it starts. */
  env: Record<string, string | undefined>;
  record: (event: NewEvent) => Promise<void>;
  /** The variables with secrets of the daemon: the commands do not get them. */
  secretVariables: () => Promise<string[]>;
  /** Runs a command of this program; a test gives another. */
  run?: typeof runSelf;
}

/** The files that a repair changed, and those that it could not change. */
interface Outcome {
  files: Repaired["files"];
  failed: Failed[];
}

interface Failed {
  /** The host or the file. */
  name: string | null;
  problem: string;
  next: string | null;
}

const COMMAND_TIMEOUT_MS = 120_000;

/**
 * The checks of `gate doctor`, run by the daemon, and the changes that it can make for a finding. Each
 * runs in its own process, because the checks block. One runs at a time.
 */
export class Doctor {
  readonly #options: DoctorOptions;
  readonly #ending = new AbortController();
  #state: DoctorState = { checked_at: null, report: null };
  #running: Promise<DoctorState> | null = null;
  #next: Promise<DoctorState> | null = null;
  #repairing: Promise<Outcome> | null = null;

  constructor(options: DoctorOptions) {
    this.#options = options;
  }

  /** The newest report. */
  state(): DoctorState {
    return this.#state;
  }

  /**
   * Runs the checks. Calls during a run share one more run, because the running one may have looked
   * before the caller's last change. @throws GateError
   */
  check(caller: Caller): Promise<DoctorState> {
    requireReviewer(caller, "run the checks", "gate doctor");
    if (this.#running === null) return this.#start();
    return this.#next ??= this.#running.catch(() => {}).then(() => {
      this.#next = null;
      return this.#start();
    });
  }

  #start(): Promise<DoctorState> {
    return this.#running = this.#runChecks().finally(() => this.#running = null);
  }

  /**
   * Makes one change and records it. A change that fails half-way is recorded too, then it throws.
   * @throws GateError `conflict` while another change is made, or when a file cannot be changed
   */
  async repair(repair: Repair, caller: Caller): Promise<Repaired> {
    requireReviewer(caller, "repair the finding", "gate doctor");
    if (repair.kind === "host" && !PLATFORMS.includes(repair.host)) {
      throw new GateError(
        "invalid",
        `Cannot set up "${repair.host}": the agent hosts are ${PLATFORMS.join(", ")}`,
      );
    }
    if (this.#repairing !== null) {
      throw new GateError(
        "conflict",
        "Cannot repair the finding: another repair is running; try again when it has finished",
      );
    }
    this.#repairing = this.#makeChange(repair);
    try {
      const outcome = await this.#repairing;
      await this.#record(repair, outcome, caller);
      const [failed] = outcome.failed;
      if (!failed) return { files: outcome.files };
      const next = failed.next ? `; ${failed.next}` : "";
      throw new GateError("conflict", `Cannot repair the finding: ${failed.problem}${next}`);
    } finally {
      this.#state = { ...this.#state, checked_at: null };
      this.#repairing = null;
    }
  }

  /** A repair that failed without any change is no event. */
  async #record(repair: Repair, { files, failed }: Outcome, caller: Caller): Promise<void> {
    if (files.length === 0 && failed.length > 0) return;
    await this.#options.record({
      session_id: null,
      action_id: null,
      type: "machine.repaired",
      actor: { kind: "reviewer", id: caller.id },
      data: {
        ...repair,
        files: files.map(({ path }) => path),
        ...failed.length > 0 && { failed: failed.map(({ name, problem }) => ({ name, problem })) },
      },
    });
  }

  /** Ends running checks and repairs, and waits for them. */
  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.allSettled([this.#running, this.#next, this.#repairing]);
  }

  /** Runs `gate doctor` and keeps its report. */
  async #runChecks(): Promise<DoctorState> {
    const { code, stdout, stderr } = await this.#runCommand(["doctor", "--json"]);
    const { data: report } = DoctorReport.safeParse(parseJson(stdout));
    if (report === undefined) {
      throw new GateError("unavailable", `Cannot run the checks: ${reasonIn(stderr, code)}`);
    }
    this.#state = { checked_at: new Date(this.#now()).toISOString(), report };
    return this.#state;
  }

  /** Closes the data folder, or runs the command of the repair. */
  async #makeChange(repair: Repair): Promise<Outcome> {
    if (repair.kind === "home") {
      const closed = closeHome(this.#options.environment.home);
      return { files: closed.map((path) => ({ path, backup: null })), failed: [] };
    }
    const { code, stdout, stderr } = await this.#runCommand(COMMANDS[repair.kind](repair));
    const { data: report } = Changes.safeParse(parseJson(stdout));
    if (report === undefined) {
      throw new GateError("unavailable", `Cannot repair the finding: ${reasonIn(stderr, code)}`);
    }
    const lines = [...report.hosts ?? [], ...report.hooks ?? [], ...report.files ?? []];
    const files = lines.filter(({ file, outcome }) => file !== null && !UNCHANGED.has(outcome))
      .map((line) => ({ path: pathOf(line)!, backup: line.backup ?? null }));
    const failed = lines.filter(({ outcome }) => outcome === "failed").map((line) => ({
      name: pathOf(line) ?? line.root ?? line.host ?? null,
      problem: line.problem ?? "unknown",
      next: line.next ?? null,
    }));
    return { files, failed };
  }

  /** Runs a command of this program, without the variables that hold secrets. */
  async #runCommand(words: readonly string[]) {
    const { environment: { home }, port, env, secretVariables, run = runSelf } = this.#options;
    const secret = new Set(await secretVariables());
    const open = Object.fromEntries(Object.entries(env).filter(([name]) => !secret.has(name)));
    return await run(words, {
      env: { ...open, ...ERRORS_AS_JSON, GATE_HOME: home, GATE_PORT: String(port) },
      cwd: home,
      timeout_ms: COMMAND_TIMEOUT_MS,
      signal: this.#ending.signal,
    });
  }

  #now(): number {
    return this.#options.environment.now();
  }
}

/** The command of each change. Its words come from this table and from the list of hosts alone. */
const COMMANDS = {
  host: (repair: Repair) =>
    repair.kind !== "host" ? [] : [
      "global-setup",
      "--json",
      ...["--host", repair.host],
      ...repair.enforce ? ["--enforce"] : [],
    ],
  instructions: () => ["update-instructions", "--all", "--json"],
};

const Change = z.looseObject({
  host: z.string().optional(),
  root: z.string().optional(),
  file: z.string().nullable(),
  outcome: z.string(),
  backup: z.string().nullable().optional(),
  problem: z.string().optional(),
  next: z.string().nullable().optional(),
});

/** The output of the commands in `COMMANDS`. */
const Changes = z.looseObject({
  hosts: z.array(Change).optional(),
  hooks: z.array(Change).optional(),
  files: z.array(Change).optional(),
});

/** Outcomes without a changed file. */
const UNCHANGED: ReadonlySet<string> = new Set(["unchanged", "not_installed", "failed"]);

function pathOf({ root, file }: z.infer<typeof Change>): string | null {
  return root === undefined || file === null ? file : `${root}/${file}`;
}

/** The value of a JSON text; null for any other text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function reasonIn(stderr: string, code: number | null): string {
  return failureIn(stderr)?.message ?? `exit ${code}`;
}
