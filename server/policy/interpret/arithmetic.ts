import {
  type ArithmeticExpression,
  forEachChild,
  type ParsedScript,
  type TestExpression,
} from "unbash";
import { TAME } from "../holes.ts";
import type { Call } from "./call.ts";
import { type Context, expandText } from "./expand.ts";
import type { Recorder } from "./recorder.ts";

/** The part of the interpreter that expansions use. */
export interface Expander {
  readonly recorder: Recorder;
  context(call: Call): Context;
  substitution(script: ParsedScript, call: Call): string;
}

/** Runs the substitutions in an arithmetic expression; bash also evaluates the values of variables. */
export function runArithmetic(
  expression: ArithmeticExpression | undefined,
  call: Call,
  interpreter: Expander,
): void {
  if (!expression) return;
  interpreter.recorder.descend(() => runPart(expression, call, interpreter));
}

function runPart(expression: ArithmeticExpression, call: Call, interpreter: Expander): void {
  if (expression.type === "ArithmeticCommandExpansion") {
    if (expression.script) interpreter.substitution(expression.script, call);
  } else if (expression.type === "ArithmeticWord") {
    const word = { ...expression, type: "Word" as const, text: expression.value };
    const texts = expression.parts ? expandText(word, interpreter.context(call)) : [word.value];
    for (const text of texts) {
      if (/\$\(|`/.test(text)) interpreter.recorder.reevaluate(text, call);
      for (const value of call.shell.valuesIn(text)) interpreter.recorder.reevaluate(value, call);
    }
  } else {
    const changed = changedBy(expression);
    if (changed !== null) call.shell.assign(changed, [TAME]);
    forEachChild(
      expression,
      (one) => runArithmetic(one as ArithmeticExpression, call, interpreter),
    );
  }
}

/** The name that an expression sets, as in `i++` and `i = 2`. */
function changedBy(expression: ArithmeticExpression): string | null {
  const target = expression.type === "ArithmeticUnary" && /^(\+\+|--)$/.test(expression.operator)
    ? expression.operand
    : expression.type === "ArithmeticBinary" && /^([^=!<>]?|<<|>>)=$/.test(expression.operator)
    ? expression.left
    : null;
  return target?.type === "ArithmeticWord" ? /^\w+/.exec(target.value)?.[0] ?? null : null;
}

/** Runs the substitutions in `[[ … ]]`. */
export function runTest(expression: TestExpression, call: Call, interpreter: Expander): void {
  const context = interpreter.context(call);
  if (expression.type === "TestUnary") {
    const texts = expandText(expression.operand, context);
    if (/^-[vRt]$/.test(expression.operator)) { for (const text of texts) context.compute(text); }
    return;
  }
  if (expression.type !== "TestBinary") {
    const { recorder } = interpreter;
    forEachChild(
      expression,
      (one) => recorder.descend(() => runTest(one as TestExpression, call, interpreter)),
    );
    return;
  }
  const texts = [expression.left, expression.right].flatMap((word) => expandText(word, context));
  if (!/^-(eq|ne|lt|le|gt|ge)$/.test(expression.operator)) return;
  for (const text of texts) context.compute(text);
}
