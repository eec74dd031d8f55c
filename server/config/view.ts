import { statSync } from "node:fs";
import { userInfo } from "node:os";
import type { ConfigFault } from "../policy/policy.ts";
import type { Policies } from "../policy/schema.ts";
import type { Fault } from "./accepted.ts";
import { compareConfigs, onlyTightens } from "./compare.ts";
import { ANY_DEFAULT, MACHINE, valueOf } from "./config_text.ts";
import type { Loaded } from "./load.ts";
import { describeUnknown } from "./misspelt.ts";
import type { Accepted, Version } from "./store.ts";
import type { ConfigProblem, GlobalConfig, OutsideChange, ProjectConfig } from "./schema.ts";

/** Nobody may accept what was not shown, so a longer list counts as one that cannot be compared. */
const MAX_DIFFERENCES = 5_000;

/** Describes how a change outside gate affects the rules. `others` are merged with them. */
export function describeOutside(
  owner: string,
  { path, at, before, after, number }: {
    path: string;
    at: string;
    before: Version;
    after: Version;
    number: number;
  },
  others: readonly (Policies | undefined)[],
): OutsideChange {
  const [old, now] = [valueOf(owner, before.text), valueOf(owner, after.text)];
  // A file that is gone changes nothing: the accepted rules stay.
  const isGone = after.text === "";
  const all = old && now
    ? compareConfigs(old, now, [...others, ...owner === MACHINE ? [ANY_DEFAULT] : []])
      .map((one) => isGone ? { ...one, in_force: false } : one)
    : null;
  return {
    path,
    at,
    by: ownerOf(path),
    before_sha256: before.sha256 || null,
    after_sha256: after.sha256,
    // The waiting ones come first, so that no padding hides them.
    differences: all && all.length <= MAX_DIFFERENCES
      ? all.toSorted((a, b) => Number(a.in_force) - Number(b.in_force))
      : null,
    waiting: isGone || all === null || !onlyTightens(all),
    number,
  };
}

/** The error about a config that is gone. */
export function goneError(path: string): string {
  return `"${path}" is gone: the rules that were accepted last apply; put it back`;
}

/** The error about an accepted text that is no longer known. */
export function lostError(path: string): string {
  return `nobody knows the accepted rules of "${path}" any more: write and accept them again`;
}

/** The error about an accepted text that another program has changed. */
export function forgedError(path: string, fault: Fault): string {
  return `the accepted rules of "${path}" ${FAULTS[fault]}: what they allow waits; ` +
    "accept them again";
}

const FAULTS: Record<Fault, string> = {
  unproved: "fit no proof",
  older: "are older than the ones that were accepted last",
  unrecorded: "are in no audit log",
  elsewhere: "were accepted for another folder",
};

/** The warning about rules that hold only as long as the file says them. */
export function unpinnedWarning(path: string): string {
  return `the change of "${path}" is in force, not yet accepted: another program can undo it; ` +
    "a person must accept it with gate config accept";
}

/** Bun gives this name to a user whose environment names none. */
const NAMELESS = "unknown";

/** The owner of the file. The gate cannot know who wrote it. */
function ownerOf(path: string): string | null {
  try {
    const { uid } = statSync(path);
    const { uid: own, username } = userInfo();
    return uid === own && username !== NAMELESS ? username : `user ${uid}`;
  } catch {
    return null;
  }
}

/** The problem of an unusable config, with the next step. */
export function describeFault(fault: ConfigFault): ConfigProblem {
  return { ...fault, next: "Fix the file and save it: the gate then reads it again" };
}

/** The configs of a project and of the machine. */
export interface ConfigState {
  /** The files as they are. */
  files: { project: Loaded<ProjectConfig>; global: Loaded<GlobalConfig> };
  /** The files, or the accepted text of one that is gone. */
  project: Loaded<ProjectConfig>;
  global: Loaded<GlobalConfig>;
  accepted: { project: Accepted | null; global: Accepted | null };
  gone: { project: boolean; global: boolean };
  /** Another program has changed the accepted text. */
  forged: { project: Fault | null; global: Fault | null };
  override: "off" | "untrusted" | "trusted";
}

/** The warnings about a valid config, inside these projects. */
export function warningsOf(
  { project, global, override }: Pick<ConfigState, "project" | "global" | "override">,
  id: string,
  parents: readonly string[] = [],
): string[] {
  const warnings = [
    ...project.unknown.map((one) => describeUnknown(one, "gate.config.json")),
    ...global.unknown.map((one) => describeUnknown(one, "this machine's config.json")),
  ].filter((warning) => warning !== null);
  if (project.value && project.value.id === undefined) {
    warnings.push(
      `gate.config.json has no "id": this still works but is deprecated; add "id": "${id}"`,
    );
  }
  if (override === "untrusted") {
    warnings.push(
      `"overrideGlobal" is ignored until a person trusts it here: gate project trust-override ${id}`,
    );
  }
  if (parents.length > 0) {
    const names = parents.map((parent) => `"${parent}"`).join(", ");
    warnings.push(`the project is inside ${names}: the strictest of their rules apply`);
  }
  return warnings;
}
