import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Io } from "../../io.ts";
import { ToolError } from "../errors.ts";
import type { ProseDriver } from "../execute/schedule.ts";
import { inconclusive, type Verdict } from "../execute/verdict.ts";
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
  /** The most tokens for the whole run. */
  max_run_tokens: number;
}

/** Opens a driver by its name. @throws ToolError when its program, file or key is missing */
export async function openDriver(options: DriverOptions, io: Io): Promise<ProseDriver> {
  const create = await playerOf(options.driver, io);
  let tokens = 0;
  const judge = async (scenario: Scenario, ledger: RequestLedger): Promise<Verdict> => {
    if (hasPlaybook(scenario)) return await runPlaybook(scenario, ledger);
    if (!create) return { status: "skipped", reason: "Skipped: it has no exec and no playbook" };
    const left = options.max_run_tokens - tokens;
    if (left <= 0) return inconclusive("The budget is used up: the run's tokens");
    const player = create();
    const moves: ToolCall[][] = [];
    const budget = { ...options, max_tokens: Math.min(left, options.max_tokens) };
    const verdict = await drive(scenario, player, ledger, budget, (calls) => moves.push(calls));
    tokens += player.tokens;
    const { record } = options;
    if (record) recordTrack(resolve(io.cwd, record), scenario.scenario_id, moves);
    return verdict;
  };
  return {
    run: async (scenario) => {
      const ledger = new RequestLedger(options.ledger);
      const verdict = await judge(scenario, ledger);
      return { verdict, evidence: { driver: options.driver, ledger: ledger.entries } };
    },
  };
}

/** The APIs of models: where each one is, and the variables with its address and key. */
const MODELS = {
  openai: { dialect: "OPENAI", base_url: "https://api.openai.com/v1" },
  anthropic: { dialect: "ANTHROPIC", base_url: "https://api.anthropic.com" },
} as const;

/** Returns a factory of players; null for playbooks only. Loads only the kind that is used. */
async function playerOf(text: string, io: Io): Promise<(() => Player) | null> {
  if (text === "playbook") return null;
  const [kind, what = ""] = text.split(/:(.*)/s);
  if (kind === "openai" || kind === "anthropic") {
    const { dialect, base_url } = MODELS[kind];
    const own_url = io.env[`${dialect}_BASE_URL`];
    const key = keyOf(`${dialect}_API_KEY`, io, own_url !== undefined);
    const models = await import("./models.ts");
    const options = { model: what, base_url: own_url ?? base_url, key };
    return () => new models.ModelPlayer(models[dialect], options);
  }
  if (kind === "command") {
    const { CommandPlayer } = await import("./command_player.ts");
    const program = resolve(io.cwd, what);
    requireProgram(program, text);
    return () => new CommandPlayer(program, io.killGroup);
  }
  const { CassettePlayer, readCassette } = await import("./cassette.ts");
  const tracks = readCassette(resolve(io.cwd, what));
  return () => new CassettePlayer(tracks);
}

/** Checked before anything is sent: otherwise every scenario would end without a verdict. */
function requireProgram(program: string, text: string): void {
  try {
    accessSync(program, constants.X_OK);
    if (statSync(program).isFile()) return;
  } catch {
    // Reported below.
  }
  throw new ToolError(`Cannot use the driver "${text}": it is not an executable file`, {
    next: `give an executable file, or run chmod +x ${program}`,
  });
}

/** A server with another base URL may need no key. */
function keyOf(name: string, io: Io, own: boolean): string {
  const key = io.env[name];
  if (key || own) return key ?? "none";
  throw new ToolError(`Cannot use this driver: ${name} is not set`, {
    next: `export ${name}=…, or --driver playbook, which needs no model`,
  });
}
