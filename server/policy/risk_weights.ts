import type { RiskConfig, RiskFactor } from "./schema.ts";

/** The risk settings in force after inheritance. */
export interface RiskSettings {
  weights: Readonly<Record<RiskFactor, number>>;
  classes: readonly NonNullable<RiskConfig["classes"]>[number][];
  /** Local time; null if no config sets it. */
  workingHours: NonNullable<RiskConfig["workingHours"]> | null;
}

/**
 * The weight of each factor of risk if no config sets it. A score of 25 is medium, 50 high and 75
 * critical, so the weight of the strongest factor decides the level.
 */
export const DEFAULT_WEIGHTS: Readonly<Record<RiskFactor, number>> = {
  // The kind of the file that changes.
  ci: 55,
  deployment: 55,
  infrastructure: 55,
  containers: 30,
  migration: 30,
  lockfile: 28,
  dependencies: 10,
  secret_file: 56,
  hook: 60,
  tool_config: 55,
  agent_instructions: 35,
  shell_start: 60,
  system_file: 62,
  outside: 55,
  // The kind of the change.
  creates: 2,
  overwrites: 6,
  moves: 5,
  shrinks: 15,
  executable: 10,
  deletes: 28,
  deletes_folder: 54,
  deletes_everything: 90,
  many_files: 20,
  large: 10,
  // The content of the file.
  secret_in_content: 56,
  destructive_sql: 55,
  socket_mounted: 60,
  host_access: 58,
  public_access: 58,
  runs_at_install: 55,
  weakens_ci: 60,
  hidden_code: 55,
  opens_shell: 90,
  // The deeds of a command.
  cloud: 28,
  cloud_change: 55,
  cloud_destroy: 62,
  destroys_whole: 82,
  production: 80,
  production_named: 52,
  database_change: 32,
  database_destroy: 57,
  publishes: 55,
  pushes: 30,
  rewrites_history: 55,
  loses_work: 55,
  local_history: 28,
  deploys: 55,
  unattended: 60,
  privilege: 54,
  mode: 28,
  service: 54,
  schedules: 55,
  destroys_machine: 92,
  container_start: 28,
  network: 8,
  sends: 34,
  sends_file: 40,
  remote: 54,
  foreign_code: 62,
  unknown_code: 54,
  installs: 28,
  shell_script: 26,
  interpreter: 10,
  unresolved: 27,
  secret_read: 32,
  private_key_read: 54,
  network_after_secret: 56,
  sends_secret: 90,
  foreign_change: 28,
  // The known facts about the action.
  not_reversible: 26,
  guarded: 30,
  forbidden: 26,
  held_by_rule: 8,
  // Its circumstances, which are added in full.
  first_time: 4,
  outside_hours: 4,
  burst: 6,
};

/** Joins the settings of several layers; the higher weight is the stricter one. */
export function mergeRisk(layers: readonly (RiskConfig | undefined)[]): RiskSettings {
  const given = layers.filter((one) => one !== undefined);
  const weights = { ...DEFAULT_WEIGHTS };
  for (const name of Object.keys(weights) as RiskFactor[]) {
    const set = given.map((one) => one.weights?.[name]).filter((value) => value !== undefined);
    if (set.length > 0) weights[name] = Math.max(...set);
  }
  return {
    weights,
    classes: given.flatMap(({ classes = [] }) => classes),
    workingHours: given.findLast(({ workingHours }) => workingHours)?.workingHours ?? null,
  };
}

/** Settings that are as strict as each of these. */
export function strictestRisk(all: readonly RiskSettings[]): RiskSettings {
  const weights = { ...DEFAULT_WEIGHTS };
  for (const name of Object.keys(weights) as RiskFactor[]) {
    if (all.length > 0) weights[name] = Math.max(...all.map((one) => one.weights[name]));
  }
  return {
    weights,
    classes: all.flatMap(({ classes }) => classes),
    workingHours: all.find(({ workingHours }) => workingHours !== null)?.workingHours ?? null,
  };
}

/** Whether no action scores lower with the new settings than with the old ones. */
export function tightensRisk(before: RiskConfig = {}, after: RiskConfig = {}): boolean {
  const [old, now] = [mergeRisk([before]), mergeRisk([after])];
  const names = Object.keys(DEFAULT_WEIGHTS) as RiskFactor[];
  const has = (one: RiskSettings["classes"][number]) =>
    now.classes.some((other) =>
      other.weight >= one.weight &&
      JSON.stringify([other.name, other.paths, other.commands]) ===
        JSON.stringify([one.name, one.paths, one.commands])
    );
  return names.every((name) => now.weights[name] >= old.weights[name]) && old.classes.every(has) &&
    (old.workingHours === null ||
      JSON.stringify(old.workingHours) === JSON.stringify(now.workingHours));
}
