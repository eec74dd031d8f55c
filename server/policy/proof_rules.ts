import { builtin, type Finding, UNPROVED } from "./finding.ts";
import { isStatic, show, STAR } from "./holes.ts";
import type { CommandAnalysis, Unit } from "./interpret/unit.ts";
import { findMovedLink } from "./moved_links.ts";
import { STAR as UNQUOTED_STAR, testOf } from "./prove/globs.ts";
import { prove } from "./prove/prove.ts";
import {
  commandsOf,
  type Proof,
  type ProvedCommand,
  type ProvedList,
  type Span,
} from "./prove/proved.ts";
import type { CommandRequest, Surroundings } from "./request.ts";

/**
 * Proves a command that is to be allowed, with the shell code that its programs run. Two readers
 * that share no code must agree: each proved command is one that the interpreter found, in each folder
 * in which it may run, and that the rules have judged.
 */
export function proveCommand(
  { command, cwd }: CommandRequest,
  { units, codes, is_cut }: Pick<CommandAnalysis, "units" | "codes" | "is_cut">,
  around: Surroundings,
): Proof {
  if (is_cut) return unproved("a part that gate did not analyse", [0, command.length]);
  const judged = units.filter(({ supposed }) => !supposed);
  const proof = proveText(command, cwd, around);
  if ("unproved" in proof) return proof;
  const known = new Map<string, Unit[]>();
  for (const unit of judged) {
    const key = show(unit.spelled);
    const same = known.get(key);
    if (same) same.push(unit);
    else known.set(key, [unit]);
  }
  const isJudged = (one: ProvedCommand) => {
    // A proved word has no zero byte, so words and their number tell the same command.
    const spelled = known.get(one.written.join("\0"))
      ?.filter(({ argv }) => argv.length === one.written.length);
    const same = spelled?.length ? spelled : judged.filter(({ argv }) => isSame(argv, one));
    return same.length > 0 &&
      one.folders.every((folder) => same.some((unit) => unit.folders.includes(folder)));
  };
  const other = commandsOf(proof.proved).find((one) => !isJudged(one));
  if (other) return unproved("a text that gate reads in two ways", other.span);
  const inner: ProvedList[] = [];
  for (const { text, folder } of codes) {
    const found = proveText(text, folder, around);
    const isProved = "proved" in found && commandsOf(found.proved).every(isJudged);
    if (!isProved) {
      const why = "unproved" in found
        ? found.unproved.reason
        : "a text that gate reads in two ways";
      return unproved(`the code "${text.slice(0, 80)}" has ${why}`, [0, command.length]);
    }
    inner.push(found.proved);
  }
  const moved = findMovedLink([proof.proved, ...inner], judged, around);
  if (moved) return unproved(moved.reason, moved.span);
  return proof;
}

function proveText(
  text: string,
  cwd: string,
  { user_home, list, resolve }: Surroundings,
): Proof {
  const proof = prove(text, { cwd, user_home, list });
  if ("unproved" in proof || !list) return proof;
  const folder = commandsOf(proof.proved).find((one) => isFolder(one, { list, resolve }));
  return folder ? unproved("a folder in the place of a program", folder.span) : proof;
}

function unproved(reason: string, span: Span): Proof {
  return { unproved: { reason, span } };
}

/** Whether the program is a folder, into which fish and an option of zsh would change. */
function isFolder(
  { argv: [program], folders }: ProvedCommand,
  { list, resolve }: Pick<Required<Surroundings>, "list" | "resolve">,
): boolean {
  if (!program.includes("/")) return false;
  return folders.some((folder) => {
    const { real } = resolve(program.startsWith("/") ? program : `${folder}/${program}`);
    const at = real.lastIndexOf("/");
    const around = list(real.slice(0, at) || "/") ?? [];
    return around.some(({ name, kind }) => name === real.slice(at + 1) && kind === "folder");
  });
}

/** Whether the interpreter's words, in which globs are holes, are those of the proved command. */
function isSame(argv: readonly string[], { written }: ProvedCommand): boolean {
  return argv.length === written.length && argv.every((word, at) => {
    const given = written[at]!;
    if (isStatic(word)) return word === given;
    const glob = word.replaceAll(STAR, UNQUOTED_STAR);
    return show(word) === given || (isStatic(glob) && testOf(glob)(given));
  });
}

/** The finding about a command that is not proved. It only asks, and a person's answer settles it. */
export function findUnproved(command: string, proof: Proof): Finding[] {
  if ("proved" in proof) return [];
  const { reason, span: [from, to] } = proof.unproved;
  const text = command.slice(from, to);
  const why = `The command cannot be proved: ${reason}`;
  return [{ ...builtin("ask", UNPROVED, "$…", why), text }];
}
