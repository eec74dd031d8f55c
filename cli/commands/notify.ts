import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { type Client, unwrap } from "../../server/client.ts";
import { News, Receiver } from "../../server/config/notifications/schema.ts";
import { MACHINE_ID } from "../../server/constants.ts";
import type {
  Delivery,
  ReceiverChange,
  ReceiverStatus,
  TestResult,
} from "../../server/notifications/schema.ts";
import { acceptChanges, showChange } from "../config/accept.ts";
import { connect, scopedClient } from "../daemon/connect.ts";
import { CliError, EXIT, explain } from "../errors.ts";
import type { Io } from "../io.ts";
import { countBetween, examples } from "../options.ts";
import { PASSPHRASE_STDIN, type PassphraseOptions } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { count, paint, print, printJson } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import { sayWrong } from "../../server/issue.ts";

/** `gate notify`: where gate tells people about held actions. */
export function createCommand(io: Io) {
  const notify = new Command("notify")
    .description(
      "List, add or test the receivers of notifications: webhooks, Slack, Discord, e-mail and " +
        "this desktop. They are kept in config.json of the gate's home.",
    )
    .addHelpText("after", HELP);
  addList(notify, io);
  addAdd(notify, io);
  addRemove(notify, io);
  addTest(notify, io);
  addFailed(notify, io);
  addRetry(notify, io);
  addDiscard(notify, io);
  return notify;
}

function addList(notify: Command, io: Io): void {
  notify.command("list")
    .description("List the receivers in force, and how many messages they missed.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate notify list"))
    .action(async ({ json }) => {
      const { api } = await connect(io, { scope: "viewer" });
      const status = await unwrap(api.notifications.$get());
      if (json) return printJson(io, status);
      const { receivers, waits } = status;
      print(io, receivers.length > 0 ? receivers.map((one) => describe(io, one)).join("\n") : NONE);
      if (waits) print(io, WAITS);
    });
}

function addAdd(notify: Command, io: Io): void {
  notify.command("add")
    .description("Add a receiver to the global config and accept it. You prove it.")
    .argument("<kind>", "webhook, slack, discord, email or desktop", parseKind)
    .argument("<id>", "its name in commands")
    .option("--url <address>", "the address of a webhook")
    .option("--url-env <name>", "the daemon's variable that holds the address")
    .option("--url-file <path>", "the file that holds the address; only its owner may read it")
    .option("--secret-env <name>", "the daemon's variable that holds the secret whsec_…")
    .option("--secret-file <path>", "the file that holds the secret; only its owner may read it")
    .option("--smtp <host>", "the mail server")
    .option("--port <number>", "its port", countBetween(1, 65535))
    .addOption(
      new Option("--security <kind>", "how it is reached (default: tls)")
        .choices(["tls", "starttls", "none"] as const),
    )
    .option("--user <name>", "the user at the mail server")
    .option("--password-env <name>", "the daemon's variable that holds the password")
    .option("--password-file <path>", "the file that holds the password")
    .option("--from <address>", "the sender of mails")
    .option("--to <address...>", "who gets every mail; asked members get theirs too")
    .addOption(
      new Option("--on <news...>", "the news that it gets (default: all)").choices(News.options),
    )
    .option("--member <id...>", "only news that ask one of these members")
    .option("--in-project <id...>", "only news of these projects")
    .addOption(
      new Option("--min-risk <level>", "only actions of this risk or a higher one")
        .choices(["low", "medium", "high", "critical"] as const),
    )
    .option("--no-details", "leave out what the agent wrote")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      examples(
        "gate notify add desktop desk",
        "gate notify add webhook ops --url https://example.com/gate --secret-file ~/.gate/ops.key",
        "gate notify add slack team --url-env SLACK_URL --on reminder escalation",
        "gate notify add email mail --smtp mail.example.com --from gate@example.com",
      ),
    )
    .action(async (kind, id, { json, passphraseStdin, ...options }) => {
      const receiver = receiverOf(kind, id, options);
      await changeReceivers(
        io,
        ({ api }) => unwrap(api.notifications.receivers.$post({ json: receiver })),
        { json, passphraseStdin },
      );
      if (json) return printJson(io, receiver);
      print(io, `${paint(io, "green", "✓")} added: ${id}. Try it: gate notify test ${id}`);
    });
}

function addRemove(notify: Command, io: Io): void {
  notify.command("remove")
    .description("Remove a receiver from the global config and accept the change.")
    .argument("<id>", RECEIVER_ID)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate notify remove ops"))
    .action(async (id, { json, passphraseStdin }) => {
      const removed = await changeReceivers(
        io,
        ({ api }) => unwrap(api.notifications.receivers[":id"].$delete({ param: { id } })),
        { json, passphraseStdin },
      );
      if (json) return printJson(io, removed);
      print(io, `${paint(io, "green", "✓")} removed: ${visibleLine(id)}`);
    });
}

function addTest(notify: Command, io: Io): void {
  notify.command("test")
    .description("Send a test to one receiver or to all, and show whether it arrived.")
    .argument("[id]", RECEIVER_ID)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate notify test", "gate notify test ops"))
    .action(async (id, { json }) => {
      const { api } = await connect(io, { scope: "reviewer" });
      const body = id === undefined ? {} : { receiver_id: id };
      const result = await unwrap(api.notifications.test.$post({ json: body }));
      if (json) printJson(io, result);
      else print(io, result.items.map((one) => describeTest(io, one)).join("\n"));
      if (result.items.some(({ ok }) => !ok)) {
        throw new CliError("Cannot reach every receiver", { next: "gate notify list" });
      }
    });
}

const NO_MESSAGE = {
  dead: "gate gave up no message.",
  waiting: "No message waits to be sent again.",
  sent: "No message was sent.",
} as const;

function addFailed(notify: Command, io: Io): void {
  notify.command("failed")
    .description("List the messages that gate gave up, newest first.")
    .addOption(
      new Option("--state <state>", "list messages in another state")
        .choices(["dead", "waiting", "sent"] as const).default("dead" as const),
    )
    .option("--limit <count>", "list at most so many (default: 50)", countBetween(1, 500))
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate notify failed", "gate notify failed --state waiting"))
    .action(async ({ state, limit, json }) => {
      const { api } = await connect(io, { scope: "viewer" });
      const query = { state, ...limit !== undefined && { limit: String(limit) } };
      const { items } = await unwrap(api.notifications.deliveries.$get({ query }));
      if (json) return printJson(io, items);
      print(io, items.length > 0 ? items.map(describeDelivery).join("\n") : NO_MESSAGE[state]);
    });
}

function addRetry(notify: Command, io: Io): void {
  notify.command("retry")
    .description("Send given-up messages again: one, those of a receiver, or all.")
    .argument("[id]", "the message's id, as gate notify failed shows it")
    .option("--receiver <id>", "send those of this receiver")
    .option("--all", "send all of them")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate notify retry --all", "gate notify retry --receiver ops"))
    .action(async (id, { receiver, all, json }) => {
      if ([id, receiver, all].filter((one) => one !== undefined).length !== 1) {
        throw new CliError("Cannot retry: give exactly one of an id, --receiver and --all", {
          next: "gate notify retry --help",
          exit: EXIT.usage,
        });
      }
      const { api } = await connect(io, { scope: "reviewer" });
      const body = {
        ...id !== undefined && { id },
        ...receiver !== undefined && { receiver_id: receiver },
        ...all && { all },
      };
      const result = await unwrap(api.notifications.retry.$post({ json: body }));
      if (json) return printJson(io, result);
      print(io, `${paint(io, "green", "✓")} sends again: ${count(result.retried, "message")}`);
    });
}

function addDiscard(notify: Command, io: Io): void {
  notify.command("discard")
    .description("Delete a message, so that it is not sent any more.")
    .argument("<id>", "the message's id, as gate notify failed shows it")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate notify discard msg_0199f0c2-…"))
    .action(async (id, { json }) => {
      const { api } = await connect(io, { scope: "reviewer" });
      const one = api.notifications.deliveries[":id"];
      const deleted = await unwrap(one.$delete({ param: { id } }));
      if (json) return printJson(io, deleted);
      print(io, `${paint(io, "green", "✓")} discarded: ${describeDelivery(deleted)}`);
    });
}

interface AddOptions {
  url?: string;
  urlEnv?: string;
  urlFile?: string;
  secretEnv?: string;
  secretFile?: string;
  smtp?: string;
  port?: number;
  security?: "tls" | "starttls" | "none";
  user?: string;
  passwordEnv?: string;
  passwordFile?: string;
  from?: string;
  to?: string[];
  on?: News[];
  member?: string[];
  inProject?: string[];
  minRisk?: "low" | "medium" | "high" | "critical";
  details: boolean;
}

/** @throws CliError with the first field that does not fit the kind */
function receiverOf(kind: Receiver["kind"], id: string, options: AddOptions): Receiver {
  const { smtp: host, port, security, user } = options;
  const smtp = {
    ...{ host, port, security, user },
    password_env: options.passwordEnv,
    password_file: options.passwordFile,
  };
  const given = withoutUndefined({
    ...{ id, kind, on: options.on, members: options.member, projects: options.inProject },
    min_risk: options.minRisk,
    details: options.details ? undefined : false,
    url: options.url,
    url_env: options.urlEnv,
    url_file: options.urlFile,
    secret_env: options.secretEnv,
    secret_file: options.secretFile,
    smtp: Object.values(smtp).every((one) => one === undefined)
      ? undefined
      : withoutUndefined(smtp),
    ...{ from: options.from, to: options.to },
  });
  const parsed = Receiver.safeParse(given);
  if (parsed.success) return parsed.data;
  const wrong = visibleLine(sayWrong(parsed.error.issues[0]!));
  throw new CliError(`Cannot add receiver "${visibleLine(id)}": ${wrong}`, {
    next: "gate notify add --help",
    exit: EXIT.usage,
  });
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
}

/** Changes the receivers in config.json, then lets a person accept the change. */
async function changeReceivers(
  io: Io,
  send: (client: Client) => Promise<ReceiverChange>,
  { json, ...options }: PassphraseOptions & { json: true | undefined },
): Promise<Receiver> {
  const client = scopedClient(await openReview(io, options), MACHINE_ID);
  const { receiver, change } = await send(client);
  const changes = change ? [change] : [];
  if (!json) { for (const one of changes) showChange(io, one); }
  try {
    await acceptChanges(io, client, changes);
  } catch (error) {
    const { message } = explain(error);
    throw new CliError(`The change is in config.json, but it waits: ${message}`, {
      next: "gate config accept",
    });
  }
  return receiver;
}

function parseKind(text: string): Receiver["kind"] {
  const kind = KINDS.find((one) => one === text);
  if (kind !== undefined) return kind;
  throw new InvalidArgumentError(`It is one of ${KINDS.join(", ")}.`);
}

function describe(
  io: Io,
  { id, kind, target, on, problem, waiting, dead }: ReceiverStatus,
): string {
  const all = on.length === News.options.length ? "all news" : on.join(", ");
  const lines = [
    `${paint(io, "bold", visibleLine(id))}  ${kind}, ${visibleLine(target)}: ${all}`,
    ...problem === null ? [] : [`  ${paint(io, "red", "!")} ${visibleLine(problem)}`],
    ...waiting + dead === 0 ? [] : [
      `  ${waiting} waiting, ${dead} given up${dead > 0 ? ": gate notify failed" : ""}`,
    ],
  ];
  return lines.join("\n");
}

function describeTest(
  io: Io,
  { receiver_id, ok, error, duration_ms }: TestResult["items"][number],
): string {
  const id = visibleLine(receiver_id);
  return ok
    ? `${paint(io, "green", "✓")} ${id}: sent in ${duration_ms} ms`
    : `${paint(io, "red", "✗")} ${id}: ${visibleLine(error ?? "")}`;
}

function describeDelivery(delivery: Delivery): string {
  const { id, receiver_id, title, project_id, action_id, attempts, error, created_at } = delivery;
  const about = [project_id, ...action_id === null ? [] : [action_id]].join(" ");
  const head = `${visibleLine(id)}  ${created_at}  to ${visibleLine(receiver_id)}`;
  const why = error === null ? "" : `: ${visibleLine(error)}`;
  const tries = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  return `${head}\n  ${visibleLine(title)} (${visibleLine(about)})\n  ${tries}${why}`;
}

const KINDS = ["webhook", "slack", "discord", "email", "desktop"] as const;
const RECEIVER_ID = "the receiver's name, as gate notify list shows it";
const NONE = "No receiver is configured: nothing leaves this machine.";
const WAITS = "config.json names other receivers, and nobody has accepted them: gate config accept";

const HELP = `
Secrets stay out of config.json: it names a variable of the daemon or a file that only you can read.
A webhook is signed as Standard Webhooks says (webhook-id, webhook-timestamp, webhook-signature). A
message that fails is retried for about seven hours, then listed. Links in messages open the card;
they decide nothing. A member of the team is reached at the e-mail address, or at a channel of the
kind slack or discord, that gate team shows for them.

Examples:
  gate notify add desktop desk
  gate notify add slack team --url-file ~/.gate/slack.url --on reminder escalation
  gate notify test
  gate notify failed
`;
