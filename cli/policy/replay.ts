import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { resolve } from "node:path";
import type { z } from "zod";
import { type Client, unwrap } from "../../server/client.ts";
import { parseConfig } from "../../server/config/load.ts";
import { ProjectConfig } from "../../server/config/schema.ts";
import type {
  PolicyReplayInput,
  PolicyReplayPage,
  ReplayCounts,
  ReplayedAction,
  RuleReplay,
  Unjudged,
} from "../../server/trials/schema.ts";
import { Policies } from "../../server/policy/schema.ts";
import { scopedClient } from "../daemon/connect.ts";
import { openReview } from "../proof/prover.ts";
import { CliError, EXIT } from "../errors.ts";
import { readNamed } from "../terminal/input.ts";
import type { Io } from "../io.ts";
import { count, paint, print, printJson } from "../terminal/output.ts";
import { chooseProject } from "../project.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate policy replay`: replays other policies over the recorded actions. */
export function addReplay(policy: CommandUnknownOpts, io: Io): void {
  policy.command("replay")
    .description("Replay other policies over the recorded actions and show what changes.")
    .option("--since <time>", "the start: 12h, 30d or 2w ago, or a date such as 2026-03-01", "30d")
    .option("--config <file>", "replace the project's policies by those of this gate.config.json")
    .option("--policies <file>", "replace single keys by those of this file")
    .option("--project <id>", "the project (default: that of this folder)")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async ({ since, config, policies, project, json }) => {
      const now = Date.now();
      const candidate = await readCandidate(io, { config, policies });
      const asked = { since: readSince(since, now), ...candidate };
      const connection = await openReview(io);
      const id = await chooseProject(io, connection.client, project);
      const replay = await replayAll(scopedClient(connection, id), asked, {
        progress: new Progress(io, "Replaying the policies …"),
        now,
      });
      if (json) printJson(io, replay);
      else print(io, describeReplay(io, replay));
    });
}

/** The effect of these keys of the policies on the recorded actions, as text. */
export async function replayPolicies(
  io: Io,
  client: Client,
  { policies, since }: { policies: Policies; since: string },
): Promise<string> {
  const now = Date.now();
  const progress = new Progress(io, "Replaying the policies …");
  const asked = { policies, since: readSince(since, now) };
  return describeReplay(io, await replayAll(client, asked, { progress, now }));
}

type Candidate = Pick<PolicyReplayInput, "policies" | "whole">;

async function readCandidate(
  io: Io,
  files: { config?: string | undefined; policies?: string | undefined },
): Promise<Candidate> {
  if (files.config !== undefined && files.policies !== undefined) {
    throw new CliError("Give either --config or --policies, not both", {
      next: "gate policy replay --help",
      exit: EXIT.usage,
    });
  }
  if (files.policies !== undefined) {
    return { policies: await readFile(io, files.policies, Policies) };
  }
  if (files.config === undefined) return {};
  const { policies = {} } = await readFile(io, files.config, ProjectConfig);
  return { policies, whole: true };
}

async function readFile<T>(io: Io, file: string, schema: z.ZodType<T>): Promise<T> {
  const text = await readNamed(io, file, "gate policy replay --help");
  const { value, error } = parseConfig(resolve(io.cwd, file), text, schema);
  if (value === null) throw new CliError(`Cannot use the policies: ${error}`);
  return value;
}

async function replayAll(
  client: Client,
  asked: PolicyReplayInput,
  { progress, now }: { progress: Progress; now: number },
): Promise<Replay> {
  const replay = emptyReplay(asked.since);
  const whole = Math.max(1, now - Date.parse(asked.since));
  try {
    let cursor: string | null = null;
    do {
      const json: PolicyReplayInput = cursor === null ? asked : { ...asked, cursor };
      const page: PolicyReplayPage = await unwrap(client.api.policy.replay.$post({ json }));
      addPage(replay, page);
      cursor = page.next_cursor;
      if (page.reached) progress.show((now - Date.parse(page.reached)) / whole);
    } while (cursor !== null);
  } finally {
    progress.end();
  }
  return replay;
}

const MOST_EXAMPLES = 3;
const SHOWN_RULES = 12;

/** The sum of all pages of a replay. */
interface Replay {
  since: string;
  checked: number;
  totals: ReplayCounts;
  rules: RuleReplay[];
  unjudged: Unjudged[];
}

/** A replay before its first page. */
function emptyReplay(since: string): Replay {
  return { since, checked: 0, totals: { ...NOTHING }, rules: [], unjudged: [] };
}

/** Adds a page to the sums. */
function addPage(replay: Replay, page: PolicyReplayPage): void {
  replay.checked += page.checked;
  sum(replay.totals, page.totals);
  for (const one of page.rules) {
    const known = replay.rules.find(({ rule }) => sameText(rule, one.rule));
    if (!known) replay.rules.push(one);
    else {
      sum(known, one);
      known.examples = [...known.examples, ...one.examples].toSorted(rejectedFirst)
        .slice(0, MOST_EXAMPLES);
    }
  }
  for (const one of page.unjudged) {
    const known = replay.unjudged.find(({ why }) => why === one.why);
    if (known) known.count += one.count;
    else replay.unjudged.push(one);
  }
  replay.rules.sort((a, b) => weight(b) - weight(a));
}

/** The replay as text: the sums, then each rule with examples. */
function describeReplay(io: Io, replay: Replay): string {
  const { totals, checked, rules, unjudged, since } = replay;
  const lines = [
    `${count(checked, "recorded action")} since ${since.slice(0, 10)} replayed`,
    `  newly blocked  ${totals.newly_blocked}`,
    `  newly asked    ${totals.newly_asked}`,
    `  newly allowed  ${totals.newly_allowed}`,
    `  prompts saved  ${totals.prompts_saved}`,
  ];
  if (totals.rejected_now_allowed > 0) {
    const said = `${totals.rejected_now_allowed} that a person rejected would be allowed`;
    lines.push(paint(io, "red", `  ${said}`));
  }
  for (const { why, count } of unjudged) lines.push(`  not evaluated  ${count}: ${why}`);
  for (const one of rules.slice(0, SHOWN_RULES)) lines.push("", ...describeRule(one));
  const more = rules.length - SHOWN_RULES;
  if (more > 0) lines.push("", `… ${more} more rules (--json)`);
  return lines.join("\n");
}

function describeRule({ rule, examples, ...counts }: RuleReplay): string[] {
  const name = rule
    ? `${visibleLine(rule.pattern)}  (${rule.source} ${rule.list})`
    : "no rule, so the default applies";
  const changes = NAMES.filter((one) => counts[one] > 0)
    .map((one) => `${counts[one]} ${one.replaceAll("_", " ")}`);
  return [name, `  ${changes.join(", ")}`, ...examples.map(describeExample)];
}

function describeExample({ id, what, was, now, status }: ReplayedAction): string {
  const then = status === "rejected" ? `${was}, rejected` : was;
  return `  ${id}  ${then} → ${now}  ${visibleLine(what).slice(0, 100)}`;
}

const NOTHING: ReplayCounts = {
  newly_blocked: 0,
  newly_asked: 0,
  newly_allowed: 0,
  prompts_saved: 0,
  rejected_now_allowed: 0,
};
const NAMES = Object.keys(NOTHING) as (keyof ReplayCounts)[];

function sum(to: ReplayCounts, more: ReplayCounts): void {
  for (const name of NAMES) to[name] += more[name];
}

function weight(counts: ReplayCounts): number {
  return counts.newly_blocked + counts.newly_asked + counts.newly_allowed;
}

function sameText(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function rejectedFirst(a: ReplayedAction, b: ReplayedAction): number {
  return Number(b.status === "rejected") - Number(a.status === "rejected");
}

const MS = { h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** The ISO time of `30d`, `12h`, `2w` ago or of a date. @throws CliError */
export function readSince(text: string, now: number): string {
  const [, count, unit] = /^(\d{1,4})([hdw])$/.exec(text) ?? [];
  const at = count ? now - Number(count) * MS[unit as keyof typeof MS] : Date.parse(text);
  const isDate = count !== undefined || /^\d{4}-\d{2}-\d{2}/.test(text);
  if (isDate && Number.isFinite(at)) return new Date(at).toISOString();
  throw new CliError(`Cannot read "${text}": --since takes 12h, 30d, 2w or a date`, {
    next: "--since 30d",
    exit: EXIT.usage,
  });
}

/** One line of progress on stderr, on terminals only. */
class Progress {
  readonly #io: Io;
  readonly #what: string;
  #shown = false;

  constructor(io: Io, what: string) {
    this.#io = io;
    this.#what = what;
  }

  /** @param share from 0 to 1 */
  show(share: number): void {
    if (!this.#io.stderr.isTTY) return;
    this.#shown = true;
    const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
    this.#io.stderr.write(`\r\x1b[K${this.#what} ${percent} %`);
  }

  end(): void {
    if (this.#shown) this.#io.stderr.write("\r\x1b[K");
    this.#shown = false;
  }
}

const HELP = `
Changes nothing: it evaluates the recorded actions again, with the files as they are today. It
counts actions that it cannot evaluate (redacted inputs, rollbacks) separately.

Examples:
  gate policy replay --since 7d
  gate policy replay --config gate.config.new.json --json
  echo '{"blockedCommands": ["git push"]}' > rules.json && gate policy replay --policies rules.json
`;
