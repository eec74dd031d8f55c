import type { Call, Runner } from "./call.ts";
import { GRAMMARS } from "./grammar.ts";
import { has, readOptions, type Spec, spec } from "./options.ts";

/** Commands of git's that put files back, remove or move them. */
const PATHS: Record<string, Spec> = {
  checkout: GRAMMARS.git!.subcommands!.checkout as Spec,
  restore: spec(
    "-s,--source= -S,--staged -W,--worktree -p -q --ours --theirs -m --pathspec-from-file=",
  ),
  rm: GRAMMARS.git!.subcommands!.rm as Spec,
  mv: spec("-f,--force -k -n,--dry-run -v"),
};

/** Notes the files that a command of git's puts back, removes or moves. */
export function touchPaths(name: string, args: string[], call: Call, run: Runner): void {
  const grammar = Object.hasOwn(PATHS, name) ? PATHS[name] : undefined;
  if (!grammar) return;
  const parsed = readOptions(args, grammar);
  const { operands } = parsed;
  const onlyIndex = has(parsed, "staged") && !has(parsed, "worktree");
  if (has(parsed, "dry-run", "cached") || onlyIndex) return;
  if (name === "checkout") {
    if (!has(parsed, "b", "B", "orphan")) checkOut(args, operands, call, run);
    return;
  }
  const op = name === "restore" ? "write" : "delete";
  for (const path of name === "mv" ? operands.slice(0, -1) : operands) run.touch(op, path, call);
  if (name === "mv" && operands.length > 1) run.touch("write", operands.at(-1)!, call);
}

function checkOut(args: string[], operands: string[], call: Call, run: Runner): void {
  const dashes = args.indexOf("--");
  const certain = dashes < 0 ? operands.slice(1) : args.slice(dashes + 1);
  for (const path of certain) run.touch("write", path, call);
  // The first may be a branch as well as a file.
  if (dashes < 0 && operands[0]) run.touch("write", operands[0], call, { implied: true });
}
