import { existsSync, rmSync } from "node:fs";
import {
  type ConfigFile,
  openConfig,
  openInProject,
  retryOnConflict,
  saveConfig,
} from "./edit/config_file.ts";
import { isRecord } from "./edit/text_editor.ts";
import { hookLine } from "./hook_line.ts";
import type { HookHost } from "./hook_host.ts";
import { HOOKED } from "./hook_hosts.ts";
import { type HookPlan, planHooks, planRemoval } from "./hook_plan.ts";
import type { Host, Launch } from "./host.ts";
import { filesInUse } from "./hosts.ts";
import type { Machine } from "./machine.ts";

/** Where hooks are put in or taken out, and by whom they are answered. */
export interface Enforcing {
  machine: Machine;
  launch: Launch;
  /** The gate's home, for copies of what is changed. */
  home: string;
  /** A project's own files; null for those of the user. */
  root: string | null;
  install: boolean;
}

/** What became, or would become, of one host's hooks. */
export interface Enforced extends HookPlan {
  host: HookHost;
  file: ConfigFile;
  backup: string | null;
}

/** The hooks of a host that is here or was asked for; null where it has none. */
export function hookHostOf(host: Host): HookHost | null {
  return HOOKED.find(({ id }) => id === host.id) ?? null;
}

/** Whether a host is in use on this machine. */
export function isInUse(host: Host, hooked: HookHost, machine: Machine): boolean {
  return filesInUse(host, machine).length > 0 || existsSync(hooked.file(machine).sign);
}

/** Looks at a host's hooks; changes nothing. @throws CliError when the file cannot be edited */
export function planEnforcing(host: HookHost, enforcing: Enforcing): Enforced {
  const { machine, launch, root, install } = enforcing;
  const file = root === null
    ? openConfig(host.file(machine).path)
    : openInProject(root, host.project_file);
  const plan = install
    ? planHooks(host, file, hookLine(launch, host.id, machine), machine)
    : planRemoval(host, file);
  return { ...plan, host, file, backup: null };
}

/** Puts a host's hooks in, or takes them out. @throws CliError, the file as it was */
export function enforce(host: HookHost, enforcing: Enforcing): Promise<Enforced> {
  return retryOnConflict(async () => {
    const plan = planEnforcing(host, enforcing);
    if (plan.outcome === "unchanged") return plan;
    const backups = { home: enforcing.home, label: `${host.id}-hooks` };
    const backup = await saveConfig(plan.file, plan.after, backups);
    if (isLeftOver(host, plan)) rmSync(plan.file.real);
    return { ...plan, backup };
  });
}

/** A file of our own that says nothing any more. */
function isLeftOver(host: HookHost, { outcome, file, after }: Enforced): boolean {
  if (outcome !== "removed" || !/[\\/]gate\.json$/.test(file.real)) return false;
  const left = host.editor.read(after, file.path);
  return isRecord(left) && Object.keys(left).every((key) => Object.hasOwn(host.frame, key));
}
