import { existsSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "../errors.ts";
import { type Enforcing, isInUse, planEnforcing } from "../hosts/enforce.ts";
import type { HookHost } from "../hosts/hook_host.ts";
import { HOOKED } from "../hosts/hook_hosts.ts";
import { hookLines } from "../hosts/hook_plan.ts";
import { HOSTS } from "../hosts/hosts.ts";
import { launchOf } from "../hosts/ours.ts";
import type { Findings, Patient } from "./patient.ts";

/** A host whose own tools ask gate first, and the command line that it asks by. */
export interface InstalledHook {
  host: HookHost;
  name: string;
  line: string;
}

/** The hooks before the hosts' own tools, for this user and in the projects. */
export function checkHooks(patient: Patient, found: Findings): void {
  for (const host of HOOKED) {
    const hooked = HOSTS.find(({ id }) => id === host.id)!;
    const isHere = isInUse(hooked, host, patient.machine);
    if (isHere) attempt(host, found, () => checkOfUser(patient, found, host));
    for (const root of patient.roots) {
      if (!existsSync(join(root, host.project_file))) continue;
      attempt(host, found, () => checkOfProject(patient, found, { host, root }));
    }
  }
  if (found.list.length === 0) found.ok("no host is here that gate could stand before");
}

function checkOfUser(patient: Patient, found: Findings, host: HookHost): void {
  const { file, outcome } = planEnforcing(host, enforcing(patient, null));
  const fix = `gate global-setup --enforce --host ${host.id}`;
  if (outcome === "unchanged") found.ok(`${nameOf(host)} asks before its own tools`);
  else if (hookLines(host, file).length > 0) {
    found.fail(`${nameOf(host)}'s hooks are not whole, or start another gate: ${file.path}`, fix);
  } else found.warn(`${nameOf(host)}'s own tools go round the gate`, fix);
}

function checkOfProject(
  patient: Patient,
  found: Findings,
  { host, root }: { host: HookHost; root: string },
): void {
  const { file, outcome } = planEnforcing(host, enforcing(patient, root));
  if (hookLines(host, file).length === 0) return;
  const fix = `cd "${root}" && gate init --yes --enforce`;
  if (outcome === "unchanged") found.ok(`${nameOf(host)} asks before its own tools in ${root}`);
  else found.fail(`${nameOf(host)}'s hooks are not whole: ${file.path}`, fix);
}

/** A file that cannot be read is told, and the others are looked at. */
function attempt(host: HookHost, found: Findings, check: () => void): void {
  try {
    check();
  } catch (error) {
    const next = error instanceof CliError ? error.next : null;
    found.fail(`${nameOf(host)}: ${(error as Error).message}`, next);
  }
}

/** What the hosts would start before their own tools, by their files for this user. */
export function installedHooks(patient: Patient): InstalledHook[] {
  return HOOKED.flatMap((host) => {
    try {
      const { file } = planEnforcing(host, enforcing(patient, null));
      const [line] = hookLines(host, file);
      return line === undefined ? [] : [{ host, name: nameOf(host), line }];
    } catch {
      return []; // told by the check
    }
  });
}

function enforcing({ machine, place }: Patient, root: string | null): Enforcing {
  const launch = launchOf(machine, place);
  return { machine, launch, home: place.home, root, install: true };
}

function nameOf({ id }: HookHost): string {
  return HOSTS.find((host) => host.id === id)!.name;
}
