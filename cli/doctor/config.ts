import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../server/config/load.ts";
import { describeUnknown } from "../../server/config/misspelt.ts";
import { GlobalConfig, ProjectConfig } from "../../server/config/schema.ts";
import { compilePolicy } from "../../server/policy/evaluate.ts";
import { instructionFiles, planInstructions } from "../hosts/instructions.ts";
import { CONFIG_FILE } from "../project.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";
import { quote } from "../../server/shown/quote.ts";
import { checkAccepted } from "./record.ts";

/** Checks the configs: whether each is readable, has valid rules, and was accepted by a person. */
export async function checkConfigs(context: CheckContext, found: Findings): Promise<void> {
  const { place, roots } = context;
  const path = join(place.home, "config.json");
  const { value: global, error } = loadConfig(path, GlobalConfig);
  if (error) found.fail(error, "gate global-config edit");
  let good = 0;
  for (const root of roots.filter((one) => existsSync(one))) {
    if (checkProject(root, global, found)) good++;
  }
  await checkAccepted(context, found);
  if (found.list.length > 0) return;
  if (roots.length === 0) return found.ok("no project is registered, and this folder is none");
  found.ok(good === 1 ? `${CONFIG_FILE} can be read` : `${good} can be read`);
}

function checkProject(root: string, global: GlobalConfig | null, found: Findings): boolean {
  const path = join(root, CONFIG_FILE);
  const { value, text, error, unknown } = loadConfig(path, ProjectConfig);
  const fix = `correct ${path}`;
  if (error) found.fail(`${error}: everything is denied there`, fix);
  else if (value === null || text === "") {
    found.fail(
      `${path} is gone: the rules that were accepted last apply`,
      `put the file back, or cd ${quote(root)} && gate init`,
    );
  } else if (!value.id) found.warn(`${path} has no "id"`, `cd ${quote(root)} && gate init`);
  for (const one of unknown) {
    const warning = describeUnknown(one, path);
    if (warning) found.warn(warning, fix);
  }
  const wrong = value && wrongRule(global, value);
  if (wrong) found.fail(`${path}: ${wrong}`, fix);
  return !error && value !== null && !wrong;
}

/** The error that only the combined rules show, such as an example that its rule fails; or null. */
function wrongRule(global: GlobalConfig | null, project: ProjectConfig): string | null {
  try {
    const both = { global: global?.policies ?? null, project: project.policies ?? null };
    compilePolicy({ ...both, override_global: false });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** False for a config that is broken or missing: checkConfigs() reports it. */
function hasReadableConfig(root: string): boolean {
  const { value, error } = loadConfig(join(root, CONFIG_FILE), ProjectConfig);
  return value !== null && error === null;
}

/** Checks the instructions for agents in the projects. */
export function checkInstructions({ roots }: CheckContext, found: Findings): void {
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
      found.warn((error as Error).message, `cd ${quote(root)} && gate update-instructions`);
    }
  }
  const repair = { kind: "instructions" } as const;
  const fix = roots.length > 1
    ? "gate update-instructions --all"
    : "gate update-instructions, in the project";
  found.warnAll(outdated, "instructions are outdated in", fix, repair);
  found.warnAll(missing, "instructions are missing in", fix, repair);
  if (found.list.length === 0) found.ok(roots.length > 0 ? "up to date" : "no project");
}
