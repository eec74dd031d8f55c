import type { SandboxNetwork, SandboxPolicy } from "./schema.ts";

/** The sandbox if no config sets it. */
export const DEFAULT_SANDBOX: SandboxPolicy = {
  mode: "auto",
  network: "loopback",
  hosts: [],
  writable: [],
};

/** The sandbox in force after inheritance. */
export interface EffectiveSandbox extends SandboxPolicy {
  /** Whether a question may be answered by the sandbox: no config says `off`. */
  answers: boolean;
}

/** The sandbox as a config writes it. */
export function plainSandbox({ answers: _, ...sandbox }: EffectiveSandbox): SandboxPolicy {
  return sandbox;
}

const NETWORKS: SandboxNetwork[] = ["none", "loopback", "all"];

/** A number that grows with what the network reaches. */
export function reachOf(network: SandboxNetwork): number {
  return NETWORKS.indexOf(network);
}

/**
 * Merges what several configs say about the sandbox; the strictest applies. `always` beside `off`
 * means both: every command runs in the sandbox, and the sandbox answers no question.
 */
export function mergeSandbox(
  given: readonly (Partial<SandboxPolicy> | undefined)[],
): EffectiveSandbox {
  const all = given.filter((one) => one !== undefined);
  const valuesOf = <K extends keyof SandboxPolicy>(key: K) =>
    all.flatMap((one) => one[key] === undefined ? [] : [one[key] as SandboxPolicy[K]]);
  const modes = valuesOf("mode");
  const networks = valuesOf("network").toSorted((a, b) => reachOf(a) - reachOf(b));
  return {
    mode: modes.includes("always") ? "always" : modes.includes("off") ? "off" : "auto",
    network: networks[0] ?? DEFAULT_SANDBOX.network,
    hosts: commonOf(valuesOf("hosts")),
    writable: commonOf(valuesOf("writable")),
    answers: !modes.includes("off"),
  };
}

/** The sandbox that is as strict as that of each layer. */
export function combineSandboxes(all: readonly EffectiveSandbox[]): EffectiveSandbox {
  const answers = all.every((one) => one.answers);
  return { ...mergeSandbox(all), answers };
}

/** What every config that has the list names. */
function commonOf(lists: readonly string[][]): string[] {
  const [first = [], ...rest] = lists;
  return first.filter((one) => rest.every((list) => list.includes(one)));
}
