import type { Action } from "../../server/actions/schema.ts";
import { type Client, unwrap } from "../../server/client.ts";
import type { GrantOffer, GrantPreview, Remember } from "../../server/grants/schema.ts";
import { isConfirmed } from "../terminal/prompts.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { quote } from "../../server/shown/quote.ts";
import { type Io, isInteractive } from "../io.ts";
import { ago, count, paint, say } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** The options of `gate approve` for a remembered approval. */
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
 * Shows the grant that an approval would create and what it would have allowed; asks a person at a
 * terminal to confirm it. Returns undefined without `--remember`.
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

/** The possible grants for a held action. @throws CliError if there are none */
async function previewOf(client: Client, id: string, pattern?: string): Promise<GrantPreview> {
  const json = { action_id: id, ...pattern && { pattern } };
  const preview = await unwrap(client.api.grants.preview.$post({ json }));
  if (preview.refused === null) return preview;
  throw new CliError(`Cannot remember the approval: ${preview.refused}`, {
    next: `gate approve ${id}`,
  });
}

function sessionEnded(id: string): CliError {
  const why = "the session has ended; approve once, or for the project";
  return new CliError(`Cannot remember the approval for its session: ${why}`, {
    next: `gate approve ${id} --remember project`,
  });
}

function refuseAlone({ ttl, maxUses, pattern }: RememberOptions): undefined {
  if (ttl === undefined && maxUses === undefined && pattern === undefined) return undefined;
  throw new CliError("Cannot use --ttl, --max-uses or --pattern without --remember", {
    next: "gate approve --help",
    exit: EXIT.usage,
  });
}

async function askPerson(io: Io, wanted: Remember): Promise<void> {
  const where = wanted.scope === "session" ? "this session" : "the whole project";
  const question = `Approve, and allow the same ${wanted.max_uses} more times in ${where} ` +
    `for ${spanOf(wanted.ttl_seconds)}?`;
  if (await isConfirmed(io, question)) return;
  say(io, "Nothing was approved.");
  throw new Exit(EXIT.failed);
}

/** The possible grants, the chosen one marked, each with the past actions that it would allow. */
function describePreview(io: Io, preview: GrantPreview, chosen: string | null): string {
  const { offers, looked_at, complete } = preview;
  const seen = `${complete ? "" : "the newest "}${count(looked_at, "action")}`;
  return [
    `You can remember one of these. Each shows what it would have allowed in the last 30 days ` +
    `(${seen} checked):`,
    ...offers.flatMap((offer) => describeOffer(io, offer, offer.pattern === chosen)),
  ].join("\n");
}

function describeOffer(
  io: Io,
  { pattern, says, matched }: GrantOffer,
  isChosen: boolean,
): string[] {
  const mark = isChosen ? paint(io, "green", "→") : " ";
  const name = pattern === null ? "exactly this" : `--pattern ${quote(visibleLine(pattern))}`;
  const rejected = matched.rejected > 0
    ? paint(io, "red", `, ${matched.rejected} of them rejected by a person`)
    : "";
  return [
    `${mark} ${paint(io, "bold", name)}`,
    `    ${visibleLine(says)}`,
    `    ${matched.count} in 30 days${rejected}`,
    ...(isChosen ? matched.newest : []).map((one) =>
      `      ${ago(one.created_at, Date.now()).padStart(4)}  ${one.status}  ` +
      visibleLine(one.command ?? one.path ?? one.tool).slice(0, 100)
    ),
  ];
}

/** The duration in its largest exact unit: `1 h`, `90 min`, `7 d`. */
function spanOf(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 86_400} d`;
  if (seconds % HOUR === 0) return `${seconds / HOUR} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
