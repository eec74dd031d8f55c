import type { Action } from "../../server/actions/schema.ts";
import { type Client, unwrap } from "../../server/client.ts";
import type { GrantOffer, GrantPreview, Remember } from "../../server/grants/schema.ts";
import { isConfirmed } from "../terminal/confirm.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { type Io, isInteractive } from "../io.ts";
import { ago, count, paint, say } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** What the options of `gate approve` say of remembering. */
export interface RememberOptions {
  remember?: Remember["scope"];
  ttl?: number;
  maxUses?: number;
  pattern?: string;
  yes?: boolean;
}

const HOUR = 3600;
const USES = 10;

/**
 * Shows what would be remembered and what it would have allowed before; a person at the terminal is
 * asked whether that is meant. Undefined where nothing is to be remembered.
 */
export async function chooseRemember(
  io: Io,
  client: Client,
  action: Action,
  options: RememberOptions,
): Promise<Remember | undefined> {
  const { remember: scope, ttl, maxUses, pattern, yes } = options;
  if (scope === undefined) return refuseAlone(options);
  const preview = await previewOf(client, action.id, pattern);
  if (!preview.scopes.includes(scope)) throw sessionEnded(action.id);
  say(io, describePreview(io, preview, pattern ?? null));
  const wanted = {
    scope,
    ttl_seconds: ttl ?? HOUR,
    max_uses: maxUses ?? USES,
    ...pattern && { pattern },
  };
  if (isInteractive(io) && !yes) await askPerson(io, wanted);
  return wanted;
}

/** What could be remembered of a held action. @throws CliError where nothing can be */
async function previewOf(client: Client, id: string, pattern?: string): Promise<GrantPreview> {
  const json = { action_id: id, ...pattern && { pattern } };
  const preview = await unwrap(client.api.grants.preview.$post({ json }));
  if (preview.refused === null) return preview;
  throw new CliError(`Cannot remember it: ${preview.refused}`, { next: `gate approve ${id}` });
}

function sessionEnded(id: string): CliError {
  const why = "that has ended, so nothing could use it; approve it once, or for the project";
  return new CliError(`Cannot remember it for its session: ${why}`, {
    next: `gate approve ${id} --remember project`,
  });
}

function refuseAlone({ ttl, maxUses, pattern }: RememberOptions): undefined {
  if (ttl === undefined && maxUses === undefined && pattern === undefined) return undefined;
  throw new CliError("--ttl, --max-uses and --pattern say how to remember: add --remember", {
    next: "gate approve --help",
    exit: EXIT.usage,
  });
}

async function askPerson(io: Io, wanted: Remember): Promise<void> {
  const where = wanted.scope === "session" ? "this session" : "the whole project";
  const question = `Approve, and allow it ${wanted.max_uses} more times in ${where} ` +
    `for ${spanOf(wanted.ttl_seconds)}?`;
  if (await isConfirmed(io, question)) return;
  say(io, "Nothing was approved.");
  throw new Exit(EXIT.failed);
}

/** What is offered, the one that is meant marked, each with what it would have allowed. */
function describePreview(io: Io, preview: GrantPreview, meant: string | null): string {
  const { offers, looked_at, complete } = preview;
  const seen = `${complete ? "" : "the newest "}${count(looked_at, "action")}`;
  return [
    `What can be remembered, and what it would have allowed in 30 days (${seen} looked at):`,
    ...offers.flatMap((offer) => describeOffer(io, offer, offer.pattern === meant)),
  ].join("\n");
}

function describeOffer(io: Io, { pattern, says, matched }: GrantOffer, isMeant: boolean): string[] {
  const mark = isMeant ? paint(io, "green", "→") : " ";
  const name = pattern === null ? "exactly this" : `--pattern ${quote(visibleLine(pattern))}`;
  const rejected = matched.rejected > 0
    ? paint(io, "red", `, ${matched.rejected} of them rejected by a person`)
    : "";
  return [
    `${mark} ${paint(io, "bold", name)}`,
    `    ${visibleLine(says)}`,
    `    ${matched.count} in 30 days${rejected}`,
    ...(isMeant ? matched.newest : []).map((one) =>
      `      ${ago(one.created_at, Date.now()).padStart(4)}  ${one.status}  ` +
      visibleLine(one.command ?? one.path ?? one.tool).slice(0, 100)
    ),
  ];
}

/** Ready to be pasted into a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** `1 h`, `90 min`, `7 d`: the largest unit that says it exactly. */
function spanOf(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 86_400} d`;
  if (seconds % HOUR === 0) return `${seconds / HOUR} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
