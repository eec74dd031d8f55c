import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import { ToolError } from "../errors.ts";
import type { Verdict } from "../execute/verdict.ts";
import type { ScenarioIo } from "../io.ts";
import type { Scenario } from "../schema.ts";
import { recordTrack } from "./cassette.ts";
import { type Budget, drive } from "./drive.ts";
import { type LedgerOptions, RequestLedger } from "./ledger.ts";
import type { Player, ToolCall } from "./player.ts";
import { hasPlaybook, runPlaybook } from "./playbook.ts";

export interface DriverOptions extends Budget {
  /** `openai:<model>`, `anthropic:<model>`, `command:<path>`, `playbook`, `replay:<file>`. */
  driver: string;
  record?: string;
  ledger: LedgerOptions;
  /** Tokens of the whole run. */
  max_run_tokens: number;
}

/** Carries out scenarios that no single request can express. */
export class Driver {
  readonly #options: DriverOptions;
  readonly #io: ScenarioIo;
  readonly #create: (() => Player) | null;
  #tokens = 0;

  private constructor(options: DriverOptions, io: ScenarioIo, create: (() => Player) | null) {
    this.#options = options;
    this.#io = io;
    this.#create = create;
  }

  /** Makes the driver that was asked for. @throws ToolError when it is unknown or lacks its key */
  static async open(options: DriverOptions, io: ScenarioIo): Promise<Driver> {
    return new Driver(options, io, await playerOf(options.driver, io));
  }

  /** The verdict on one scenario, with everything that was sent for it. */
  async run(scenario: Scenario): Promise<{ verdict: Verdict; evidence: Record<string, unknown> }> {
    const ledger = new RequestLedger(this.#options.ledger);
    const verdict = await this.#verdict(scenario, ledger);
    return { verdict, evidence: { driver: this.#options.driver, ledger: ledger.entries } };
  }

  async #verdict(scenario: Scenario, ledger: RequestLedger): Promise<Verdict> {
    if (hasPlaybook(scenario)) return await runPlaybook(scenario, ledger);
    if (!this.#create) {
      return { status: "skipped", reason: "Skipped: it has no exec and no playbook" };
    }
    const left = this.#options.max_run_tokens - this.#tokens;
    if (left <= 0) {
      return { status: "inconclusive", reason: "The budget is used up: the run's tokens" };
    }
    const player = this.#create();
    const moves: ToolCall[][] = [];
    const budget = { ...this.#options, max_tokens: Math.min(left, this.#options.max_tokens) };
    const verdict = await drive(scenario, player, ledger, budget, (calls) => moves.push(calls));
    this.#tokens += player.tokens;
    const { record } = this.#options;
    if (record) recordTrack(resolve(this.#io.cwd, record), scenario.scenario_id, moves);
    return verdict;
  }
}

/** Each kind is loaded when it is asked for. Null: playbooks only. */
async function playerOf(text: string, io: ScenarioIo): Promise<(() => Player) | null> {
  const [kind, what = ""] = text.split(/:(.*)/s);
  if (text === "playbook") return null;
  if (what !== "" && kind === "openai") {
    const base_url = io.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1";
    const key = keyOf("OPENAI_API_KEY", io, io.env.OPENAI_BASE_URL !== undefined);
    const { OpenAiPlayer } = await import("./openai.ts");
    return () => new OpenAiPlayer({ model: what, base_url, key });
  }
  if (what !== "" && kind === "anthropic") {
    const base_url = io.env.ANTHROPIC_BASE_URL ?? "https://api.anthropic.com";
    const key = keyOf("ANTHROPIC_API_KEY", io, io.env.ANTHROPIC_BASE_URL !== undefined);
    const { AnthropicPlayer } = await import("./anthropic.ts");
    return () => new AnthropicPlayer({ model: what, base_url, key });
  }
  if (what !== "" && kind === "command") {
    const { CommandPlayer } = await import("./command_player.ts");
    const program = resolve(io.cwd, what);
    mustRun(program, text);
    return () => new CommandPlayer(program, io.killGroup);
  }
  if (what !== "" && kind === "replay") {
    const { CassettePlayer, readCassette } = await import("./cassette.ts");
    const tracks = readCassette(resolve(io.cwd, what));
    return () => new CassettePlayer(tracks);
  }
  throw new ToolError(`Cannot use the driver "${text}"`, {
    next: "openai:<model>, anthropic:<model>, command:<path>, playbook or replay:<file>",
  });
}

/** Told before anything is sent: else every scenario would end without a verdict, and all seem well. */
function mustRun(program: string, text: string): void {
  try {
    accessSync(program, constants.X_OK);
    if (statSync(program).isFile()) return;
  } catch {
    // Told below.
  }
  throw new ToolError(`Cannot use the driver "${text}": it is no program that can be run`, {
    next: `a file with leave to be run (chmod +x): ${program}`,
  });
}

/** A server of one's own (another base URL) may need no key. */
function keyOf(name: string, io: ScenarioIo, own: boolean): string {
  const key = io.env[name];
  if (key || own) return key ?? "none";
  throw new ToolError(`Cannot use this driver: ${name} is not set`, {
    next: `export ${name}=…, or --driver playbook, which needs no model`,
  });
}
