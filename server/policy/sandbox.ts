import { isProtectedPath } from "./protect.ts";
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

/**
 * Why commands may not write this folder: only folders of data can be opened, none from which
 * programs start or that hold settings and keys. Null if they may.
 */
export function unwritableBecause(path: string): string | null {
  if (!/^(~?\/)/.test(path)) return 'it must start with "/" or "~/"';
  const names = path.replace(/^~?\//, "").replace(/\/+$/, "").split("/");
  if (names.some((name) => name === "" || name === ".." || name === ".")) {
    return "it is no plain path of a folder";
  }
  if (/[*?[\]{}\\]/.test(path) || HIDDEN.test(path)) return "it must name one folder";
  if (path.startsWith("/") && (SYSTEM.test(path) || names.length < 2)) {
    return "programs of the machine start from it, or it holds much more than data";
  }
  const hidden = names.find((name) => name.startsWith(".") && name !== ".cache");
  if (hidden !== undefined || (names.at(-1) === ".cache")) {
    return `"${hidden ?? ".cache"}" may hold settings, keys or programs`;
  }
  return isProtectedPath(path.replace(/^~/, "")) ? "gate guards it" : null;
}

// deno-lint-ignore no-control-regex
const HIDDEN = /[\x00-\x1f\x7f]/;
const SYSTEM =
  /^\/(bin|boot|dev|etc|lib\w*|opt|proc|root|run|sbin|snap|sys|usr|var|nix|Library|System|Applications|private|(home|Users)\/[^/]+\/?$)(\/|$)/;

const NETWORKS: SandboxNetwork[] = ["none", "loopback", "all"];

/** A number that grows with what the network reaches. */
export function reachOf(network: SandboxNetwork): number {
  return NETWORKS.indexOf(network);
}

/** The hosts and ports that a command reaches in the sandbox of this engine. */
export function networkIn(
  { network, hosts }: Pick<SandboxPolicy, "network" | "hosts">,
  engine: string,
): Pick<SandboxPolicy, "network" | "hosts"> {
  // Only a network namespace is a network of its own, with a way out for listed hosts alone.
  if (engine === "bubblewrap" || network === "all") return { network, hosts };
  return { network: "none", hosts: [] };
}

/** Whether no command runs outside the sandbox without a person. */
export function isDemanded({ mode }: Pick<SandboxPolicy, "mode">): boolean {
  return mode === "always" || mode === "review";
}

/** From the strictest to the laxest. */
const MODES: SandboxPolicy["mode"][] = ["review", "always", "off", "auto"];

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
    mode: MODES.find((mode) => modes.includes(mode)) ?? DEFAULT_SANDBOX.mode,
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

/** The entries that every config with the list names. */
function commonOf(lists: readonly string[][]): string[] {
  const [first = [], ...rest] = lists;
  return first.filter((one) => rest.every((list) => list.includes(one)));
}
