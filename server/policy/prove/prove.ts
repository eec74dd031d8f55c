import { whyNotSame } from "./builtins.ts";
import { expandGlob, type ListFolder, STAR, written } from "./globs.ts";
import { isHarmlessVariable, isInterpreted, OF_A_SHELL } from "./names.ts";
import {
  type Proof,
  type ProvedCommand,
  type ProvedItem,
  type ProvedList,
  type ProvedLoop,
  type ProvedPipeline,
  type ProvedRedirect,
  Unproved,
} from "./proved.ts";
import { type Operator, Reader, type Word } from "./reader.ts";

/** Where a text would run. */
export interface ProveOptions {
  /** The absolute folder in which it starts, without links. */
  cwd: string;
  user_home: string;
  /** Lists a folder. Only a text that nobody will run is proved without it. */
  list?: ListFolder;
}

/**
 * Proves that a text runs exactly these programs with exactly these words, whether bash, zsh, dash
 * or fish reads it: a shell either does that or refuses the text. Never throws. Everything that is
 * not known to mean the same is not proved.
 */
export function prove(text: string, options: ProveOptions): Proof {
  try {
    return { proved: new Prover(text, options).text() };
  } catch (error) {
    if (error instanceof Unproved) {
      return { unproved: { reason: error.reason, span: error.span } };
    }
    throw error;
  }
}

const ASSIGNS = /([A-Za-z_]\w*)=/y;
const FOR = /for[ \t]+([A-Za-z_]\w*)[ \t]+in[ \t]+(?![;\n])/y;
const DO = /do(?=[ \t\n])/y;
const DONE = /done(?=[\s;&|]|$)/y;
const DUPLICATE = /([12]?)>&([12])(?=[\s;&|<>)]|$)/y;
const HERE_DOCUMENT = /<<(?:'(\w+)'|"(\w+)")(?=[\s;&|<>)]|$)/y;
const REDIRECT = /([12]?)(>>?)(?![>&|!?(<])|0?<(?![<>&?(])/y;
const LIMITS = { commands: 256, words: 1_000, folders: 8, globs: 32 } as const;

/** One way in which a text may have gone so far. */
interface State {
  folder: string;
  /** Whether the last step did; null if both are possible. */
  succeeded: boolean | null;
}

/** Reads one text by recursive descent and follows its folders and variables. */
class Prover {
  readonly #reader: Reader;
  readonly #options: ProveOptions;
  readonly #variables = new Map<string, string>();
  #states: State[];
  #commands = 0;
  #globs = 0;
  #loops = 0;
  /** A command so far may have made, moved or deleted files. */
  #changes_files = false;
  /** The here-document that begins on the next line. */
  #heredoc: { redirect: { text: string }; delimiter: string; at: number } | null = null;

  constructor(text: string, options: ProveOptions) {
    this.#reader = new Reader(text, options.user_home);
    this.#options = options;
    this.#states = [{ folder: options.cwd, succeeded: true }];
  }

  text(): ProvedList {
    const list = this.#list(null);
    if (this.#heredoc) this.#reader.refuse("a here-document without its end");
    return list;
  }

  /** A list up to the end of the text or up to a keyword. */
  #list(end: "done" | null): ProvedList {
    const reader = this.#reader;
    const items: ProvedItem[] = [];
    let operator: Operator = ";";
    for (;;) {
      reader.skipLines();
      const from = reader.at;
      const joins = operator === "&&" || operator === "||";
      if (reader.peek() === "" || (end && reader.take(DONE))) {
        if (joins || items.length === 0 || (end && reader.at === from)) {
          reader.refuse("a text that ends too early");
        }
        return { items };
      }
      const when = operator === "&&" ? "success" : operator === "||" ? "failure" : "always";
      const item = this.#item(when, items.at(-1));
      items.push(item);
      if (items.length > LIMITS.commands) reader.refuse("a text of very many commands");
      operator = this.#endOf(item);
      if (operator === null && end) reader.refuse("a loop without its end");
    }
  }

  #item(when: ProvedItem["when"], before: ProvedItem | undefined): ProvedItem {
    const states = when === "always" ? this.#states : this.#states.flatMap(outcomesOf);
    const skipped = states.filter(({ succeeded }) => !runs(when, succeeded));
    this.#states = states.filter(({ succeeded }) => runs(when, succeeded));
    const run = this.#assignment(when, before) ?? this.#loop() ?? this.#pipeline();
    this.#states = unique([...this.#states, ...skipped]);
    if (this.#states.length > LIMITS.folders) this.#reader.refuse("too many changes of the folder");
    return { when, run };
  }

  /** The operator after an item; a here-document begins after its line. */
  #endOf({ run }: ProvedItem): Operator {
    const reader = this.#reader;
    const from = reader.at;
    const operator = reader.operator();
    if (operator === "|") reader.refuse("a loop or a variable in a pipeline", from);
    if (operator === "||" && run.kind === "assignment") {
      reader.refuse('"||" after a variable', from);
    }
    if (!this.#heredoc) return operator;
    const is_one_line = !reader.text.slice(this.#heredoc.at, reader.at - 1).includes("\n");
    if (operator !== "\n" || !is_one_line) {
      reader.refuse("a here-document that does not end its line", from);
    }
    this.#readHeredoc();
    return operator;
  }

  /** A variable of the text. It must be set in each way that the text may go. */
  #assignment(when: ProvedItem["when"], before: ProvedItem | undefined): ProvedItem["run"] | null {
    const reader = this.#reader;
    const from = reader.at;
    const found = reader.take(ASSIGNS);
    if (!found) return null;
    const name = found[1]!;
    const value = this.#literal(reader.word());
    if (reader.isInCommand()) {
      reader.at = from;
      return null;
    }
    if (isInterpreted(name)) reader.refuse(`the variable "${name}", which programs may read`, from);
    const is_sure = this.#loops === 0 && (when === "always" || before?.run.kind === "assignment");
    if (!is_sure) reader.refuse("a variable that is not always set", from);
    this.#variables.set(name, value);
    this.#states = this.#states.map(({ folder }) => ({ folder, succeeded: true }));
    return { kind: "assignment", name, value };
  }

  /** `for name in word…; do list; done`: the list once for each word. */
  #loop(): ProvedLoop | null {
    const reader = this.#reader;
    const from = reader.at;
    const found = reader.take(FOR);
    if (!found) return null;
    const name = found[1]!;
    if (isInterpreted(name)) reader.refuse(`the variable "${name}", which programs may read`, from);
    if (this.#variables.has(name)) reader.refuse("a loop over a variable that is set", from);
    const words: string[] = [];
    while (reader.isInCommand()) {
      if (/[<>]/.test(reader.peek())) reader.refuse("a redirect among the words of a loop");
      words.push(...this.#operand(reader.word(), null).words);
      if (words.length > LIMITS.commands) reader.refuse("a text of very many commands");
    }
    const operator = reader.operator();
    if (operator !== ";" && operator !== "\n") reader.refuse("a loop without its list", from);
    reader.skipLines();
    if (!reader.take(DO)) reader.refuse('a loop without "do"', from);
    const body = reader.at;
    this.#loops++;
    const rounds = words.map((word) => {
      reader.at = body;
      this.#variables.set(name, word);
      return this.#list("done");
    });
    this.#loops--;
    this.#variables.delete(name);
    return { kind: "loop", rounds };
  }

  #pipeline(): ProvedPipeline {
    const reader = this.#reader;
    const stages: ProvedCommand[] = [];
    const globbing: ProvedCommand[] = [];
    const read = () => {
      const before = this.#globs;
      const stage = this.#command(stages.length === 0);
      stages.push(stage);
      if (this.#globs > before) globbing.push(stage);
    };
    read();
    for (;;) {
      reader.skipBlanks();
      if (reader.peek() !== "|" || reader.peek(2) === "||") break;
      reader.operator();
      reader.skipLines();
      read();
    }
    for (const [at, stage] of stages.entries()) this.#checkStage(stage, at, stages.length);
    // Stages run at once, so each may change the files that the glob of another finds.
    const changing = stages.filter(changesFiles);
    const filled = globbing.find((one) => changing.some((other) => other !== one));
    if (filled) throw new Unproved(FILLED, filled.span);
    this.#changes_files ||= changing.length > 0;
    this.#follow(stages);
    return { kind: "pipeline", stages };
  }

  #command(is_first: boolean): ProvedCommand {
    const reader = this.#reader;
    const from = reader.at;
    if (++this.#commands > LIMITS.commands) reader.refuse("a text of very many commands");
    const variables = this.#prefixes();
    const name = this.#program();
    const argv: ProvedCommand["argv"] = [name];
    const written = [name];
    const redirects: ProvedRedirect[] = [];
    while (reader.isInCommand()) {
      const redirect = this.#redirect();
      if (redirect) {
        redirects.push(redirect);
        if (redirects.length > 3) reader.refuse("a stream with two sources or two targets", from);
        continue;
      }
      const operand = this.#operand(reader.word(), argv);
      argv.push(...operand.words);
      if (argv.length > LIMITS.words) reader.refuse("a command of very many words");
      written.push(operand.written);
    }
    this.#checkRedirects(redirects, is_first, from);
    return {
      argv,
      written,
      builtin: OF_A_SHELL.has(name),
      variables,
      redirects,
      folders: this.#states.length === 1
        ? [this.#states[0]!.folder]
        : [...new Set(this.#states.map(({ folder }) => folder))],
      span: [from, reader.at],
    };
  }

  #prefixes(): ProvedCommand["variables"] {
    const reader = this.#reader;
    const variables: ProvedCommand["variables"] = [];
    for (;;) {
      reader.skipBlanks();
      const from = reader.at;
      const found = reader.take(ASSIGNS);
      if (!found) return variables;
      const name = found[1]!;
      const value = this.#literal(reader.word());
      if (!isHarmlessVariable(name, value)) {
        reader.refuse(`the variable "${name}" before a program`, from);
      }
      variables.push([name, value]);
    }
  }

  #program(): string {
    const reader = this.#reader;
    const { value, is_bare, variable, is_revision, span } = reader.word();
    const refuse = (reason: string): never => {
      throw new Unproved(reason, span);
    };
    if (variable) return refuse("a variable in the place of a program");
    if (value === "") return refuse(REASONS[reader.peek()] ?? "no program");
    if (value.includes(STAR)) return refuse("a glob in the place of a program");
    if (is_revision || !/^(\[|:|[\w/.][\w/.+@:,~-]*)$/.test(value)) {
      return refuse(`"${value}" in the place of a program`);
    }
    if (value === "[" && !is_bare) return refuse('"[" in quotes');
    if (
      /(^|\/)\.{0,2}$/.test(value) || reader.text.slice(...span) === "~" || this.#isFolder(value)
    ) {
      return refuse("a folder in the place of a program");
    }
    return value;
  }

  /** fish changes to a folder that is named like a program, and so moves the paths that follow. */
  #isFolder(path: string): boolean {
    const { list } = this.#options;
    if (!list || !path.includes("/")) return false;
    return this.#states.some(({ folder }) => {
      const [, parent, name] = /^(.*\/)(.*)$/.exec(
        path.startsWith("/") ? path : `${folder}/${path}`,
      )!;
      const kind = list(parent!)?.find((entry) => entry.name === name)?.kind;
      return kind === "folder" || kind === "link" && list(parent! + name)?.length !== 0;
    });
  }

  /** The words that an operand becomes, and how it is written; `before` is the command so far. */
  #operand(word: Word, before: readonly string[] | null): { words: string[]; written: string } {
    if (word.is_revision && before?.[0] !== "git") {
      throw new Unproved('"~" or "^" inside a word', word.span);
    }
    const value = this.#value(word);
    if (!value.includes(STAR)) return { words: [value], written: value };
    return {
      words: this.#glob(value, word, before !== null && isAlike(before)),
      written: written(value),
    };
  }

  #glob(glob: string, { span }: Word, is_alike: boolean): string[] {
    const { cwd, list } = this.#options;
    const refuse = (reason: string): never => {
      throw new Unproved(reason, span);
    };
    if (++this.#globs > LIMITS.globs) return refuse("a text of very many globs");
    if (this.#changes_files) return refuse(FILLED);
    const folders = [...new Set(this.#states.map(({ folder }) => folder))];
    if (folders.length > 1 && !glob.startsWith("/")) {
      return refuse('a glob after "cd", which may fail');
    }
    const found = expandGlob(glob, folders[0] ?? cwd, list);
    if (typeof found === "string") return refuse(found);
    if (!found.is_ordered && !is_alike) return refuse("a glob whose order differs between shells");
    return found.words;
  }

  /** The value of a word, with its variable replaced; a star stays a `STAR`. */
  #value({ value, variable, span }: Word): string {
    if (variable === null) return value;
    const known = this.#variables.get(variable.name);
    if (known === undefined) {
      throw new Unproved(`the variable "${variable.name}", which the text does not set`, span);
    }
    // Some shells split and expand a value without quotes.
    if (!variable.is_quoted && !/^[\w./:@%+,=\u00a1-\u{10ffff}-]+$/u.test(known)) {
      throw new Unproved(`the variable "${variable.name}" without quotes`, span);
    }
    return known;
  }

  /** The value of a word that is no list of files. */
  #literal(word: Word): string {
    const value = this.#value(word);
    if (value.includes(STAR)) throw new Unproved("a glob in the place of a value", word.span);
    if (word.is_revision) throw new Unproved('"~" or "^" inside a word', word.span);
    return value;
  }

  #redirect(): ProvedRedirect | null {
    const reader = this.#reader;
    const from = reader.at;
    if (!/^\d?[<>]/.test(reader.peek(2))) return null;
    if (/[<>]/.test(reader.peek()) && /\d/.test(reader.text[from - 1] ?? "")) {
      reader.refuse("a number before a redirect");
    }
    const copy = reader.take(DUPLICATE);
    if (copy) {
      return {
        fd: copy[1] === "2" ? 2 : 1,
        kind: "duplicate",
        of: copy[2] === "2" ? 2 : 1,
      };
    }
    const here = reader.take(HERE_DOCUMENT);
    if (here) return this.#announceHeredoc((here[1] ?? here[2])!);
    const found = reader.take(REDIRECT) ?? reader.refuse("an unusual redirect", from);
    const path = this.#target(from, found[2] === undefined);
    if (found[2] === undefined) return { fd: 0, kind: "read", path };
    return { fd: found[1] === "2" ? 2 : 1, kind: found[2] === ">>" ? "append" : "write", path };
  }

  #target(from: number, is_read: boolean): string {
    const reader = this.#reader;
    reader.skipBlanks();
    const word = reader.word();
    if (word.variable) reader.refuse("a redirect to a variable", from);
    const path = this.#literal(word);
    // zsh reads "<1-9>" as a glob, and bash opens connections under these names.
    const is_range = is_read && /^\d*-\d*$/.test(path) && reader.peek() === ">";
    const is_device = /^\/+(dev|proc)(\/|$)/.test(path) && path !== "/dev/null";
    if (path === "" || is_range || is_device) reader.refuse("an unusual redirect", from);
    return path;
  }

  #announceHeredoc(delimiter: string): ProvedRedirect {
    if (this.#heredoc || this.#loops > 0) this.#reader.refuse("several here-documents");
    const redirect = { fd: 0 as const, kind: "text" as const, text: "" };
    this.#heredoc = { redirect, delimiter, at: this.#reader.at };
    return redirect;
  }

  #readHeredoc(): void {
    const { redirect, delimiter } = this.#heredoc!;
    const reader = this.#reader;
    const from = reader.at;
    this.#heredoc = null;
    for (;;) {
      const end = reader.text.indexOf("\n", reader.at);
      const line = reader.text.slice(reader.at, end === -1 ? undefined : end);
      if (line === delimiter) {
        if (reader.at === from) reader.refuse("an empty here-document", from);
        redirect.text = reader.text.slice(from, reader.at);
        reader.at = end === -1 ? reader.text.length : end + 1;
        return;
      }
      if (end === -1) reader.refuse("a here-document without its end", from);
      reader.at = end + 1;
    }
  }

  /** zsh sends a stream to all its redirects, the other shells to the last one. */
  #checkRedirects(redirects: readonly ProvedRedirect[], is_first: boolean, from: number): void {
    const streams = redirects.map(({ fd }) => fd);
    const is_twice = new Set(streams).size < streams.length;
    if (is_twice || (!is_first && streams.includes(0))) {
      this.#reader.refuse("a stream with two sources or two targets", from);
    }
  }

  #checkStage(stage: ProvedCommand, at: number, count: number): void {
    const { argv: [name, ...words], redirects, span } = stage;
    const refuse = (reason: string): never => {
      throw new Unproved(reason, span);
    };
    const is_piped = at < count - 1;
    const output = redirects.find(({ fd }) => fd === 1);
    if (is_piped && output) return refuse("a stream with two sources or two targets");
    if (!stage.builtin) return;
    if (name === "cd") return this.#checkFolderChange(stage, count);
    if (stage.variables.length > 0) return refuse("a variable before a builtin");
    const why = whyNotSame(name, words, {
      is_read: is_piped || output !== undefined,
      is_piped: count > 1,
    });
    if (why !== null) return refuse(why);
  }

  #checkFolderChange(
    { argv: [, ...words], redirects, variables, span }: ProvedCommand,
    count: number,
  ): void {
    const refuse = (reason: string): never => {
      throw new Unproved(reason, span);
    };
    if (count > 1) return refuse('"cd" in a pipeline');
    if (variables.length > 0 || redirects.some(({ fd }) => fd !== 2)) {
      return refuse('"cd" with more');
    }
    const [to = "~", ...more] = words;
    const is_moved = this.#states.some(({ folder }) => folder !== this.#options.cwd);
    if (more.length > 0 || /^[-+]|^$/.test(to) || climbs(to, is_moved)) {
      return refuse('"cd" to a folder that is not certain');
    }
  }

  /** The folders after a pipeline: `cd` may fail, `exit` has none, everything else keeps them. */
  #follow(stages: readonly ProvedCommand[]): void {
    const [{ argv: [name, to = this.#options.user_home] }] = stages as [ProvedCommand];
    if (name === "exit") {
      this.#states = [];
      return;
    }
    const after = (folder: string): State[] =>
      name === "cd" && stages.length === 1
        ? [{ folder: joined(folder, to), succeeded: true }, { folder, succeeded: false }]
        : [{ folder, succeeded: null }];
    this.#states = unique(this.#states.flatMap(({ folder }) => after(folder)));
  }
}

const REASONS: Record<string, string> = {
  "<": "a redirect without a program",
  ">": "a redirect without a program",
  "(": "a subshell",
  ")": "a subshell",
  "&": "a command in the background",
};

const FILLED = "a glob beside a command that may change which files there are";

/** Programs that leave all files as they are, with any words. */
const READERS = new Set(
  ("ls cat head tail wc grep egrep fgrep echo printf pwd cd test [ : true false exit cut tr nl tac rev paste fold " +
    "join basename dirname stat file du diff cmp comm which type command sleep jq readlink realpath seq")
    .split(" "),
);

/** Whether a command may make, move or delete files. */
function changesFiles({ argv: [name, ...words], redirects }: ProvedCommand): boolean {
  const writes = redirects.some((one) =>
    (one.kind === "write" || one.kind === "append") && one.path !== "/dev/null"
  );
  if (writes) return true;
  if (name === "sort") return words.some((word) => /^-([a-zA-Z]*o|-o|-c.*-p)/.test(word));
  if (name === "uniq") return words.filter((word) => !word.startsWith("-")).length > 1;
  if (name === "find") return words.some((word) => /^-(exec|ok|delete|fprint|fls)/.test(word));
  if (name === "git") {
    return !/^(status|log|show|diff|ls-files|blame|grep)$/.test(words[0] ?? "") ||
      words.some((word) => /^--?(o|ext|textconv|open)/i.test(word));
  }
  return !READERS.has(name);
}

/** Programs that treat all their operands alike, so that the order does not matter. */
const ALIKE = new Set("ls cat head tail wc stat file du rm touch mkdir chmod".split(" "));

function isAlike([name = "", ...before]: readonly string[]): boolean {
  if (name === "git") return /^(add|diff|log|rm|status)$/.test(before[0] ?? "");
  if (name === "grep" || name === "rg") return before.some((word) => !word.startsWith("-"));
  return ALIKE.has(name);
}

/** Behind a link, ".." leads to different folders in different shells. */
function climbs(to: string, is_moved: boolean): boolean {
  const names = to.split("/").filter((name) => name !== "" && name !== ".");
  const first = is_moved || to.startsWith("/") ? 0 : names.findIndex((name) => name !== "..");
  return first !== -1 && names.includes("..", first);
}

function outcomesOf({ folder, succeeded }: State): State[] {
  const outcomes = succeeded === null ? [true, false] : [succeeded];
  return outcomes.map((one) => ({ folder, succeeded: one }));
}

function runs(when: ProvedItem["when"], succeeded: boolean | null): boolean {
  return when === "always" || succeeded === (when === "success");
}

function unique(states: readonly State[]): State[] {
  if (states.length === 1) return [...states];
  return [...new Map(states.map((one) => [`${one.succeeded} ${one.folder}`, one])).values()];
}

/** A folder as seen from another, with `.` and `..` folded. */
function joined(folder: string, to: string): string {
  const names = to.startsWith("/") ? [] : folder.split("/").slice(1);
  for (const name of to.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.filter((name) => name !== "").join("/")}`;
}
