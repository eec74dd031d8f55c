import { builtin, type Finding, GIT_LINK, toDecision, UNPROVED } from "./finding.ts";
import { meter } from "./meter.ts";
import { ownTmp } from "./own_tmp.ts";
import type { CompiledPolicy, Evaluation } from "./policy.ts";
import type { EvaluationOptions } from "./request.ts";
import { isDemanded, networkIn } from "./sandbox.ts";
import type { Decision, Sandbox } from "./schema.ts";

/** The list of the builtin rule about commands in the sandbox. */
export const SANDBOX = "sandbox";

/**
 * The evaluation of a command that may run in a sandbox. A question becomes `allow` if the sandbox
 * holds everything that is asked about; a denial stays. Without an engine nothing changes, unless
 * the policy demands the sandbox: then a person is asked.
 */
export function contain(
  evaluation: Evaluation,
  policy: CompiledPolicy,
  { sandbox: engine, roots, user_home, gate_home }: EvaluationOptions,
): Evaluation {
  const { decision, asks } = evaluation;
  const { mode, answers } = policy.sandbox;
  if (decision.effect === "deny" || policy.error !== null) return evaluation;
  if (!engine) return isDemanded(policy.sandbox) ? withoutEngine(evaluation) : evaluation;
  if (mode === "off") return evaluation;
  const sandbox = sandboxOf(policy, engine, { roots, user_home, gate_home });
  const everywhere = isDemanded(policy.sandbox) ? sandbox : null;
  if (decision.effect === "allow") {
    return { ...evaluation, decision: { ...decision, sandbox: everywhere } };
  }
  const refused = answers ? refusedBecause(policy, asks, evaluation.obstacles) : OFF;
  const before = asks.flatMap((one) => one.denied ?? []);
  const denied = before.find(({ effect }) => effect === "deny") ?? before[0];
  const bare = denied === undefined ? decision : toDecision(denied);
  if (refused !== null && denied?.effect === "deny") return { ...evaluation, decision: bare };
  if (refused !== null) {
    const held = { ...bare, sandbox: everywhere };
    return { ...evaluation, decision: held, sandbox_refused: refused };
  }
  const outside = { ...bare, sandbox: denied === undefined ? everywhere : null };
  return { ...evaluation, decision: allowed(decision, sandbox), outside };
}

/** The surroundings of a command, with the folders that a person opened for the sandbox. */
export function withFolders(
  { sandbox: { mode, answers, writable } }: CompiledPolicy,
  options: EvaluationOptions,
): EvaluationOptions {
  const { sandbox } = options;
  if (!sandbox || mode === "off" || !answers) return options;
  const folders = [...writable, ...sandbox.opened?.writable ?? []]
    .map((folder) => options.resolve(folder.replace(/^~(?=\/)/, () => options.user_home)).real);
  const is_own = ownTmp(sandbox, options);
  return { ...options, sandbox: { ...sandbox, folders, ...is_own && { is_own } } };
}

const OFF = 'a config sets the sandbox to "off"';

/** Why the sandbox answers none of the questions; null if it holds everything. */
function refusedBecause(
  policy: CompiledPolicy,
  asks: readonly Finding[],
  obstacles: () => string[],
): string | null {
  const forbids = policy.rules.some(({ list }) => /^(ask|blocked)Commands$/.test(list));
  const open = asks.find((one) => !isContained(one, forbids));
  if (open) return open.reason;
  meter.reset();
  try {
    return obstacles()[0] ?? null;
  } catch (error) {
    return `gate cannot tell whether the sandbox holds it: ${
      error instanceof Error ? error.message : String(error)
    }`;
  }
}

/**
 * Whether the walls of the sandbox hold what a finding asks about. They hold files and the network,
 * not rules about commands: if the policy has such rules (`forbids`), code that the text hides asks.
 */
function isContained({ effect, rule, is_walled, unknown }: Finding, forbids: boolean): boolean {
  if (effect !== "ask") return false;
  if (rule === null) return true;
  if (rule.source !== "builtin" || WALLED.test(rule.list)) return is_walled === true;
  if (rule.list === UNPROVED || rule.list === GIT_LINK) return true;
  return unknown === "files" || (unknown === "code" && !forbids);
}

/** The builtin rules about files. The sandbox holds some of those files. */
const WALLED = /^(outside-root|never-automatic)$/;

function allowed({ reason }: Decision, sandbox: Sandbox): Decision {
  const why = "Nobody is asked, because the sandbox limits what the command can reach. " +
    `Without a sandbox, a person would be asked: ${reason}`;
  const finding = { ...builtin("allow", SANDBOX, "*", why) };
  return { ...toDecision(finding), sandbox };
}

/** Where the policy demands the sandbox, no command may run bare without a person. */
function withoutEngine(evaluation: Evaluation): Evaluation {
  if (evaluation.decision.effect !== "allow") return evaluation;
  return askedAbout(
    evaluation,
    "The policy wants every command in a sandbox, and here gate cannot make one; " +
      "a person must approve it",
  );
}

/** An allowed command that is to run outside the sandbox only if a person approves it. */
export function askedAbout<E extends Evaluation>(evaluation: E, why: string): E {
  const finding = builtin("ask", SANDBOX, "*", why);
  return {
    ...evaluation,
    decision: toDecision(finding),
    matched: [finding.rule!, ...evaluation.matched],
    asks: [finding, ...evaluation.asks],
  };
}

/** More masks are counted, not listed. */
const MOST_LISTED = 60;

/** The sandbox that a policy makes, as a person reads it. */
export function sandboxOf(
  { sandbox: { mode, writable, ...reach }, rules }: CompiledPolicy,
  { engine, opened }: NonNullable<EvaluationOptions["sandbox"]>,
  { roots, user_home, gate_home }: Pick<EvaluationOptions, "roots" | "user_home" | "gate_home">,
): Sandbox {
  const given = { ...reach, hosts: [...reach.hosts, ...opened?.hosts ?? []] };
  const { network, hosts } = networkIn(given, engine);
  const blocked = rules.filter(({ list }) => list === "blockedPaths").map(({ pattern }) => pattern);
  const home = gate_home.startsWith(`${user_home}/`) ? ["~"] : ["~", gate_home];
  const masked = [...new Set([...blocked, ...home])];
  const more = masked.length - MOST_LISTED;
  const reached = [...new Set(hosts)];
  return {
    engine,
    network,
    masked: more > 0 ? [...masked.slice(0, MOST_LISTED), `and ${more} more`] : masked,
    writable: [...new Set([...roots, ...writable, ...opened?.writable ?? []])],
    ...reached.length > 0 && { hosts: reached },
    ...opened && opened.readable.length > 0 && { readable: [...opened.readable] },
    ...mode === "review" && { held_back: true as const },
  };
}
