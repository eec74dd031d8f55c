import { z } from "zod";
import { requireReviewer } from "../auth/scopes.ts";
import type { Caller } from "../auth/schema.ts";
import type { NewEvent } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { PLATFORMS } from "../hosts/hosts.ts";
import { closeHome } from "../runtime/home.ts";
import { runSelf } from "../runtime/run_self.ts";
import { DoctorReport, type DoctorState, type Mend, type Mended } from "./schema.ts";

interface DoctorOptions {
  environment: Environment;
  port: number;
  /** The environment of the commands that it starts. */
  env: Record<string, string | undefined>;
  record: (event: NewEvent) => Promise<void>;
}

/** A report of this age is still current: the checks read every database completely. */
const FRESH_MS = 10_000;
const LIMIT_MS = 120_000;

/**
 * The checks of `gate doctor`, run by the daemon, and the changes that it can make for a finding. Each
 * runs in its own process, because the checks block. One runs at a time.
 */
export class Doctor {
  readonly #options: DoctorOptions;
  readonly #ending = new AbortController();
  #state: DoctorState = { checked_at: null, report: null };
  #running: Promise<DoctorState> | null = null;
  #mending: Promise<unknown> = Promise.resolve();

  constructor(options: DoctorOptions) {
    this.#options = options;
  }

  /** The newest report. */
  state(): DoctorState {
    return this.#state;
  }

  /** Runs the checks, unless a report of the last seconds is there. @throws GateError */
  check(caller: Caller): Promise<DoctorState> {
    requireReviewer(caller, "run the checks", "gate doctor");
    const { checked_at } = this.#state;
    const age = checked_at === null ? Infinity : this.#now() - Date.parse(checked_at);
    if (age >= 0 && age < FRESH_MS) return Promise.resolve(this.#state);
    return this.#running ??= this.#run().finally(() => this.#running = null);
  }

  /** Makes one change, and records it. @throws GateError */
  async mend(mend: Mend, caller: Caller): Promise<Mended> {
    requireReviewer(caller, "mend the finding", "gate doctor");
    if (mend.kind === "host" && !PLATFORMS.includes(mend.host)) {
      throw new GateError(
        "invalid",
        `Cannot set up "${mend.host}": the agent hosts are ${PLATFORMS.join(", ")}`,
      );
    }
    const done = this.#mending.then(() => this.#change(mend));
    this.#mending = done.catch(() => {});
    const files = await done;
    this.#state = { ...this.#state, checked_at: null };
    await this.#options.record({
      session_id: null,
      action_id: null,
      type: "machine.mended",
      actor: { kind: "reviewer", id: caller.id },
      data: { ...mend, files: files.map(({ path }) => path) },
    });
    return { files };
  }

  /** Ends what runs. */
  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.allSettled([this.#running, this.#mending]);
  }

  async #run(): Promise<DoctorState> {
    const { code, stdout, stderr } = await this.#command(["doctor", "--json"]);
    const { data: report } = DoctorReport.safeParse(parsed(stdout));
    if (report === undefined) {
      throw new GateError("unavailable", `Cannot run the checks: ${reasonIn(stderr, code)}`);
    }
    this.#state = { checked_at: new Date(this.#now()).toISOString(), report };
    return this.#state;
  }

  async #change(mend: Mend): Promise<Mended["files"]> {
    if (mend.kind === "home") {
      return closeHome(this.#options.environment.home).map((path) => ({ path, backup: null }));
    }
    const { code, stdout, stderr } = await this.#command(COMMANDS[mend.kind](mend));
    const { data: report } = Changes.safeParse(parsed(stdout));
    if (report === undefined) {
      throw new GateError("unavailable", `Cannot mend the finding: ${reasonIn(stderr, code)}`);
    }
    const lines = [...report.hosts ?? [], ...report.hooks ?? [], ...report.files ?? []];
    const failed = lines.find(({ outcome }) => outcome === "failed");
    if (failed) {
      const next = failed.next ? `; ${failed.next}` : "";
      throw new GateError("conflict", `Cannot mend the finding: ${failed.problem}${next}`);
    }
    return lines.flatMap(({ root, file, outcome, backup = null }) => {
      if (file === null || outcome === "unchanged" || outcome === "not_installed") return [];
      return [{ path: root === undefined ? file : `${root}/${file}`, backup }];
    });
  }

  #command(words: readonly string[]) {
    const { environment: { home }, port, env } = this.#options;
    return runSelf(words, {
      env: { ...env, GATE_HOME: home, GATE_PORT: String(port) },
      cwd: home,
      timeout_ms: LIMIT_MS,
      signal: this.#ending.signal,
    });
  }

  #now(): number {
    return this.#options.environment.now();
  }
}

/** The command of each change. Its words come from this table and from the list of hosts alone. */
const COMMANDS = {
  host: (mend: Mend) =>
    mend.kind !== "host" ? [] : [
      "global-setup",
      "--json",
      ...["--host", mend.host],
      ...mend.enforce ? ["--enforce"] : [],
    ],
  instructions: () => ["update-instructions", "--all", "--json"],
};

const Change = z.looseObject({
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function reasonIn(stderr: string, code: number | null): string {
  return stderr.split("\n")[0]!.replace(/^gate: /, "") || `exit ${code}`;
}
