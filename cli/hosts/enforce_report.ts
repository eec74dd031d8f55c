import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { paint, print, say } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import { enforce, type Enforcing, hookHostOf, isInUse, planEnforcing } from "./enforce.ts";
import { HOSTS } from "./hosts.ts";
import type { Host } from "./host.ts";
import { redactedDiff } from "./redacted_diff.ts";

/** What is said of one host's hooks, also as JSON. */
export interface HookReport {
  host: string;
  outcome: "added" | "updated" | "removed" | "unchanged" | "not_installed" | "no_hooks" | "failed";
  file: string | null;
  backup?: string | null;
  diff?: string;
  problem?: string;
  next?: string | null;
}

/** Puts the hooks of these hosts in, or takes them out, and says what became of each. */
export async function enforceHosts(
  hosts: readonly Host[],
  { isAsked, dryRun, ...enforcing }: Enforcing & { isAsked: boolean; dryRun: boolean },
): Promise<HookReport[]> {
  const reports: HookReport[] = [];
  for (const host of hosts) reports.push(await one(host, { isAsked, dryRun, ...enforcing }));
  return reports;
}

async function one(
  host: Host,
  { isAsked, dryRun, ...enforcing }: Enforcing & { isAsked: boolean; dryRun: boolean },
): Promise<HookReport> {
  const none = { host: host.id, file: null };
  const hooked = hookHostOf(host);
  if (!hooked) return { ...none, outcome: "no_hooks" };
  if (!isAsked && !isInUse(host, hooked, enforcing.machine)) {
    return { ...none, outcome: "not_installed" };
  }
  try {
    const done = dryRun ? planEnforcing(hooked, enforcing) : await enforce(hooked, enforcing);
    const { outcome, file, after, backup } = done;
    const report = { host: host.id, outcome, file: file.path };
    if (!dryRun) return { ...report, backup };
    const diff = outcome === "unchanged" ? [] : redactedDiff(file.path, file.text, after);
    return { ...report, diff: diff.join("\n") };
  } catch (error) {
    const next = error instanceof CliError ? error.next : null;
    return { ...none, outcome: "failed", problem: (error as Error).message, next };
  }
}

/** Says it to a person. Hosts without hooks that are not in use are left out. */
export function showReports(io: Io, reports: readonly HookReport[], dryRun: boolean): void {
  for (const report of reports) {
    const { host, outcome, file, backup, diff } = report;
    if (outcome === "failed") {
      print(io, `${paint(io, "red", "failed")}         hooks of ${host}`);
      say(io, `gate: ${visibleLine(report.problem ?? "")}`);
      if (report.next) say(io, `  try: ${visibleLine(report.next)}`);
      continue;
    }
    const word = ((dryRun ? WOULD : DID)[outcome] ?? outcome).padEnd(13);
    print(io, `${word}  hooks of ${host}${file ? `  ${visibleLine(file)}` : ""}`);
    if (backup) print(io, paint(io, "dim", `               the old one: ${backup}`));
    for (const line of diff ? diff.split("\n") : []) print(io, coloured(io, line));
    const hooked = hookHostOf(HOSTS.find(({ id }) => id === host)!);
    const isNew = outcome === "added" || outcome === "updated";
    if (isNew && !dryRun && hooked) print(io, `               then: ${hooked.afterwards}`);
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
