import type {
  ArithmeticExpression,
  ParsedScript,
  Redirection,
  Statement,
  SyntaxNode,
  TestExpression,
} from "unbash";
import { ANY, isStatic } from "../holes.ts";
import { isKnown } from "../programs/described.ts";
import { isReadByPrograms } from "../programs/environment.ts";
import type { Call, Runner } from "./call.ts";
import { type Context, expandText, expandWord } from "./expand.ts";
import { runArithmetic, runTest } from "./arithmetic.ts";
import type { Recorder } from "./recorder.ts";
import { redirect, UNCHANGED } from "./redirect.ts";
import { runSimple } from "./simple.ts";
import { isPlainArithmetic } from "./forms.ts";
import type { SharedMap } from "./shared_map.ts";
import type { FunctionBody, Shell, Variable } from "./state.ts";

/** Runs parsed scripts on partly known values and follows every branch. */
export class Interpreter {
  #pipelines = 0;

  constructor(readonly recorder: Recorder, readonly runner: Runner) {}

  /** Runs all statements in order and returns their output. */
  script(script: { commands: readonly Statement[] }, call: Call): string {
    return this.#statements(script.commands, call);
  }

  /** Runs the body of a function or of another group. */
  body(body: FunctionBody, call: Call): string {
    return body.type === "CompoundList"
      ? this.#statements(body.commands, call)
      : this.node(body, call);
  }

  #statements(statements: readonly Statement[], call: Call): string {
    let printed = "";
    for (const statement of statements) {
      if (this.recorder.isFull(call)) break;
      if (statement.background) this.recorder.found.goes_on = true;
      printed += statement.background
        ? this.#apart(call, (inner) => this.node(statement.command, inner))
        : this.node(statement.command, call);
      this.#unsureFolder(call);
    }
    return printed;
  }

  /** Runs `body` in a subshell; only its files remain. */
  #apart(call: Call, body: (inner: Call) => string): string {
    const shell = call.shell.fork();
    const printed = body({ ...call, shell });
    call.shell.keepFiles(shell);
    return printed;
  }

  /** A `cd` may have failed, so the old folder remains possible. */
  #unsureFolder({ shell }: Call): void {
    if (shell.previous !== null) shell.mayBeIn(shell.previous);
    shell.previous = null;
  }

  /** Runs one node of the tree and returns its output. */
  node(node: SyntaxNode, call: Call): string {
    this.recorder.spend(4);
    return this.recorder.descend(() => this.#node(node, call));
  }

  #node(node: SyntaxNode, call: Call): string {
    switch (node.type) {
      case "Command":
        return runSimple(node, call, this);
      case "Pipeline":
        return this.#pipeline(node.commands, call);
      case "AndOr":
        return this.#andOr(node.commands, node.operators, call);
      case "Redirected":
        return this.#redirected(node, call);
      case "Subshell":
        return this.#apart(call, (inner) => this.#statements(node.body.commands, inner));
      case "BraceGroup":
        return this.#statements(node.body.commands, call);
      case "CompoundList":
        return this.#statements(node.commands, call);
      case "Function":
        if (CALLED.test(node.name.value) || call.shell.trapped) {
          this.recorder.doubt("the shell calls this function by itself", node.name.value, call);
        }
        if (isKnown(node.name.value)) {
          this.recorder.doubt("a function replaces this program", node.name.value, call);
        }
        // dash does not know the keyword and fish runs what stands in parentheses: both at once.
        if (node.name.pos > node.pos || node.body.type === "Subshell") {
          this.#apart(call, (inner) => {
            inner.shell.positional = [];
            return this.body(node.body, inner);
          });
        }
        if ((call.shell.functions.get(node.name.value) ?? node.body) !== node.body) {
          this.recorder.doubt("either of two functions may run", node.name.value, call);
        }
        call.shell.functions.set(node.name.value, node.body);
        return "";
      case "Coproc":
        return this.#apart(
          { ...call, stdin: ANY },
          (inner) => this.body(node.body as FunctionBody, inner),
        );
      default:
        return this.#compound(node, call);
    }
  }

  #compound(node: SyntaxNode, call: Call): string {
    switch (node.type) {
      case "If":
        return this.#branches(
          [[node.clause, node.then], ...node.elif.map((one) => [one.clause, one.then] as const)],
          node.else,
          call,
        );
      case "While":
        return this.#loop(
          call,
          (inner) =>
            this.#statements(node.clause.commands, inner) +
            this.#statements(node.body.commands, inner),
        );
      case "For":
      case "Select":
        return this.#for(node, call);
      case "ArithmeticFor":
        this.recorder.spend((node.body.pos - node.pos) / 2);
        runArithmetic(node.initialize, call, this);
        return this.#loop(call, (inner) => {
          runArithmetic(node.test, inner, this);
          const printed = this.#statements(node.body.commands, inner);
          runArithmetic(node.update, inner, this);
          return printed;
        });
      case "Case":
        return this.#case(node, call);
      case "TestCommand":
        runTest(node.expression, call, this);
        this.#testOfDash(node.expression, call);
        return "";
      case "ArithmeticCommand":
        this.recorder.spend((node.end - node.pos) / 2);
        runArithmetic(node.expression, call, this);
        if (!isPlainArithmetic(node.body)) {
          this.recorder.doubt("shells read this arithmetic differently", node.body, call);
        }
        for (const [, path] of node.body.matchAll(/>\s*([\w./~-]+)/g)) {
          this.recorder.touch("write", path!, call, { guessed: true });
        }
        // dash reads two subshells.
        this.runner.code(node.body, {
          ...call,
          shell: call.shell.fork(),
          supposed: true,
          stdin: "",
        });
        return "";
      default:
        this.recorder.doubt(`the shell construct "${node.type}" is unknown`, call.text, call);
        return ANY;
    }
  }

  /** dash has no `[[`: it reads lists of programs and redirects there. */
  #testOfDash(expression: TestExpression, call: Call): void {
    if (expression.type === "TestBinary" && /^[<>]$/.test(expression.operator)) {
      this.recorder.doubt("dash reads a redirect in this test", expression.right.text, call);
    }
    if (expression.type !== "TestLogical") return;
    for (const [at, operand] of expression.operands.entries()) {
      this.recorder.descend(() => this.#testOfDash(operand, call));
      const program = operand.type === "TestBinary"
        ? operand.left
        : operand.type === "TestUnary"
        ? operand.operand
        : null;
      if (at === 0 || !program) continue;
      // An unknown word is no program that the text has chosen.
      for (const name of expandText(program, this.context(call)).filter(isStatic)) {
        this.runner.command([name], { ...call, shell: call.shell.fork(), supposed: true });
      }
    }
  }

  #pipeline(commands: readonly SyntaxNode[], call: Call): string {
    if (commands.length === 1) return this.node(commands[0]!, call);
    const pipeline = ++this.#pipelines;
    let stdin = call.stdin;
    for (const [stage, command] of commands.entries()) {
      const pipes = [...call.pipes, { pipeline, stage }];
      const given = { ...call, stdin, pipes, source: stage === 0 ? call.source : null };
      let end = call.shell;
      stdin = this.#apart(given, (inner) => {
        end = inner.shell;
        return this.node(command, inner);
      });
      if (stage === commands.length - 1) this.#joinLast(call, end);
    }
    return stdin;
  }

  /** zsh and fish run the last command of a pipeline in the shell itself. */
  #joinLast({ shell }: Call, end: Shell): void {
    const { cwd } = shell;
    shell.join(end);
    if (shell.cwd === cwd) return;
    shell.mayBeIn(shell.cwd);
    shell.cwd = cwd;
  }

  /** The right side may or may not run, so its changes are possible, not certain. */
  #andOr(commands: readonly SyntaxNode[], operators: readonly string[], call: Call): string {
    let printed = this.node(commands[0]!, call);
    const before: string[] = [];
    for (const [at, operator] of operators.entries()) {
      const command = commands[at + 1]!;
      const left = call.shell.previous;
      call.shell.previous = null;
      if (operator === "||") {
        // Any `cd` to the left may have failed.
        for (const folder of before) call.shell.mayBeIn(folder);
        printed += this.#orElse(command, left, call);
        continue;
      }
      if (left !== null) before.push(left);
      const branch = call.shell.fork();
      printed += this.node(command, { ...call, shell: branch });
      call.shell.join(branch);
      call.shell.previous = branch.previous;
    }
    for (const folder of before) call.shell.mayBeIn(folder);
    return printed;
  }

  /** `cd x || exit`: the script continues only if the `cd` succeeded. */
  #orElse(command: SyntaxNode, left: string | null, call: Call): string {
    const branch = call.shell.fork();
    if (left !== null) branch.cwd = left;
    const printed = this.node(command, { ...call, shell: branch });
    if (leaves(command)) return printed;
    const { cwd } = call.shell;
    call.shell.join(branch);
    call.shell.mayBeIn(call.shell.cwd);
    call.shell.cwd = cwd;
    return printed;
  }

  #branches(
    branches: readonly (readonly [SyntaxNode, SyntaxNode])[],
    otherwise: SyntaxNode | undefined,
    call: Call,
  ): string {
    const ends = [];
    let printed = "";
    for (const [clause, then] of branches) {
      printed += this.node(clause, call);
      const shell = call.shell.fork();
      printed += this.node(then, { ...call, shell });
      ends.push(shell);
    }
    if (otherwise) printed += this.node(otherwise, call);
    for (const end of ends) call.shell.join(end);
    return printed;
  }

  /** Runs the body twice if it sets variables, and once for each word that it shifts away. */
  #loop(call: Call, body: (call: Call) => string): string {
    const shell = call.shell.fork();
    const inner = { ...call, shell };
    let { positional } = shell;
    const printed = body(inner);
    while (shell.positional.length < positional.length) {
      ({ positional } = shell);
      body(inner);
    }
    if (shell.positional.join("\0") !== positional.join("\0")) body(inner);
    const before = shell.variables;
    shell.join(call.shell.fork());
    if (!sameVariables(before, call.shell.variables)) body(inner);
    call.shell.join(shell);
    return printed === "" ? "" : printed + ANY;
  }

  #for(node: SyntaxNode & { type: "For" | "Select" }, call: Call): string {
    const context = this.context(call);
    const lists = node.wordlist?.map((word) => expandWord(word, context).flat()) ??
      [call.shell.positional];
    const values = lists.flat();
    if (node.type === "Select") values.push(ANY);
    if (isReadByPrograms(node.name.value)) {
      this.recorder.doubt("other programs read this variable", node.name.value, call);
    }
    call.shell.assign(node.name.value, values.length > 0 ? values : [""]);
    return this.#loop(call, (inner) => this.#statements(node.body.commands, inner));
  }

  #case(node: SyntaxNode & { type: "Case" }, call: Call): string {
    const context = this.context(call);
    expandText(node.word, context);
    let printed = "";
    const ends = [];
    for (const item of node.items) {
      this.recorder.spend(8 + call.shell.variables.size / 4);
      for (const pattern of item.pattern) expandText(pattern, context);
      const shell = call.shell.fork();
      printed += this.#statements(item.body.commands, { ...call, shell });
      ends.push(shell);
    }
    for (const end of ends) call.shell.join(end);
    return printed;
  }

  #redirected(node: SyntaxNode & { type: "Redirected" }, call: Call): string {
    const { stdin, source, capture } = this.redirect(node.redirects, call);
    const printed = this.node(node.command, stdin === null ? call : { ...call, stdin, source });
    return capture(printed);
  }

  /** Applies redirections: returns the new input and what captures the output. */
  redirect(redirects: readonly Redirection[], call: Call) {
    if (redirects.length === 0) return UNCHANGED;
    return redirect(redirects, call, this.context(call), this.recorder);
  }

  /** The context of word expansion in this call. */
  context(call: Call): Context {
    return new CallContext(this, call);
  }

  /** Runs a substitution in a subshell and returns its output. */
  substitution(script: ParsedScript, call: Call): string {
    this.recorder.spend(8);
    if (script.errors?.length) {
      this.recorder.doubt("a substitution cannot be parsed", call.text, call);
    }
    return this.#apart({ ...call, pipes: [] }, (inner) => this.#statements(script.commands, inner));
  }

  /** Runs a process substitution and returns the name of its pipe. */
  connect(script: ParsedScript, operator: "<" | ">", call: Call): string {
    this.recorder.spend(8);
    const name = `/dev/fd/${63 - (this.#pipelines++ % 32)}`;
    const stdin = operator === ">" ? ANY : call.stdin;
    const given = { ...call, stdin, pipes: [] };
    const printed = this.#apart(given, (inner) => this.#statements(script.commands, inner));
    if (operator === "<") call.shell.files.set(name, printed);
    return name;
  }
}

/** The parts of one call that word expansion needs. */
class CallContext implements Context {
  constructor(readonly interpreter: Interpreter, readonly call: Call) {}

  get shell(): Shell {
    return this.call.shell;
  }

  spend(work: number): void {
    this.interpreter.recorder.spend(work);
  }

  substitute(script: ParsedScript): string {
    return this.interpreter.substitution(script, this.call);
  }

  connect(script: ParsedScript, operator: "<" | ">"): string {
    return this.interpreter.connect(script, operator, this.call);
  }

  arithmetic(expression: ArithmeticExpression | undefined): void {
    runArithmetic(expression, this.call, this.interpreter);
  }

  reevaluate(text: string): void {
    this.interpreter.recorder.reevaluate(text, this.call);
  }

  compute(text: string): void {
    this.reevaluate(text);
    for (const value of this.shell.valuesIn(text)) this.reevaluate(value);
  }

  doubt(reason: string, text: string): void {
    this.interpreter.recorder.doubt(reason, text, this.call);
  }
}

/** Functions that bash or zsh calls at its own events. */
const CALLED =
  /^(command_not_found_handler?|TRAP[A-Z]+|precmd|preexec|chpwd|periodic|zshexit|zshaddhistory|zsh_directory_name|prompt_command)$/;

/** Whether a command leaves the script or loop, as in `cd x || exit`. */
function leaves(node: SyntaxNode): boolean {
  if (node.type === "BraceGroup") {
    const last = node.body.commands.at(-1)?.command;
    return last !== undefined && leaves(last);
  }
  return node.type === "Command" && /^(exit|return|break|continue)$/.test(node.name?.value ?? "");
}

function sameVariables(a: SharedMap<Variable>, b: SharedMap<Variable>): boolean {
  return a.shares(b) || a.size === b.size && [...a].every(([name, value]) => b.get(name) === value);
}
