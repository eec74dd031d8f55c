import { isUnknownWord } from "../shown/command_text.ts";
import { quote } from "../shown/quote.ts";
import { evaluateBelow } from "./below_rules.ts";
import { type CommandRule, isBare, isVariable, matchUnit } from "./command_match.ts";
import type { CompiledPolicy, Decide } from "./policy.ts";
import { builtin, byDefault, type Finding, findingOf, hasMatch } from "./finding.ts";
import { DEEP, isStatic, isWild, show } from "./holes.ts";
import { evaluateGitLinks } from "./git_links.ts";
import { evaluateNames } from "./name_rules.ts";
import { type NamedPaths, namedPaths } from "./named_paths.ts";
import { evaluateAccess, evaluateRead, OF_A_PROCESS, throughProcess } from "./path_rules.ts";
import { findUnproved, proveCommand } from "./proof_rules.ts";
import { HEAD, isInDependencies, isProtectedName, protectBrought } from "./protect.ts";
import { mayBeGate, protectGate } from "./protect_command.ts";
import { findObstacles } from "./obstacles.ts";
import { isOwn } from "./own_tmp.ts";
import type { CommandRequest, EvaluationOptions, PathFacts, Surroundings } from "./request.ts";
import type { Analysis } from "./schema.ts";
import { analyse } from "./interpret/analyse.ts";
import { isDescribed } from "./programs/described.ts";
import { baseName, lastName, readCommand } from "./programs/grammar.ts";
import { evaluateHeld } from "./held_rules.ts";
import { filesOf } from "./interpret/globs.ts";
import { absolutePath, seenFrom } from "./interpret/state.ts";
import { wordsIn } from "./interpret/suspects.ts";
import type { CommandAnalysis, Doubt, Effect, Suspect, Unit } from "./interpret/unit.ts";
import { matchOwnTool, matchTools } from "./tool_rules.ts";
import { evaluateTracked } from "./tracked_rules.ts";
import { evaluateWritten } from "./written_rules.ts";

/** Evaluates a command: each program in it, each file that it touches, and the tool rules. */
export const decideCommand: Decide<CommandRequest> = (policy, request, options) => {
  const { command, cwd } = request;
  const { user_home, script } = options;
  const analysed = analyse(command, { cwd, user_home, script });
  const { units, effects, doubts, suspects } = analysed;
  // Only the plain name matches a host's own shell; it is no tool of the gate.
  const tool = policy.tools.length === 0
    ? []
    : request.tool === undefined
    ? matchTools(policy, { tool: "run_command", input: { ...request } })
    : matchOwnTool(policy, { tool: request.tool, input: { ...request } });
  const linked = evaluateGitLinks(policy, units, options);
  const named = withRead(namedPaths(analysed, cwd), linked.targets);
  const findings = [...doubts.map(toFinding), ...linked.findings];
  const process = named.paths.find((path) => path.startsWith("/proc/") && OF_A_PROCESS.test(path));
  if (process !== undefined) findings.push(throughProcess(process));
  const evaluated = {
    units,
    possible: new Set<CommandRule>(),
    met: new Set<string>(),
    around: options,
  };
  const may_be_gate = mayBeGate(named.words, options);
  for (const written of units) {
    evaluateUnit(policy, written, evaluated, may_be_gate, findings);
    for (const unit of behindLinks(written, options)) {
      evaluateUnit(policy, unit, evaluated, true, findings);
    }
  }
  const evaluateFile = (effect: Effect) => {
    const found = evaluateEffect(policy, effect, options);
    return markWalled(effect.guessed ? found.map(atMostAsk) : found, effect, options);
  };
  for (const effect of effects) {
    if (options.is_guest && isElsewhere(effect, options)) continue;
    const certain = effect.tracked
      ? evaluateTracked(policy, effect, options, { units, makes: makesRepository(analysed) })
      : effect.holds
      ? evaluateHeld(effect, analysed, options, evaluateFile)
      : evaluateFile(effect);
    const found = effect.guessed ? certain.map(atMostAsk) : certain;
    // For an unknown path the unknown part explains more than the command around it.
    if (isWild(effect.path)) findings.push(...found);
    else for (const one of found) findings.push({ ...one, text: effect.text });
  }
  for (const one of suspects) findings.push(...evaluateSuspect(policy, one, options));
  findings.push(...evaluateNames(analysed, options), ...tool);
  const isDenied = () => findings.some(({ effect }) => effect === "deny");
  if (analysed.is_cut && !isDenied()) findings.push(...evaluateWritten(policy, request, options));
  const is_denied = isDenied();
  const proof = is_denied || options.is_guest
    ? undefined
    : proveCommand(request, analysed, options);
  const obstacles = options.sandbox
    ? () => findObstacles(policy, request, analysed, options)
    : undefined;
  const known = { analysis: toAnalysis(analysed, cwd), units, named, proof, obstacles };
  // If a tool rule matches, the default does not apply.
  if (tool.length > 0) return { findings: findings.filter(({ rule }) => rule !== null), ...known };
  if (findings.length === 0) {
    const isProved = proof !== undefined && "proved" in proof;
    const runs_none = isProved && units.every(({ argv }) => STARTS_NOTHING.test(argv.join(" ")));
    findings.push(runs_none ? RUNS_NONE : byDefault(policy.defaultEffect, "this command"));
  }
  // With the default `allow`, a person chose to allow every command that is not suspicious.
  if (policy.defaultEffect === "allow" || !proof) return { findings, ...known };
  return { findings: [...findings, ...findUnproved(command, proof)], ...known };
};

const STARTS_NOTHING = /^(cd(?= |$)|command -v )/;

/** A proved text that starts no program, such as `cd src` or `command -v node` alone. */
const RUNS_NONE: Finding = {
  effect: "allow",
  rule: null,
  reason: "It runs no program",
  alternative: null,
};

/** The paths with those that the command reads by links in git's folder. */
function withRead(named: NamedPaths, read: readonly string[]): NamedPaths {
  const accesses = read.map((path) => ({ access: "read" as const, path }));
  return {
    ...named,
    paths: [...named.paths, ...read],
    accesses: [...named.accesses, ...accesses],
  };
}

/** The state that the evaluations of all units of a command share. */
interface Evaluated {
  units: readonly Unit[];
  /** The rules that a unit with an unknown program may match: of several, one asks. */
  possible: Set<CommandRule>;
  /** The words of the units with an unknown program, which the rules about one program have met. */
  met: Set<string>;
  around: Surroundings;
}

/** Whether the command writes files that gate cannot see yet, a repository perhaps among them. */
function makesRepository({ effects }: CommandAnalysis): boolean {
  return effects.some(({ op, path }) => op !== "read" && !DEVICES.test(path));
}

/** Whether an effect is outside of every root, so that the rules of its own project decide about it. */
function isElsewhere({ op, path, walked }: Effect, { roots, resolve }: Surroundings): boolean {
  if (!isStatic(path)) return false;
  const { lexical, real } = resolve(walked ?? path);
  const isInside = (root: string) =>
    [lexical, real].some((one) => one === root || one.startsWith(`${root}/`));
  const isAbove = (root: string) => op === "delete" && root.startsWith(`${real}/`);
  return !roots.some((root) => isInside(root) || isAbove(root));
}

function toFinding({ reason, unknown, text }: Doubt): Finding {
  const part = text === "" ? "" : `: ${show(text).slice(0, 200)}`;
  return { ...builtin("ask", "unresolved", "$…", reason + part), unknown, text };
}

/** The programs that a path leads to through links, so that rules about them match. */
function behindLinks(unit: Unit, { resolve }: Surroundings): readonly Unit[] {
  if (!unit.argv[0]?.includes("/")) return NO_UNITS;
  const [program, ...args] = unit.argv;
  const places = unit.folders.map((folder) =>
    program.startsWith("/") ? program : `${folder}/${program}`
  );
  return [...new Set(places)].filter(isStatic).flatMap((place) => {
    const { real } = resolve(place);
    const name = baseName(real);
    if (name === baseName(program)) return [];
    const argv = [real, ...args];
    const spelled = argv.join("\0");
    return [{ ...unit, argv, spelled, read: readCommand(name, args), passive: true }];
  });
}

const NO_UNITS: readonly Unit[] = [];
const MOST_NAMES = 24;
const MOST_LETTERS = 256;

/** Whether a word may name a file: it has a dot, a slash or a tilde, and a letter or digit. */
function isPathLike(word: string): boolean {
  return word.length <= MOST_LETTERS && /[./~]/.test(word) && /\w/.test(word);
}

/** The rules that forbid a program or a file which a text names; they only ask. */
function evaluateSuspect(
  policy: CompiledPolicy,
  { text, folder, from, files_only, undescribed }: Suspect,
  around: EvaluationOptions,
): Finding[] {
  const tokens = wordsIn(text);
  const programs = (files_only ? [] : tokens).flatMap(({ word, begins }, at) => {
    const rules = policy.commands.naming(baseName(word).toLowerCase());
    if (rules.length === 0) return [];
    const argv = tokens.slice(at, at + 12).map((one) => one.word);
    const unit = {
      ...SUPPOSED,
      argv,
      spelled: argv.join("\0"),
      read: readCommand(baseName(word), argv.slice(1)),
    };
    return rules.filter(({ compiled }) =>
      (begins || word.includes("/") || !isBare(compiled)) &&
      matchUnit(compiled, unit, [], true) === "yes"
    ).map(findingOf);
  });
  const names = tokens.filter(({ word }) => isPathLike(word));
  const files = names.slice(0, MOST_NAMES).flatMap(({ word }) => {
    const full = word.startsWith("~/") ? `${around.user_home}${word.slice(1)}` : word;
    const facts = around.resolve(absolutePath(full, folder));
    if (isDevice(facts)) return [];
    // Two slashes are the rest of an address.
    const anywhere = undescribed && !word.startsWith("//");
    const [read, write] = [
      evaluateRead(policy, facts, around),
      mayWrite(policy, facts, around, anywhere),
    ].map((found) => found.map((one) => ({ ...atMostAsk(one), unsure: true })));
    const { lexical: path } = facts;
    return [
      ...markWalled(read!, { op: "read", path }, around),
      ...markWalled(write!, { op: "write", path }, around),
    ];
  });
  return [...programs, ...files].map((one) => ({
    ...atMostAsk(one),
    reason: `${one.reason} (a text that may run names it)`,
    unsure: true,
    text: from,
  }));
}

const SUPPOSED = {
  pipes: [],
  passive: true,
  supposed: true,
  task: false,
  folders: [],
  text: "",
};

/** Adds the findings about one program. */
function evaluateUnit(
  policy: CompiledPolicy,
  unit: Unit,
  evaluated: Evaluated,
  may_be_gate: boolean,
  findings: Finding[],
): void {
  for (const finding of judgeUnit(policy, unit, evaluated, may_be_gate)) {
    finding.text = unit.text;
    finding.about = { unit };
    findings.push(finding);
  }
}

function judgeUnit(
  policy: CompiledPolicy,
  unit: Unit,
  { units, possible, met, around }: Evaluated,
  may_be_gate: boolean,
): Finding[] {
  const found = protectGate(unit, around, may_be_gate);
  const [program = ""] = unit.argv;
  const isUnknown = !isVariable(program) && !isStatic(lastName(program));
  for (
    const rule of isUnknown ? rulesNotMet(policy, unit, met) : policy.commands.candidates(unit)
  ) {
    const { compiled, effect, reason } = rule;
    if (effect === "allow" && unit.supposed) continue;
    const isPossible = isUnknown && policy.commands.isOfOneProgram(rule);
    if (isPossible && (effect === "allow" || possible.has(rule))) continue;
    const match = matchUnit(compiled, unit, units, effect !== "allow");
    if (match === "yes" && !unit.supposed) found.push(findingOf(rule));
    else if (match !== "no" && effect !== "allow") {
      if (isPossible) possible.add(rule);
      const may =
        `The rule "${rule.rule.pattern}" may match a part that gate cannot tell: ${reason}`;
      found.push({ ...findingOf(rule), effect: "ask", reason: may, unsure: true });
    }
  }
  if (unit.passive || hasMatch(found)) return found;
  found.push(...renamed(policy, unit));
  found.push(byDefault(policy.defaultEffect, `"${shortened(unit.argv)}"`));
  return found;
}

/**
 * The rules that may match a program of unknown name. One that may be any program meets the rules
 * about one program once for the same words: the name decides nothing.
 */
function rulesNotMet(
  { commands }: CompiledPolicy,
  unit: Unit,
  met: Set<string>,
): readonly CommandRule[] {
  const [program = "", ...words] = unit.argv;
  const key = isWild(lastName(program)) && unit.pipes.length === 0 ? words.join("\0") : null;
  if (key !== null && met.has(key)) return commands.open;
  if (key !== null) met.add(key);
  return commands.candidates(unit);
}

const MOST_SHOWN = 200;

/** The first words of a command, for a person. */
function shortened(argv: readonly string[]): string {
  let text = "";
  for (const [at, word] of argv.entries()) {
    if (text.length >= MOST_SHOWN) break;
    const shown = isUnknownWord(word) ? word : quote(show(word));
    text += at === 0 ? shown : ` ${shown}`;
  }
  return text.slice(0, MOST_SHOWN);
}

/** The rules about other programs, one of which a program that no record describes may be. */
function renamed(policy: CompiledPolicy, unit: Unit): Finding[] {
  if (isDescribed(baseName(unit.argv[0] ?? ""))) return [];
  return policy.commands.renamed(unit).map((rule) => {
    const reason = `${rule.reason} (a program that gate does not know may be the one it names)`;
    return { ...findingOf(rule), effect: "ask", reason, unsure: true };
  });
}

/** Writes and deletes meet all path rules; reads meet only those that block or ask. */
function evaluateEffect(policy: CompiledPolicy, effect: Effect, around: Surroundings): Finding[] {
  if (effect.on_disk && !around.list) return [];
  const below = effect.op === "read" && !effect.reveals && effect.path.includes(DEEP)
    ? evaluateBelow(policy, effect, around)
    : null;
  if (below) return below;
  const files = effect.walked === undefined && !isStatic(effect.path)
    ? around.list && filesOf(effect.path, around.list, { reads: effect.op === "read" })
    : null;
  if (files && effect.op !== "read") {
    // A glob may find a link, and it may find nothing and be a name itself.
    const found = files.flatMap((path) => evaluateEffect(policy, { ...effect, path }, around));
    return [...found, ...evaluateEffect(policy, effect, { ...around, list: undefined })];
  }
  if (files) {
    const found = files.flatMap((path) => evaluateEffect(policy, { ...effect, path }, around));
    return effect.undescribed ? found.map((one) => ({ ...one, unsure: true })) : found;
  }
  const facts = around.resolve(effect.walked ?? effect.path);
  // A program that deletes or moves a device takes it from all others.
  if (effect.op !== "delete" && isDevice(facts)) return [];
  if (effect.op === "read") {
    const found = evaluateRead(policy, facts, around).filter((one) => isRevealed(one, effect));
    if (!effect.unexplained) return found;
    const written = mayWrite(policy, facts, around, effect.undescribed);
    return [
      ...found,
      ...effect.undescribed ? written.map((one) => ({ ...one, unsure: true })) : written,
    ];
  }
  const found = evaluateAccess(policy, effect.op, facts, around);
  if (effect.brings) found.push(...protectBrought(facts, around));
  const forbidden = () => found.filter((one) => one.rule !== null && one.effect !== "allow");
  if (effect.guessed) return forbidden().map(atMostAsk);
  if (effect.implied) return forbidden();
  return effect.uncertain ? found.map(atMostAsk) : found;
}

/**
 * Marks the findings that a sandbox answers: it hides or protects the file, a person opened the
 * folder around it, or the session has a folder of its own in its place. A certain match of an ask
 * rule is never marked, because a person wants to be asked. A write of a named file that does not
 * exist yet is not marked: it cannot be protected.
 */
function markWalled(
  found: Finding[],
  { op, path }: Pick<Effect, "op" | "path">,
  { sandbox, list, resolve }: EvaluationOptions,
): Finding[] {
  if (!sandbox) return found;
  // The sandbox keeps no files in a folder that does not exist.
  const isInOpenedFolder = () => {
    const { real } = resolve(path);
    return (sandbox.folders ?? []).some((folder) =>
      (real.startsWith(`${folder}/`) || (op !== "delete" && real === folder)) &&
      exists(folder, list)
    );
  };
  return found.map((one) => {
    const { rule, effect, unsure, reason } = one;
    const isOutside = rule?.list === "outside-root" && effect !== "allow";
    if (isOutside && isOwn(path, { sandbox, resolve })) {
      const more = `${reason}, in /tmp, which is the session's own in the sandbox`;
      return { ...one, effect: "ask", reason: more, is_walled: true, denied: one };
    }
    if (
      isOutside && sandbox.folders && sandbox.engine !== "bubblewrap" && path.startsWith("/tmp/")
    ) {
      return { ...one, alternative: IN_TMPDIR };
    }
    if (isOutside && isInOpenedFolder()) {
      const more = `${reason}, in a folder that commands in the sandbox may write`;
      return { ...one, effect: "ask", reason: more, is_walled: true };
    }
    // A program that may write a guarded file finds it read-only.
    if (rule?.list === "never-automatic" && (op === "read" || unsure === true)) {
      return { ...one, is_walled: isKept(path) && exists(resolve(path).real, list) };
    }
    const possible = effect === "ask" &&
      (rule?.list === "blockedPaths" || (rule?.list === "askPaths" && unsure === true));
    if (!possible) return one;
    const is_walled = op === "read" || !isStatic(path) || exists(resolve(path).real, list);
    return { ...one, is_walled };
  });
}

/** Without mounts, variables lead to the session's own folder. */
const IN_TMPDIR = "Write below $TMPDIR, a folder of this session in the sandbox, or in the project";

/** Whether the sandbox keeps the file at this path by its name. It keeps only parts of git's folder. */
function isKept(path: string): boolean {
  const name = baseName(path);
  return isStatic(path) && name !== ".git" && isProtectedName(name) && !isInDependencies(path);
}

function exists(path: string, list: EvaluationOptions["list"]): boolean {
  const at = path.lastIndexOf("/");
  return (list?.(path.slice(0, at) || "/") ?? []).some(({ name }) => name === path.slice(at + 1));
}

/** Whether a rule about reading concerns a program that shows no content. */
function isRevealed({ rule, unsure }: Finding, { reveals }: Effect): boolean {
  if (reveals === "names") return rule?.source === "builtin";
  return reveals === undefined || !unsure;
}

/** The rules that name a file which a program may write; they only ask. */
function mayWrite(
  policy: CompiledPolicy,
  facts: PathFacts,
  around: Surroundings,
  anywhere = false,
): Finding[] {
  const names = (list: string) => !VAGUE.has(list) || (anywhere && list === "outside-root");
  return evaluateAccess(policy, "write", facts, around)
    .filter(({ rule, effect }) =>
      rule !== null && effect !== "allow" && names(rule.list) && rule.pattern !== HEAD
    )
    .map(atMostAsk);
}

/** Rules that name no file. */
const VAGUE = new Set(["outside-root", "malformed-path", "unresolved"]);

/** The command may not touch the file at all, so a rule that denies only asks. */
function atMostAsk(finding: Finding): Finding {
  const weakens = finding.effect === "deny" && finding.rule !== null;
  return weakens ? { ...finding, effect: "ask" } : finding;
}

function toAnalysis(
  { units, effects, unresolved, is_cut }: CommandAnalysis,
  cwd: string,
): Analysis {
  const [read, written, deleted] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const { op, path, implied, uncertain, guessed } of effects) {
    if (implied || uncertain || guessed) continue;
    const paths = op === "read" ? read : op === "write" ? written : deleted;
    paths.add(show(seenFrom(path, cwd)));
  }
  const commands: string[][] = [];
  for (const { supposed, argv } of units) {
    if (!supposed && !/^\w+=/.test(argv[0] ?? "")) commands.push(argv.map(show));
  }
  return {
    commands,
    reads: [...read],
    writes: [...written],
    deletes: [...deleted],
    unresolved: unresolved.length === 0 ? [] : [...new Set(unresolved)],
    ...is_cut && { is_cut },
  };
}

const DEVICES = /^\/dev\/(null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd\/\d+)$/;
/** Links to the standard streams of the process. */
const STREAMS = /^\/dev\/(stdin|stdout|stderr|fd\/\d+)$/;

/** Devices that keep nothing, unless a link leads to or from them. */
function isDevice({ lexical, real }: PathFacts): boolean {
  return lexical.startsWith("/dev/") && DEVICES.test(lexical) &&
    (DEVICES.test(real) || STREAMS.test(lexical));
}
