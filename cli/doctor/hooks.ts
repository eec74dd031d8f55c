import { existsSync } from "node:fs";
import { join } from "node:path";
import type { HookedHost } from "../../server/hosts/host.ts";
import { HOOKED_HOSTS } from "../../server/hosts/hosts.ts";
import { CliError } from "../errors.ts";
import type { ConfigFile } from "../hosts/edit/config_file.ts";
import { type Enforcing, isInUse, planEnforcing } from "../hosts/enforce.ts";
import { hookLines, isUnguarded } from "../hosts/hook_plan.ts";
import { launchOf } from "../hosts/ours.ts";
import { quote } from "../../server/shown/quote.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";

/** A host that asks gate before its own tools, and the command line of its hook. */
export interface InstalledHook {
  host: HookedHost;
  line: string;
}

/** Checks the hooks before the hosts' own tools, for this user and in the projects. */
export function checkHooks(context: CheckContext, found: Findings): void {
  for (const host of HOOKED_HOSTS) {
    if (isInUse(host, context.machine)) {
      attempt(host, found, () => checkOfUser(context, found, host));
    }
    for (const root of context.roots) {
      if (!existsSync(join(root, host.hooks.settings.project_file))) continue;
      attempt(host, found, () => checkOfProject(context, found, { host, root }));
    }
  }
  if (found.list.length === 0) found.ok("no host with hooks is in use here");
}

function checkOfUser(context: CheckContext, found: Findings, host: HookedHost): void {
  const { file, outcome } = planEnforcing(host, enforcing(context, null));
  const fix = `gate global-setup --enforce --host ${host.id}`;
  const repair = { kind: "host", host: host.id, enforce: true } as const;
  if (outcome === "unchanged") found.ok(`${host.name} asks before its own tools`);
  else if (hookLines(host, file).length > 0) {
    found.fail(faultOf(context, host, file), fix, repair);
  } else found.warn(`gate does not check ${host.name}'s own tools`, fix, repair);
}

function checkOfProject(
  context: CheckContext,
  found: Findings,
  { host, root }: { host: HookedHost; root: string },
): void {
  const { file, outcome } = planEnforcing(host, enforcing(context, root));
  if (hookLines(host, file).length === 0) return;
  const fix = `cd ${quote(root)} && gate init --yes --enforce`;
  if (outcome === "unchanged") found.ok(`${host.name} asks before its own tools in ${root}`);
  else found.fail(faultOf(context, host, file), fix);
}

/** The fault of hooks that differ from those that gate installs now. */
function faultOf({ machine }: CheckContext, host: HookedHost, file: ConfigFile): string {
  return isUnguarded(host, file, machine)
    ? `${host.name}'s hooks are of an older gate: its tools run if gate does not start: ${file.path}`
    : `${host.name}'s hooks are incomplete, or start another gate: ${file.path}`;
}

/** Reports a file that cannot be read, so that the check of the others goes on. */
function attempt(host: HookedHost, found: Findings, check: () => void): void {
  try {
    check();
  } catch (error) {
    const next = error instanceof CliError ? error.next : null;
    found.fail(`${host.name}: ${(error as Error).message}`, next);
  }
}

/** The hooks in the hosts' files for this user. */
export function installedHooks(context: CheckContext): InstalledHook[] {
  return HOOKED_HOSTS.flatMap((host) => {
    try {
      const { file } = planEnforcing(host, enforcing(context, null));
      const [line] = hookLines(host, file);
      return line === undefined ? [] : [{ host, line }];
    } catch {
      return []; // checkHooks() reports the file
    }
  });
}

function enforcing({ machine, place }: CheckContext, root: string | null): Enforcing {
  const launch = launchOf(machine, place);
  return { machine, launch, home: place.home, root, install: true };
}
