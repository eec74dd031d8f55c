import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../server/config/load.ts";
import { describeUnknown } from "../../server/config/misspelt.ts";
import { GlobalConfig, ProjectConfig } from "../../server/config/schema.ts";
import { compilePolicy } from "../../server/policy/evaluate.ts";
import { instructionFiles, planInstructions } from "../hosts/instructions.ts";
import { CONFIG_FILE } from "../project.ts";
import type { Findings, Patient } from "./patient.ts";

/** The rules: a config that cannot be read denies everything. */
export function checkConfigs({ place, roots }: Patient, found: Findings): void {
  const path = join(place.home, "config.json");
  const { value: global, error } = loadConfig(path, GlobalConfig);
  if (error) found.fail(error, "gate global-config edit");
  let good = 0;
  for (const root of roots.filter((one) => existsSync(one))) {
    if (checkProject(root, global, found)) good++;
  }
  if (found.list.length > 0) return;
  if (roots.length === 0) return found.ok("no project is registered, and this folder is none");
  found.ok(good === 1 ? `${CONFIG_FILE} can be read` : `${good} can be read`);
}

function checkProject(root: string, global: GlobalConfig | null, found: Findings): boolean {
  const path = join(root, CONFIG_FILE);
  const { value, text, error, unknown } = loadConfig(path, ProjectConfig);
  const fix = `mend ${path}`;
  if (error) found.fail(`${error}: everything is denied there`, fix);
  else if (value === null || text === "") {
    found.fail(`${path} is gone: everything is denied there`, `cd "${root}" && gate init`);
  } else if (!value.id) found.warn(`${path} has no "id"`, `cd "${root}" && gate init`);
  for (const one of unknown) {
    const said = describeUnknown(one, path);
    if (said) found.warn(said, fix);
  }
  const wrong = value && wrongRule(global, value);
  if (wrong) found.fail(`${path}: ${wrong}`, fix);
  return !error && value !== null && !wrong;
}

/** What only shows when the rules are put together: an example that a rule fails. */
function wrongRule(global: GlobalConfig | null, project: ProjectConfig): string | null {
  try {
    const both = { global: global?.policies ?? null, project: project.policies ?? null };
    compilePolicy({ ...both, override_global: false });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** A project whose config is broken or gone has been told of already. */
function hasReadableConfig(root: string): boolean {
  const { value, error } = loadConfig(join(root, CONFIG_FILE), ProjectConfig);
  return value !== null && error === null;
}

/** What agents are told in the projects. */
export function checkInstructions({ roots }: Patient, found: Findings): void {
  const outdated: string[] = [];
  const missing: string[] = [];
  for (const root of roots.filter(hasReadableConfig)) {
    try {
      for (const path of instructionFiles(root)) {
        const { outcome } = planInstructions(root, path);
        if (outcome === "updated") outdated.push(join(root, path));
        if (outcome === "created") missing.push(join(root, path));
      }
    } catch (error) {
      found.warn((error as Error).message, `cd "${root}" && gate update-instructions`);
    }
  }
  const fix = roots.length > 1
    ? "gate update-instructions --all"
    : "gate update-instructions, in the project";
  found.warnAll(outdated, "without today's word on the gate", fix);
  found.warnAll(missing, "agents are not told of the gate in", fix);
  if (found.list.length === 0) found.ok(roots.length > 0 ? "up to date" : "no project");
}
