import { existsSync, rmSync } from "node:fs";
import type { HookedHost } from "../../server/hosts/host.ts";
import {
  type ConfigFile,
  openConfig,
  openInProject,
  retryOnConflict,
  saveConfig,
} from "./edit/config_file.ts";
import { isRecord } from "./edit/text_editor.ts";
import { type HookPlan, isUnguarded, planHooks, planRemoval } from "./hook_plan.ts";
import { EDITORS, filesInUse } from "./hosts.ts";
import { type HostFile, locate, type Machine } from "./machine.ts";
import type { Launch } from "./ours.ts";

/** Where to install or remove hooks, and the program that answers them. */
export interface Enforcing {
  machine: Machine;
  launch: Launch;
  /** The gate's home, for backups. */
  home: string;
  /** The root of the project whose files change; null for the files of the user. */
  root: string | null;
  install: boolean;
}

/** The change to one host's hooks. */
export interface Enforced extends HookPlan {
  host: HookedHost;
  file: ConfigFile;
  backup: string | null;
}

/** The file that holds a host's hooks for this user. */
export function hookFile({ hooks }: HookedHost, machine: Machine): HostFile {
  return locate(hooks.settings.user_file, machine)[0]!;
}

/** Whether a host is in use on this machine. */
export function isInUse(host: HookedHost, machine: Machine): boolean {
  return filesInUse(host, machine).length > 0 || existsSync(hookFile(host, machine).sign);
}

/** Whether an older gate installed hooks for this user that let tools run if gate cannot start. */
export function hasOldHooks(host: HookedHost, machine: Machine): boolean {
  try {
    return isUnguarded(host, openConfig(hookFile(host, machine).path), machine);
  } catch {
    return false; // doctor reports the file
  }
}

/** Plans the change to a host's hooks. @throws CliError when the file cannot be edited */
export function planEnforcing(host: HookedHost, enforcing: Enforcing): Enforced {
  const { machine, launch, root, install } = enforcing;
  const file = root === null
    ? openConfig(hookFile(host, machine).path)
    : openInProject(root, host.hooks.settings.project_file);
  const plan = install ? planHooks(host, file, launch, machine) : planRemoval(host, file);
  return { ...plan, host, file, backup: null };
}

/** Installs or removes a host's hooks. @throws CliError and leaves the file as it was */
export function enforce(host: HookedHost, enforcing: Enforcing): Promise<Enforced> {
  return retryOnConflict(async () => {
    const plan = planEnforcing(host, enforcing);
    if (plan.outcome === "unchanged") return plan;
    const backups = { home: enforcing.home, label: `${host.id}-hooks` };
    const backup = await saveConfig(plan.file, plan.after, backups);
    if (isLeftOver(plan)) rmSync(plan.file.real);
    return { ...plan, backup };
  });
}

/** Whether a file of our own has no content left. */
function isLeftOver({ host, outcome, file, after }: Enforced): boolean {
  const { format, frame } = host.hooks.settings;
  if (outcome !== "removed" || !/[\\/]gate\.json$/.test(file.real)) return false;
  const left = EDITORS[format].read(after, file.path);
  return isRecord(left) && Object.keys(left).every((key) => Object.hasOwn(frame, key));
}
