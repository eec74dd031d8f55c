import type { CompiledPolicy } from "./compile.ts";
import { builtin, byDefault, type Finding } from "./finding.ts";
import { show } from "./holes.ts";
import { decidePath, judgePath } from "./path_decision.ts";
import type { PathFacts, Surroundings } from "./rule.ts";
import type { Analysis } from "./schema.ts";
import { compareUnit } from "./shell/rules.ts";
import { understand } from "./shell/understand.ts";
import type { Effect, Understanding, Unit } from "./shell/unit.ts";
import { judgeTool } from "./tool_decision.ts";

/** Decides on a command: the strictest finding on any program in it, any file it touches. */
export function decideCommand(
  policy: CompiledPolicy,
  request: { command: string; cwd: string; tool?: string },
  around: Surroundings,
): { findings: Finding[]; analysis: Analysis } {
  const setting = { cwd: request.cwd, user_home: around.user_home };
  const understood = understand(request.command, setting);
  const tool = judgeTool(policy, { tool: request.tool ?? "run_command", input: request }, false);
  const findings = [
    ...understood.doubts.map(({ effect, reason }) => builtin(effect, "unresolved", "$…", reason)),
    ...understood.units.flatMap((unit) => judgeUnit(policy, unit, understood.units)),
    ...understood.effects.flatMap((effect) => judgeEffect(policy, effect, around)),
    ...tool,
  ];
  if (tool.length > 0) return { findings: spoken(findings), analysis: analysisOf(understood) };
  if (findings.length === 0) findings.push(byDefault(policy.defaultEffect, "this command"));
  return { findings, analysis: analysisOf(understood) };
}

/** Where a tool rule speaks, the default does not. */
function spoken(findings: Finding[]): Finding[] {
  return findings.filter((one) => one.rule !== null);
}

function judgeUnit(policy: CompiledPolicy, unit: Unit, units: Unit[]): Finding[] {
  const found: Finding[] = [];
  for (const { compiled, rule, effect, reason, alternative } of policy.commands) {
    const match = compareUnit(compiled, unit, units, effect !== "allow");
    if (match === "yes") found.push({ effect, rule, reason, alternative });
    else if (match === "maybe" && effect !== "allow") {
      found.push({ effect: "ask", rule, reason: `${reason} (it may match)`, alternative });
    }
  }
  if (found.length > 0 || unit.passive) return found;
  return [byDefault(policy.defaultEffect, `"${unit.argv.map(show).join(" ")}"`)];
}

/** Writes and deletes go through the path rules; reads meet only what blocks or asks. */
function judgeEffect(policy: CompiledPolicy, effect: Effect, around: Surroundings): Finding[] {
  const facts = around.resolve(effect.path);
  if (isDevice(facts)) return [];
  if (effect.op === "read") {
    return judgePath(policy.paths, "read", facts, around).filter((one) =>
      one.effect !== "allow" && one.rule?.list !== "outside-root"
    );
  }
  const setting = { ...around, defaultEffect: policy.defaultEffect };
  return decidePath(policy.paths, effect.op, facts, setting);
}

function analysisOf({ units, effects, unresolved }: Understanding): Analysis {
  const of = (op: Effect["op"]) => {
    const named = effects.filter((one) => one.op === op && !one.implied && !one.uncertain);
    return [...new Set(named.map((one) => show(one.path)))];
  };
  return {
    commands: units.map((unit) => unit.argv.map(show)),
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
