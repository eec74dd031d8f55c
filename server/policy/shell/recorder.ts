import { asOneWord, isWild, show } from "../holes.ts";
import type { Call } from "./call.ts";
import { readCommand } from "./grammar.ts";
import { absolutePath } from "./state.ts";
import { baseName } from "./grammar.ts";
import type { CommandAnalysis, Effect } from "./unit.ts";

/** Bounds on what is followed; beyond them a person decides. */
export const RUN_LIMITS = {
  commands: 400,
  effects: 300,
  depth: 12,
  words: 1_000,
  text: 65_536,
  work: 3_500,
  tree: 200,
} as const;

/** Thrown when a bound is passed; what has been found until then stays. */
export class Overload extends Error {}

/** Notes what is found while a script is followed. */
export class Recorder {
  readonly found: CommandAnalysis = {
    units: [],
    effects: [],
    doubts: [],
    unresolved: [],
    goes_on: false,
  };
  readonly #seen = new Set<string>();
  #commands = 0;
  #work = 0;
  #depth = 0;

  /** Counts work done; a command that takes too much of it is not followed further. */
  spend(work: number): void {
    this.#work += work;
    if (this.#work > RUN_LIMITS.work) throw new Overload("it is too much to follow");
  }

  /** Goes one level deeper; a tree that could end the stack is not followed further. */
  descend<T>(inner: () => T): T {
    if (++this.#depth > RUN_LIMITS.tree) throw new Overload("it nests too deep");
    const done = inner();
    this.#depth--;
    return done;
  }

  /** Counts one more command; true when the bound is reached. */
  isFull(call: Call): boolean {
    if (++this.#commands <= RUN_LIMITS.commands) return false;
    this.doubt("it runs too many commands to follow", call.text, { ...call, supposed: false });
    return true;
  }

  /** A program that would run. */
  note(argv: readonly string[], call: Call, passive = false): void {
    const pipes = call.pipes.map(({ pipeline, stage }) => `${pipeline}.${stage}`).join();
    const key = `${call.supposed} ${argv.join("\0")} ${pipes}`;
    if (!this.#isNew(key)) return;
    this.spend(argv.length / 8);
    const program = baseName(argv[0] ?? "");
    this.found.units.push({
      argv: [...argv],
      read: readCommand(program, argv.slice(1)),
      pipes: call.pipes,
      passive: passive || call.supposed || call.task,
      supposed: call.supposed,
      task: call.task,
      text: call.text,
    });
  }

  /** A file that would be touched, in every folder the command may stand in. */
  touch(op: Effect["op"], path: string, call: Call, how: Partial<Effect> = {}): void {
    if (call.remote || call.supposed || path === "") return;
    if (call.task) how = { ...how, implied: true };
    this.spend(path.length / 8);
    const { text } = call;
    this.#add({ op, path: absolutePath(path, call.shell.cwd), text, ...how });
    if (path.startsWith("/")) return;
    for (const folder of call.shell.otherFolders) {
      this.#add({ op, path: absolutePath(path, folder), text, ...how, uncertain: true });
    }
  }

  #add(effect: Effect): void {
    const key =
      `${effect.op} ${effect.path} ${effect.uncertain} ${effect.implied} ${effect.guessed}`;
    if (!this.#isNew(key)) return;
    if (this.found.effects.length < RUN_LIMITS.effects) this.found.effects.push(effect);
    else this.#doubt("it touches too many files to follow", show(effect.path));
  }

  /** A reason to ask a person, once. */
  doubt(reason: string, text: string, call: Call): void {
    if (!call.supposed && !call.task) this.#doubt(reason, text);
  }

  #doubt(reason: string, text: string): void {
    if (this.#isNew(`doubt ${reason} ${text}`)) this.found.doubts.push({ reason, text });
  }

  /** A part of the text whose value nobody can know. */
  unresolved(text: string, call: Call): void {
    if (!call.supposed && !call.task) this.found.unresolved.push(show(asOneWord(text)));
  }

  /** Text that bash evaluates once more: a substitution in it would run. */
  reevaluate(text: string, call: Call): void {
    if (/\$\(|`|\$\{/.test(text)) this.doubt("a text is evaluated a second time", text, call);
    else if (isWild(text) && /\[/.test(text)) this.unresolved(text, call);
  }

  #isNew(key: string): boolean {
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    return true;
  }
}
