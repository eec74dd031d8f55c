import { accessSync, constants, existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { Repair } from "../../server/doctor/schema.ts";
import type { AgentHost } from "../../server/hosts/host.ts";
import { HOSTS } from "../../server/hosts/hosts.ts";
import { CliError } from "../errors.ts";
import { findCandidates, planCleanup } from "../hosts/cleanup.ts";
import { openConfig } from "../hosts/edit/config_file.ts";
import { valueAt } from "../hosts/edit/text_editor.ts";
import { EDITORS, filesInUse } from "../hosts/hosts.ts";
import { findProgram } from "../hosts/machine.ts";
import { launchOf, SERVER_NAME, wordsOf } from "../hosts/ours.ts";
import { planRegistration } from "../hosts/register.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";

/** Checks the entries of the agent hosts on this machine. */
export function checkHosts(context: CheckContext, found: Findings): void {
  const files = HOSTS.flatMap((host) =>
    filesInUse(host, context.machine).map((path) => ({ host, path }))
  );
  for (const { host, path } of files) {
    try {
      checkEntry(context, found, host, path);
    } catch (error) {
      const next = error instanceof CliError ? error.next : null;
      found.fail(
        `${host.name}: ${(error as Error).message}`,
        next ?? setUp(host),
        next ? null : repairOf(host),
      );
    }
  }
  if (files.length === 0) found.warn("no agent host was found", "gate global-setup --host <id>");
}

function checkEntry(context: CheckContext, found: Findings, host: AgentHost, path: string): void {
  const { machine, place } = context;
  const lost = lostProgram(context, knownEntry(host, path));
  const { outcome } = planRegistration(host, path, launchOf(machine, place));
  if (lost !== null) {
    found.fail(`${host.name} starts ${lost}, which is not there`, setUp(host), repairOf(host));
  } else if (outcome === "added") {
    found.warn(`${host.name} has no entry for gate`, setUp(host), repairOf(host));
  } else if (outcome === "updated") {
    found.warn(
      `${host.name} starts gate with another command or environment: ${path}`,
      setUp(host),
      repairOf(host),
    );
  } else found.ok(`${host.name} starts this gate`);
}

/** The current entry in a host's file. @throws CliError when the file cannot be read */
export function knownEntry(host: AgentHost, path: string): unknown {
  const text = existsSync(path) ? openConfig(path).text ?? "" : "";
  return valueAt(EDITORS[host.mcp.format].read(text, path), [host.mcp.key, SERVER_NAME]);
}

function lostProgram({ machine }: CheckContext, entry: unknown): string | null {
  const [program] = wordsOf(entry);
  if (program === undefined) return null;
  if (!isAbsolute(program)) return findProgram(machine, program) === null ? program : null;
  try {
    accessSync(program, constants.X_OK);
    return null;
  } catch {
    return program;
  }
}

/** Checks for old entries, which serve a single project each. */
export function checkOldEntries({ machine, roots }: CheckContext, found: Findings): void {
  const names = findCandidates(machine, roots).flatMap((candidate) => {
    try {
      return planCleanup(candidate).removed.map(({ name }) => `${name} of ${candidate.host.name}`);
    } catch {
      return []; // checkHosts() reports the file
    }
  });
  found.warnAll(names, "entries of single projects", "gate cleanup-mcp");
  if (names.length === 0) found.ok("none is left");
}

function setUp(host: AgentHost): string {
  return `gate global-setup --host ${host.id}`;
}

function repairOf({ id }: AgentHost): Repair {
  return { kind: "host", host: id, enforce: false };
}
