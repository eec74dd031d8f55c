import { backUp, refuseReadOnly, retryOnConflict, saveConfig } from "./edit/config_file.ts";
import { addWithClaude, findClaude } from "./claude_cli.ts";
import type { Host, Launch } from "./host.ts";
import type { Machine } from "./machine.ts";
import { planRegistration, type Registration } from "./registration.ts";

/** What is the same for every host. */
export interface Around {
  machine: Machine;
  /** The gate's home, for copies of what is changed. */
  home: string;
}

/** What became of one config file. */
export interface Registered extends Registration {
  /** How it was changed: by the host's own command, or in the file. */
  via: "claude" | "file" | null;
  backup: string | null;
}

/** Registers our server in a host's config file. @throws CliError, the file as it was */
export function register(
  host: Host,
  path: string,
  launch: Launch,
  around: Around,
): Promise<Registered> {
  return retryOnConflict(async () => {
    const plan = planRegistration(host, path, launch);
    if (plan.outcome === "unchanged") return { ...plan, via: null, backup: null };
    return await carryOut(plan, launch, around);
  });
}

async function carryOut(
  plan: Registration,
  launch: Launch,
  { machine, home }: Around,
): Promise<Registered> {
  const { host, file } = plan;
  const backups = { home, label: host.id };
  const claude = host.id === "claude-code" ? findClaude(machine) : null;
  if (claude !== null) {
    refuseReadOnly(file);
    const backup = file.sha256 === null ? null : backUp(file, backups);
    await addWithClaude(claude, plan, machine);
    const now = planRegistration(host, file.path, launch);
    if (now.outcome === "unchanged") return { ...plan, via: "claude", backup };
    await saveConfig(now.file, now.after, backups);
    return { ...plan, via: "file", backup };
  }
  return { ...plan, via: "file", backup: await saveConfig(file, plan.after, backups) };
}
