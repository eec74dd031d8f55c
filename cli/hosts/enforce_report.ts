import type { AgentHost } from "../../server/hosts/host.ts";
import { isHooked } from "../../server/hosts/hosts.ts";
import { failureOf } from "../errors.ts";
import type { Io } from "../io.ts";
import { paint, print, sayFailure } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import { enforce, type Enforcing, isInUse, planEnforcing } from "./enforce.ts";
import { hostById } from "./hosts.ts";
import { redactedDiff } from "./redacted_diff.ts";

/** The report on one host's hooks, also as JSON. */
export interface HookReport {
  host: string;
  outcome: "added" | "updated" | "removed" | "unchanged" | "not_installed" | "no_hooks" | "failed";
  file: string | null;
  backup?: string | null;
  diff?: string;
  problem?: string;
  next?: string | null;
}

type Asked = Enforcing & {
  /** The user named these hosts, so it does not matter whether they are in use. */
  isAsked: boolean;
  dryRun: boolean;
};

/** Installs or removes the hooks of these hosts and reports on each. */
export async function enforceHosts(
  hosts: readonly AgentHost[],
  asked: Asked,
): Promise<HookReport[]> {
  const reports: HookReport[] = [];
  for (const host of hosts) reports.push(await enforceHost(host, asked));
  return reports;
}

async function enforceHost(
  host: AgentHost,
  { isAsked, dryRun, ...enforcing }: Asked,
): Promise<HookReport> {
  const none = { host: host.id, file: null };
  if (!isHooked(host)) return { ...none, outcome: "no_hooks" };
  if (!isAsked && !isInUse(host, enforcing.machine)) return { ...none, outcome: "not_installed" };
  try {
    const done = dryRun ? planEnforcing(host, enforcing) : await enforce(host, enforcing);
    const { outcome, file, after, backup } = done;
    const report = { host: host.id, outcome, file: file.path };
    if (!dryRun) return { ...report, backup };
    const diff = outcome === "unchanged" ? [] : redactedDiff(file.path, file.text, after);
    return { ...report, diff: diff.join("\n") };
  } catch (error) {
    return { ...none, outcome: "failed", ...failureOf(error) };
  }
}

/** Prints the reports for a person. */
export function showReports(io: Io, reports: readonly HookReport[], dryRun: boolean): void {
  for (const report of reports) {
    const { host, outcome, file, backup, diff } = report;
    if (outcome === "failed") {
      print(io, `${paint(io, "red", "failed")}         hooks of ${host}`);
      sayFailure(io, report);
      continue;
    }
    const word = ((dryRun ? WOULD : DID)[outcome] ?? outcome).padEnd(13);
    print(io, `${word}  hooks of ${host}${file ? `  ${visibleLine(file)}` : ""}`);
    if (backup) print(io, paint(io, "dim", `               backup: ${backup}`));
    for (const line of diff ? diff.split("\n") : []) print(io, coloured(io, line));
    const { hooks } = hostById(host);
    const isNew = outcome === "added" || outcome === "updated";
    if (isNew && !dryRun && hooks) print(io, `               then: ${hooks.settings.afterwards}`);
    if (outcome === "no_hooks") print(io, `               ${NO_HOOKS}`);
  }
}

function coloured(io: Io, line: string): string {
  if (line.startsWith("+")) return paint(io, "green", line);
  return line.startsWith("-") ? paint(io, "red", line) : line;
}

const NO_HOOKS = "gate cannot stand before its own tools: switch those off in its settings, so " +
  "that it works through gate's MCP server alone";

const DID: Partial<Record<HookReport["outcome"], string>> = {
  not_installed: "not installed",
  no_hooks: "no hooks",
};
const WOULD = {
  ...DID,
  added: "would add",
  updated: "would update",
  removed: "would remove",
};
