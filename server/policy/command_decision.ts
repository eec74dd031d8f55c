import type { CompiledPolicy } from "./compile.ts";
import { builtin, byDefault, type Finding, hasSpoken } from "./finding.ts";
import { isWild, show } from "./holes.ts";
import { decidePath, judgePlainRead } from "./path_decision.ts";
import type { PathFacts, Surroundings } from "./rule.ts";
import type { Analysis } from "./schema.ts";
import { protectGate } from "./protect_command.ts";
import { seenFrom } from "./shell/paths.ts";
import { compareUnit } from "./shell/rules.ts";
import { understand } from "./shell/understand.ts";
import type { Doubt, Effect, Understanding, Unit } from "./shell/unit.ts";
import { judgeOwnTool, judgeTool } from "./tool_decision.ts";

/** Decides on a command: the strictest finding on any program in it, any file it touches. */
export function decideCommand(
  policy: CompiledPolicy,
  request: { command: string; cwd: string; tool?: string },
  around: Surroundings,
): { findings: Finding[]; analysis: Analysis; units: Unit[] } {
  const setting = { cwd: request.cwd, user_home: around.user_home, script: around.script };
  const understood = understand(request.command, setting);
  // A host's own shell is no tool of the gate's: only the plain name speaks of it.
  const tool = request.tool === undefined
    ? judgeTool(policy, { tool: "run_command", input: request }, false)
    : judgeOwnTool(policy, { tool: request.tool, input: request });
  const findings = [
    ...understood.doubts.map(toFinding),
    ...understood.units.flatMap((unit) =>
      judgeUnit(policy, unit, understood.units, around)
        .map((finding) => ({ ...finding, text: unit.text, about: { unit } }))
    ),
    ...understood.effects.flatMap((effect) => {
      const found = judgeEffect(policy, effect, around);
      // Of a path that nobody knows, the part that is not known says more.
      return isWild(effect.path) ? found : found.map((one) => ({ ...one, text: effect.text }));
    }),
    ...tool,
  ];
  const told = { analysis: analysisOf(understood, request.cwd), units: understood.units };
  if (tool.length > 0) return { findings: spoken(findings), ...told };
  if (findings.length === 0) findings.push(byDefault(policy.defaultEffect, "this command"));
  return { findings, ...told };
}

/** Where a tool rule speaks, the default does not. */
function spoken(findings: Finding[]): Finding[] {
  return findings.filter((one) => one.rule !== null);
}

function toFinding({ reason, text }: Doubt): Finding {
  const part = text === "" ? "" : `: ${show(text).slice(0, 200)}`;
  return { ...builtin("ask", "unresolved", "$…", reason + part), text };
}

function judgeUnit(
  policy: CompiledPolicy,
  unit: Unit,
  units: Unit[],
  around: Surroundings,
): Finding[] {
  const found = protectGate(unit, around);
  for (const { compiled, rule, effect, reason, alternative } of policy.commands.about(unit)) {
    if (effect === "allow" && unit.supposed) continue;
    const match = compareUnit(compiled, unit, units, effect !== "allow");
    if (match === "yes" && !unit.supposed) found.push({ effect, rule, reason, alternative });
    else if (match !== "no" && effect !== "allow") {
      const told = `${reason} (it may match)`;
      found.push({ effect: "ask", rule, reason: told, alternative, unsure: true });
    }
  }
  if (unit.passive || hasSpoken(found)) return found;
  return [
    ...found,
    byDefault(policy.defaultEffect, `"${unit.argv.map(show).join(" ").slice(0, 200)}"`),
  ];
}

/** Writes and deletes go through the path rules; reads meet only what blocks or asks. */
function judgeEffect(policy: CompiledPolicy, effect: Effect, around: Surroundings): Finding[] {
  const facts = around.resolve(effect.path);
  if (isDevice(facts)) return [];
  if (effect.op === "read") {
    return judgePlainRead(policy.paths, facts, around);
  }
  const setting = { ...around, defaultEffect: policy.defaultEffect };
  const found = decidePath(policy.paths, effect.op, facts, setting);
  const forbidden = () => found.filter((one) => one.rule !== null && one.effect !== "allow");
  if (effect.guessed) return forbidden().map(atMostAsk);
  if (effect.implied) return forbidden();
  return effect.uncertain ? found.map(atMostAsk) : found;
}

/** Nobody knows whether the file is touched at all: a person decides. */
function atMostAsk(finding: Finding): Finding {
  const mere = finding.effect === "deny" && finding.rule !== null;
  return mere ? { ...finding, effect: "ask" } : finding;
}

function analysisOf(understood: Understanding, cwd: string): Analysis {
  const { units, effects, unresolved } = understood;
  const of = (op: Effect["op"]) => {
    const named = effects.filter((one) =>
      one.op === op && !one.implied && !one.uncertain && !one.guessed
    );
    return [...new Set(named.map((one) => show(seenFrom(one.path, cwd))))];
  };
  return {
    commands: units.filter((unit) => !unit.supposed && !/^\w+=/.test(unit.argv[0] ?? "")).map((
      unit,
    ) => unit.argv.map(show)),
    reads: of("read"),
    writes: of("write"),
    deletes: of("delete"),
    unresolved: [...new Set(unresolved)],
  };
}

const DEVICES = /^\/dev\/(null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd\/\d+)$/;

/** Devices that keep nothing, when no link leads to or from them. */
function isDevice(facts: PathFacts): boolean {
  return DEVICES.test(facts.lexical) && (DEVICES.test(facts.real) || isStream(facts.lexical));
}

/** The links under these names lead to whatever the process was given. */
function isStream(path: string): boolean {
  return /^\/dev\/(stdin|stdout|stderr|fd\/\d+)$/.test(path);
}
