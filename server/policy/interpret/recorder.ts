import { asOneWord, isWild, show } from "../holes.ts";
import type { Call } from "./call.ts";
import { baseName, type Read, readCommand } from "../programs/grammar.ts";
import { absolutePath, walkedPath } from "./state.ts";
import type { CommandAnalysis, Effect, Suspect, Unit } from "./unit.ts";

/** Bounds of one analysis; beyond them a person decides. */
export const RUN_LIMITS = {
  commands: 400,
  effects: 300,
  depth: 12,
  words: 1_000,
  text: 65_536,
  work: 3_500,
  tree: 200,
  suspects: { count: 40, length: 8_192 },
} as const;

/** Thrown at a bound; the findings until then remain. */
export class Overload extends Error {}

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
    const folders = [call.shell.cwd, ...call.shell.otherFolders];
    let key = `${call.supposed} ${argv.join("\0")} ${folders.join("\0")}`;
    for (const { pipeline, stage } of call.pipes) key += ` ${pipeline}.${stage}`;
    if (!this.#isNew(key)) return;
    this.spend(argv.length / 8);
    this.found.units.push(new NotedUnit(argv, call, { passive, folders }));
  }

  /** Records access to a file, in every possible current folder. */
  touch(op: Effect["op"], path: string, call: Call, how: Partial<Effect> = {}): void {
    if (call.remote || (call.supposed && !call.guessed) || path === "" || this.#is_full) return;
    if (call.task) how = { ...how, implied: true };
    if (call.guessed) how = { ...how, implied: true, guessed: true };
    this.spend(path.length / 8);
    const { text, found } = call;
    if (found?.path === path) how = { below: found.below, ...how };
    const add = (folder: string, more: Partial<Effect>) =>
      this.#add({
        op,
        ...placeOf(path, folder),
        text,
        ...how,
        ...(how.below || how.holds || how.tracked) && { from: folder },
        ...more,
      });
    add(call.shell.cwd, {});
    if (op === "read") this.#touchSources(path, call, how);
    if (path.startsWith("/")) return;
    for (const folder of call.shell.otherFolders) add(folder, { uncertain: true });
  }

  /** Reading a copy that the same command makes reads its source, which may be a link. */
  #touchSources(path: string, { shell, text }: Call, how: Partial<Effect>): void {
    const full = shell.copies.length > 0 ? absolutePath(path, shell.cwd) : "";
    for (const [copy, source] of shell.copies) {
      if (full !== copy && !full.startsWith(`${copy}/`)) continue;
      const from = how.below || how.holds ? { from: shell.cwd } : {};
      const place = placeOf(`${source}${full.slice(copy.length)}`, shell.cwd);
      this.#add({ op: "read", ...place, text, ...how, implied: true, ...from });
    }
  }

  #add(effect: Effect): void {
    const { op, path, walked, uncertain, implied, guessed, unexplained, reveals, below, tracked } =
      effect;
    const how = `${uncertain} ${implied} ${guessed} ${unexplained} ${reveals}`;
    const reach = below || tracked
      ? JSON.stringify([effect.from, effect.on_disk, below, tracked])
      : "";
    const key = `${op} ${walked ?? path} ${how} ${effect.undescribed} ${effect.holds?.as} ${reach}`;
    if (!this.#isNew(key)) return;
    this.#is_full = this.found.effects.length >= RUN_LIMITS.effects;
    if (!this.#is_full) this.found.effects.push(effect);
    else this.#cut("it touches too many files to analyse", show(path));
  }

  /** Records a reason to ask a person, once. */
  doubt(reason: string, text: string, call: Call): void {
    const counts = !call.supposed || call.guessed === "words";
    if (counts && !call.task) this.#doubt(reason, text);
  }

  /** Records that a bound ends the analysis of this part, once. */
  cut(reason: string, text: string, call: Call): void {
    if (!call.supposed && !call.task) this.#cut(reason, text);
  }

  #cut(reason: string, text: string): void {
    this.found.is_cut = true;
    this.#doubt(reason, text);
  }

  #doubt(reason: string, text: string): void {
    if (this.#isNew(`doubt ${reason} ${text}`)) this.found.doubts.push({ reason, text });
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
    { passive, folders }: Pick<Unit, "passive" | "folders">,
  ) {
    this.argv = [...argv];
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

function placeOf(path: string, cwd: string): Pick<Effect, "path" | "walked"> {
  const walked = walkedPath(path, cwd);
  const folded = absolutePath(path, cwd);
  return walked === undefined ? { path: folded } : { path: folded, walked };
}
