import { builtin, type Finding } from "./finding.ts";
import { ANY, isStatic, show } from "./holes.ts";
import { absolutePath, walkedPath } from "./interpret/state.ts";
import type { CommandAnalysis, Effect, Held } from "./interpret/unit.ts";
import { isComputing } from "./programs/computing.ts";
import { baseName } from "./programs/grammar.ts";
import { namesInArguments, namesInList } from "./programs/operands.ts";
import { filesOfPatch } from "./programs/patches.ts";
import { PLAIN } from "./programs/words.ts";
import type { Surroundings } from "./request.ts";

const MOST_NAMES = 256;

/**
 * The findings about a program that does what a file says: about each file that a list names, or
 * about code that does more than compute. A text that is unknown, or that the same command may still
 * change, may name any file. Without a view of the disk nobody runs the command.
 */
export function evaluateHeld(
  effect: Effect,
  analysed: CommandAnalysis,
  { read, list, resolve }: Surroundings,
  evaluate: (effect: Effect) => Finding[],
): Finding[] {
  const { holds, walked: _, ...plain } = effect;
  if (!list) return [];
  const path = effect.walked ?? effect.path;
  const isKnown = isStatic(path) && isSettled(effect, analysed, (one) => resolve(one).real);
  const text = isKnown ? read?.(path) ?? null : null;
  if (holds!.as === "code") {
    const program = holds!.program;
    if (text !== null && isComputing(program, text)) return [];
    const why = `gate cannot tell what the code in "${show(path)}" does`;
    const finding = builtin("ask", "unresolved", "$…", why);
    return [{ ...finding, unknown: "code", text: effect.text }];
  }
  const names = text === null ? [ANY] : namesIn(text, holds!);
  return (names.length > MOST_NAMES ? [ANY] : names).flatMap((name) => {
    const walked = walkedPath(name, effect.from!);
    const op = holds!.as === "patch" ? "write" as const : effect.op;
    const named = { ...plain, op, path: absolutePath(name, effect.from!) };
    return evaluate(walked === undefined ? named : { ...named, walked });
  });
}

function namesIn(text: string, { as, starts = [""] }: Held): string[] {
  if (as === "arguments") return namesInArguments(text);
  const names = as === "patch" ? filesOfPatch(text) : namesInList(text);
  return names.flatMap((name) =>
    name.startsWith("/") || name === ANY ? [name] : starts.map((start) => `${start}${name}`)
  );
}

/** Whether no other part of the command may write the file. */
function isSettled(
  { path, text }: Effect,
  { units, effects }: CommandAnalysis,
  realOf: (path: string) => string,
): boolean {
  const real = realOf(path);
  const isWritten = effects.some((one) =>
    one.op !== "read" && (!isStatic(one.path) || real.startsWith(realOf(one.path)))
  );
  return !isWritten &&
    units.every((unit) =>
      unit.supposed || unit.text === text || PLAIN.has(baseName(unit.argv[0] ?? ""))
    );
}
