import { existsSync } from "node:fs";
import type { HookedHost } from "../../server/hosts/host.ts";
import { deleteLeftOver, saveHostFile } from "./created.ts";
import { type ConfigFile, openConfig, openInProject, retryOnConflict } from "./edit/config_file.ts";
import { type HookPlan, isUnguarded, planHooks, planRemoval } from "./hook_plan.ts";
import { filesInUse } from "./hosts.ts";
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
    const backup = await saveHostFile(plan.file, plan.after, backups);
    if (plan.outcome === "removed") {
      deleteLeftOver(plan.file.path, enforcing.home, host.hooks.settings);
    }
    return { ...plan, backup };
  });
}
