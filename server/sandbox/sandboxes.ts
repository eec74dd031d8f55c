import { LRUCache } from "lru-cache";
import type { SandboxEngine } from "../environment.ts";
import type { CompiledPolicy, Surroundings } from "../policy/evaluate.ts";
import type { Sandbox } from "../policy/schema.ts";
import { BlockedFiles } from "./find_blocked.ts";
import { type Judge, judgeOf } from "./judge.ts";
import { Lanes } from "./lanes.ts";
import { removePrivateFolders } from "./private_folders.ts";
import type { Walls } from "./schema.ts";
import { refused, wallsOf } from "./walls.ts";

/** A command that is to run in the sandbox. */
export interface SandboxOrder {
  action_id: string;
  session_id: string;
  command: string;
  cwd: string;
  /** What the decision says about the sandbox. */
  sandbox: Sandbox;
  compiled: CompiledPolicy;
  around: Surroundings;
  /** The folders of all projects. */
  projects: readonly string[];
}

/** The blocked and kept files at the start of a command. */
interface Before {
  judge: Judge;
  roots: readonly string[];
  paths: Set<string>;
}

const MAX_RUNNING = 1_000;

/** Builds the walls of commands, and finds what appeared behind them. */
export class Sandboxes {
  /** Which commands run in a sandbox and which run beside it. */
  readonly lanes = new Lanes();
  readonly #gate_home: string;
  readonly #engine: () => Promise<SandboxEngine | null>;
  readonly #blocked = new BlockedFiles();
  readonly #judges = new WeakMap<CompiledPolicy, { key: string; judge: Judge }>();
  readonly #running = new LRUCache<string, Before>({ max: MAX_RUNNING });

  /** Removes what earlier sandboxes left in the data folder. */
  constructor(gate_home: string, engine: () => Promise<SandboxEngine | null>) {
    this.#gate_home = gate_home;
    this.#engine = engine;
    removePrivateFolders(gate_home);
  }

  /** The walls of a command that starts now. @throws GateError `conflict` if they cannot be built */
  async build(order: SandboxOrder): Promise<Walls> {
    const { compiled, around, sandbox, projects, action_id } = order;
    const engine = await this.#engine();
    if (engine === null) {
      throw refused(
        "this machine has no sandbox engine any more",
        "run gate doctor, then let the agent submit it again",
      );
    }
    const judge = this.#judgeOf(compiled, around);
    const { walls, found } = await wallsOf({
      ...{ engine, judge, gate_home: this.#gate_home, blocked: this.#blocked },
      session_id: order.session_id,
      command: order.command,
      cwd: order.cwd,
      roots: around.roots,
      strangers: projects,
      user_home: around.user_home,
      network: sandbox.network,
      hosts: compiled.sandbox.hosts,
      writable: sandbox.writable,
      blocked_outside: anchoredPatterns(compiled),
    });
    const paths = new Set(found.map(({ path }) => path));
    this.#running.set(action_id, { judge, roots: around.roots, paths });
    return walls;
  }

  /** The blocked and kept files that appeared since the command of this action started, outermost first. */
  async appeared(action_id: string): Promise<string[]> {
    const before = this.#running.get(action_id);
    if (!before) return [];
    this.#running.delete(action_id);
    const all = await Promise.all(
      before.roots.map((root) => this.#blocked.find(root, before.judge)),
    );
    return all.flatMap((found) => found ?? []).map(({ path }) => path)
      .filter((path) => !before.paths.has(path))
      .toSorted((a, b) => a.length - b.length);
  }

  /** Forgets a command that did not start after all. */
  withdraw(action_id: string): void {
    this.#running.delete(action_id);
  }

  #judgeOf(compiled: CompiledPolicy, around: Surroundings): Judge {
    const key = JSON.stringify([around.roots, around.user_home]);
    const known = this.#judges.get(compiled);
    if (known?.key === key) return known.judge;
    const judge = judgeOf(compiled, around);
    this.#judges.set(compiled, { key, judge });
    return judge;
  }
}

function anchoredPatterns({ rules }: CompiledPolicy): string[] {
  return rules.filter(({ list, pattern }) => list === "blockedPaths" && /^~?\//.test(pattern))
    .map(({ pattern }) => pattern);
}
