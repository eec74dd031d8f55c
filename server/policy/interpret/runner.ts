import { parse } from "unbash";
import { ANY, asOneWord, isStatic, isWild, show } from "../holes.ts";
import { BUILTINS } from "./builtins.ts";
import type { Call, Handler, Runner } from "./call.ts";
import { dashedCommand } from "../programs/git.ts";
import { hidesCode, namesTable } from "./forms.ts";
import { endsOpen, hasStrayOpener, isStrange, refuseCode } from "./guards.ts";
import { Interpreter } from "./interpreter.ts";
import { absolutePath } from "./state.ts";
import { touchWords } from "../programs/operands.ts";
import { runProgram } from "../programs/program.ts";
import { quote } from "../../shown/quote.ts";
import { type Recorder, RUN_LIMITS } from "./recorder.ts";
import { baseName, SHELLS } from "../programs/grammar.ts";
import { isDescribed, isKnown } from "../programs/described.ts";
import { ROWS } from "../programs/rows.ts";
import { FOLLOWED, SPECIALS } from "../programs/specials.ts";
import { noteSuspects } from "./suspects.ts";
import type { Effect, Unknown } from "./unit.ts";
import { supposeAny } from "./unknown.ts";
import { runWrapper, startsNothing, WRAPPERS } from "../programs/wrappers.ts";

/** Follows commands through functions, aliases, builtins and the tables of programs. */
export class TableRunner implements Runner {
  readonly interpreter: Interpreter;

  constructor(
    readonly recorder: Recorder,
    readonly taskScript: (name: string, cwd: string) => string | null,
  ) {
    this.interpreter = new Interpreter(recorder, this);
  }

  code(text: string, call: Call): string {
    const source = asOneWord(text);
    if (source.trim() === "") return "";
    if (call.depth >= RUN_LIMITS.depth) {
      this.recorder.cut("the code nests too deep to analyse", source.slice(0, 80), call);
      return ANY;
    }
    this.recorder.spend(10 + source.length / 32);
    this.recorder.code(source, call);
    if (isWild(source) || /[\uFDD4-\uFDD6]/.test(source)) {
      this.recorder.unresolved(source, call);
      this.doubt("part of the code that runs is unknown", show(source).slice(0, 200), call, "code");
    }
    const refused = refuseCode(source);
    if (refused) {
      this.doubt(refused, show(source).slice(0, 200), call);
      return ANY;
    }
    if (isStrange(source)) {
      this.doubt(
        "the code has a control character or an unusual blank",
        show(source).slice(0, 200),
        call,
      );
    }
    const script = parse(source);
    if (script.errors?.length || endsOpen(source) || hasStrayOpener(source, script)) {
      this.doubt(
        "the code that runs cannot be parsed reliably",
        show(source).slice(0, 200),
        call,
      );
      if (call.supposed) return ANY;
    }
    return this.interpreter.script(script, { ...call, depth: call.depth + 1 });
  }

  command(argv: readonly string[], call: Call): string {
    const [program] = argv;
    if (program === undefined || program === "" || this.recorder.isFull(call)) return "";
    if (call.depth > RUN_LIMITS.depth) {
      this.recorder.cut("the commands nest too deep to analyse", program, call);
      return ANY;
    }
    if (!isStatic(program)) return this.#unknown(argv, call);
    this.recorder.spend(10 + argv.length / 4);
    if (argv.length > RUN_LIMITS.words) {
      this.recorder.cut("the command has too many words to analyse", program, call);
      return ANY;
    }
    const inner = { ...call, depth: call.depth + 1 };
    if (call.shell.aliased) {
      this.doubt("an alias may replace any word of this command", argv.join(" "), call);
    }
    const alias = call.shell.aliases.get(program);
    if (alias !== undefined) this.#alias(alias, argv, inner);
    const body = call.shell.functions.get(program);
    if (body) {
      if (isKnown(program)) {
        this.doubt("a function replaces this program", program, call);
      }
      if (call.shell.unsure.has(program)) {
        this.#dispatch(program, argv, { ...inner, shell: call.shell.fork() });
      }
      return this.#function(body, argv, inner);
    }
    return this.#dispatch(program, argv, inner);
  }

  #dispatch(program: string, argv: readonly string[], call: Call): string {
    const name = baseName(program);
    const builtin = program === name ? own(BUILTINS, name) : undefined;
    if (builtin) {
      for (const word of name === "echo" ? [] : argv.slice(1)) {
        if (hidesCode(word)) this.reevaluate(word, call);
        if (TAKES_NAMES.test(name) && namesTable(word)) {
          this.doubt("this changes the meaning of the commands after it", word, call);
        }
      }
      if (call.shell.trapped && /^(cd|pushd|popd)$/.test(name)) {
        this.doubt("code of a trap runs in this folder later", argv.join(" "), call);
      }
      this.note(argv, call, builtin.passive);
      return builtin.run(argv, call, this);
    }
    for (const word of argv) {
      if (word.includes("[") && SUBSCRIPT.test(word)) this.reevaluate(word, call);
    }
    const dashed = dashedCommand(name);
    if (dashed !== null) this.command(["git", dashed, ...argv.slice(1)], call);
    const loader = LOADER.test(name) ? argv.slice(1).findIndex((arg) => !arg.startsWith("-")) : -1;
    if (loader >= 0) {
      this.doubt("the loader runs a program under another name", argv.join(" "), call);
      return this.command(argv.slice(loader + 1), call);
    }
    if (program.startsWith("=") || isMoving(program, call.shell.cwd)) {
      this.doubt("this names a program in a way that hides which one it is", program, call);
    }
    const wrapper = own(WRAPPERS, name);
    const special: Handler | undefined = own(SPECIALS, name);
    const described = isDescribed(name);
    const only_starts = wrapper
      ? wrapper.passive && !startsNothing(wrapper, argv.slice(1))
      : onlyStarts(name, argv);
    this.note(argv, call, described && only_starts);
    noteSuspects(name, argv, call, this.recorder, described);
    if (!call.supposed && own(SCHEDULES, name)?.test(argv.slice(1).join(" ")) === false) {
      this.doubt("this changes a schedule", argv.join(" "), call);
    }
    if (!described) {
      const printed = runProgram(name, argv, call, this, false);
      supposeAny(argv, call, this);
      return printed;
    }
    if (special) {
      if (!FOLLOWED.has(name)) touchWords(name, argv.slice(1), call, this, own(ROWS, name));
      return special(argv, call, this);
    }
    if (wrapper) return runWrapper(wrapper, argv.slice(1), call, this);
    return runProgram(name, argv, call, this);
  }

  /** The name of the program is unknown, so it may be any program. */
  #unknown(argv: readonly string[], call: Call): string {
    this.recorder.unresolved(argv[0]!, call);
    this.doubt("the program that runs is unknown", show(argv[0]!), call);
    this.note(argv, call);
    return ANY;
  }

  #alias(alias: string, argv: readonly string[], call: Call): void {
    const shell = call.shell.fork();
    shell.aliases.delete(argv[0]!);
    this.code([alias, ...argv.slice(1).map(quote)].join(" "), { ...call, shell });
  }

  #function(body: Parameters<Interpreter["body"]>[0], argv: readonly string[], call: Call): string {
    const { shell } = call;
    const { positional } = shell;
    shell.positional = argv.slice(1);
    const printed = this.interpreter.body(body, call);
    shell.positional = positional;
    return printed;
  }

  spend(work: number): void {
    this.recorder.spend(work);
  }

  note(argv: readonly string[], call: Call, passive = false): void {
    this.recorder.note(argv, call, passive);
  }

  touch(op: Effect["op"], path: string, call: Call, how?: Partial<Effect>): void {
    this.recorder.touch(op, path, call, how);
  }

  doubt(reason: string, text: string, call: Call, unknown?: Unknown): void {
    this.recorder.doubt(reason, text, call, unknown);
  }

  reevaluate(text: string, call: Call): void {
    this.recorder.reevaluate(text, call);
  }

  content(path: string, call: Call): string | null {
    if (path === "/dev/stdin" || path === "/dev/fd/0" || path === "/proc/self/fd/0") {
      return call.stdin;
    }
    return call.shell.files.get(absolutePath(path, call.shell.cwd)) ?? null;
  }

  script(name: string, call: Call): string | null {
    return call.remote ? null : this.taskScript(name, call.shell.cwd);
  }
}

/** Builtins whose words may be names of variables to set. */
const TAKES_NAMES =
  /^(export|declare|typeset|local|readonly|integer|float|read|mapfile|readarray|set|printf|getopts|wait)$/;

/** The folders in which a name stands for another file in each process. `/dev/shm` is none. */
const MOVING = /^\/(proc|dev(?!\/shm\/))\//;

function isMoving(program: string, cwd: string): boolean {
  if (!program.includes("/")) return false;
  const named = program.startsWith("/") ? program : `${cwd}/${program}`;
  return MOVING.test(named) || MOVING.test(absolutePath(named, cwd));
}

/** A name with code in its index, which many builtins of zsh run: `getln 'a[$(code)]'`. */
const SUBSCRIPT = /^\w+\[[^]*[`$]/;

/** Programs that start others later, which no word of theirs tells, and the words that do not. */
const SCHEDULES: Record<string, RegExp> = {
  crontab: /(^| )-l( |$)/,
  schtasks: /(^| )\/query( |$)/i,
  at: /(^| )-[ldrc]/,
  batch: /(^| )-V/,
};

/** The dynamic loader, which runs the program in its arguments. */
const LOADER = /^(ld|ld-linux[\w-]*|ld-musl[\w-]*|ld64?|rtld|ld-elf)\.so(\.\d+)*$/;

/** Whether the program only starts other commands; the policy must allow those, not this one. */
function onlyStarts(name: string, argv: readonly string[]): boolean {
  if (name === "xargs") return true;
  return SHELLS.has(name) && argv.some((arg) => /^-[a-z]*c$/.test(arg));
}

/** A row of the table itself, without inherited properties. */
function own<T>(table: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
