import { asOneWord, isWild, show } from "../holes.ts";
import type { Call } from "./call.ts";
import { baseName, type Read, readCommand } from "../programs/grammar.ts";
import { absolutePath, walkedPath } from "./state.ts";
import type { CommandAnalysis, Effect, Suspect, Unit, Unknown } from "./unit.ts";

/** Bounds of one analysis; beyond them a person decides. */
export const RUN_LIMITS = {
  commands: 256,
  effects: 200,
  depth: 12,
  words: 1_000,
  text: 65_536,
  work: 3_500,
  tree: 200,
  suspects: { count: 40, length: 8_192 },
} as const;

/** Thrown at a bound; the findings until then remain. It is no error, so it needs no stack. */
export class Overload {
  constructor(readonly message: string) {}
}

/** Collects the result of one analysis and enforces its bounds. */
export class Recorder {
  readonly found: CommandAnalysis = {
    units: [],
    effects: [],
    doubts: [],
    suspects: [],
    codes: [],
    unresolved: [],
    is_cut: false,
    goes_on: false,
  };
  readonly #seen = new Set<string>();
  #commands = 0;
  #work = 0;
  #depth = 0;
  /** It has met more files than it records. */
  #is_full = false;

  /** Counts work. @throws Overload beyond the bound */
  spend(work: number): void {
    this.#work += work;
    if (this.#work > RUN_LIMITS.work) throw new Overload("it needs too much analysis");
  }

  /** Runs `inner` one level deeper. @throws Overload before the stack may overflow */
  descend<T>(inner: () => T): T {
    if (++this.#depth > RUN_LIMITS.tree) throw new Overload("it nests too deep");
    const done = inner();
    this.#depth--;
    return done;
  }

  /** Counts one command; true beyond the bound. */
  isFull(call: Call): boolean {
    if (++this.#commands <= RUN_LIMITS.commands) return false;
    this.cut("it runs too many commands to analyse", call.text, { ...call, supposed: false });
    return true;
  }

  /** Records a text that a program certainly runs. */
  code(text: string, { supposed, task, shell }: Call): void {
    if (!supposed && !task) this.found.codes.push({ text, folder: shell.cwd });
  }

  /** Records a program that runs. */
  note(argv: readonly string[], call: Call, passive = false): void {
    if (call.repeated) return;
    const { cwd, otherFolders } = call.shell;
    const spelled = argv.join("\0");
    // The lengths come first, so that no word can look like a folder.
    let key = `${call.supposed ? "?" : ""}${argv.length}.${spelled.length} ${spelled}`;
    for (const { pipeline, stage } of call.pipes) key += ` ${pipeline}.${stage}`;
    key += ` ${cwd}`;
    for (const folder of otherFolders) key += `\0${folder}`;
    if (!this.#isNew(key)) return;
    this.spend(argv.length / 8 + key.length / 128);
    const folders = [cwd, ...otherFolders];
    this.found.units.push(new NotedUnit(argv, call, { spelled, passive, folders }));
  }

  /** Records access to a file, in every possible current folder. */
  touch(op: Effect["op"], path: string, call: Call, how: Partial<Effect> = {}): void {
    if (call.remote || (call.supposed && !call.guessed) || path === "" || this.#is_full) return;
    if (call.task) how = { ...how, implied: true };
    if (call.guessed) how = { ...how, implied: true, guessed: true };
    this.spend(costOf(path));
    const { text, found } = call;
    if (found?.path === path) how = { below: found.below, ...how };
    const { cwd, otherFolders } = call.shell;
    this.#add(effectOn(op, path, cwd, text, how));
    if (op === "read") this.#touchSources(path, call, how);
    if (path.startsWith("/")) return;
    for (const folder of otherFolders) {
      this.#add(effectOn(op, path, folder, text, { ...how, uncertain: true }));
    }
  }

  /** Reading a copy that the same command makes reads its source, which may be a link. */
  #touchSources(path: string, { shell, text }: Call, how: Partial<Effect>): void {
    const full = shell.copies.length > 0 ? absolutePath(path, shell.cwd) : "";
    for (const [copy, source] of shell.copies) {
      if (full !== copy && !full.startsWith(`${copy}/`)) continue;
      const path = `${source}${full.slice(copy.length)}`;
      const effect = effectOn("read", path, shell.cwd, text, { ...how, implied: true });
      if (!how.below && !how.holds) effect.from = undefined;
      this.#add(effect);
    }
  }

  #add(effect: Effect): void {
    if (!this.#isNew(keyOf(effect))) return;
    this.#is_full = this.found.effects.length >= RUN_LIMITS.effects;
    if (!this.#is_full) this.found.effects.push(effect);
    else this.#cut("it touches too many files to analyse", show(effect.path));
  }

  /** Records a reason to ask a person, once. */
  doubt(reason: string, text: string, call: Call, unknown?: Unknown): void {
    const counts = !call.supposed || call.guessed === "words";
    if (counts && !call.task) this.#doubt(reason, text, unknown);
  }

  /** Records that a bound ends the analysis of this part, once. */
  cut(reason: string, text: string, call: Call): void {
    if (!call.supposed && !call.task) this.#cut(reason, text);
  }

  #cut(reason: string, text: string): void {
    this.found.is_cut = true;
    this.#doubt(reason, text);
  }

  #doubt(reason: string, text: string, unknown?: Unknown): void {
    if (this.#isNew(`doubt ${reason} ${text}`)) this.found.doubts.push({ reason, unknown, text });
  }

  /** Records a text that a program may run. */
  suspect(
    text: string,
    call: Call,
    { files_only = false, undescribed = false }: Partial<Suspect> = {},
  ): void {
    if (call.remote || call.supposed || call.task || text === "") return;
    const { suspects } = this.found;
    const part = text.slice(0, RUN_LIMITS.suspects.length);
    if (suspects.length >= RUN_LIMITS.suspects.count || !this.#isNew(`suspect ${part}`)) return;
    this.spend(part.length / 32);
    suspects.push({ text: part, folder: call.shell.cwd, from: call.text, files_only, undescribed });
  }

  /** Records a part of the text whose value is unknown. */
  unresolved(text: string, call: Call): void {
    if (!call.supposed && !call.task) this.found.unresolved.push(show(asOneWord(text)));
  }

  /** Records text that bash evaluates a second time, because substitutions in it run. */
  reevaluate(text: string, call: Call): void {
    if (/\$\(|`|\$\{/.test(text)) this.doubt("bash evaluates this text a second time", text, call);
    else if (isWild(text)) {
      this.unresolved(text, call);
      this.doubt("bash evaluates a text of unknown content", show(text), call);
    }
  }

  #isNew(key: string): boolean {
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    return true;
  }
}

/** A unit whose arguments are read on first use: most programs meet no rule. */
class NotedUnit implements Unit {
  readonly argv: string[];
  readonly spelled: string;
  readonly pipes: Unit["pipes"];
  readonly passive: boolean;
  readonly supposed: boolean;
  readonly task: boolean;
  readonly folders: readonly string[];
  readonly text: string;
  #read: Read | null = null;

  constructor(
    argv: readonly string[],
    { pipes, supposed, task, text }: Call,
    { spelled, passive, folders }: Pick<Unit, "spelled" | "passive" | "folders">,
  ) {
    this.argv = [...argv];
    this.spelled = spelled;
    this.pipes = pipes;
    this.passive = passive || supposed || task;
    this.supposed = supposed;
    this.task = task;
    this.folders = folders;
    this.text = text;
  }

  get read(): Read {
    return this.#read ??= readCommand(baseName(this.argv[0] ?? ""), this.argv.slice(1));
  }
}

/**
 * Every path meets the rules, which costs work, and so does each name in a long one. A path beyond the
 * longest is refused at once.
 */
function costOf(path: string): number {
  const cost = COST_OF_RULES + path.length / 8;
  if (path.length <= SHORT || path.length > LONGEST) return cost;
  let names = 1;
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) names++;
  return cost + Math.max(0, names - MOST_FOLDERS);
}

const COST_OF_RULES = 6;
const SHORT = 100;
const LONGEST = 4_096;
/** A path of usual depth has fewer. */
const MOST_FOLDERS = 16;

/** An effect on a path as seen from a folder. All have the same fields, which makes them cheap to read. */
function effectOn(
  op: Effect["op"],
  path: string,
  folder: string,
  text: string,
  how: Partial<Effect>,
): Effect {
  const { below, holds, tracked } = how;
  return {
    op,
    path: absolutePath(path, folder),
    walked: walkedPath(path, folder),
    text,
    uncertain: how.uncertain,
    implied: how.implied,
    guessed: how.guessed,
    unexplained: how.unexplained,
    undescribed: how.undescribed,
    brings: how.brings,
    reveals: how.reveals,
    below,
    tracked,
    from: below || holds || tracked ? folder : undefined,
    on_disk: how.on_disk,
    holds,
  };
}

/** The key that tells two effects apart: the flags as letters, then the rest. */
function keyOf(effect: Effect): string {
  const { op, path, walked, reveals, below, tracked, holds } = effect;
  let key: string = op;
  if (effect.uncertain) key += "u";
  if (effect.implied) key += "i";
  if (effect.guessed) key += "g";
  if (effect.unexplained) key += "x";
  if (effect.undescribed) key += "d";
  if (effect.brings) key += "b";
  if (reveals) key += reveals;
  if (holds) key += `-${holds.as}`;
  // The path comes last, so that no name can look like the rest.
  if (below || tracked) key += JSON.stringify([effect.from, effect.on_disk, below, tracked]);
  return `${key} ${walked ?? path}`;
}
