import type { Receiver } from "../../config/notifications/schema.ts";
import { withoutLinks } from "../plain_text.ts";
import type { Message } from "../schema.ts";
import { readSecret } from "../secrets.ts";
import { factsOf } from "./facts.ts";
import type { Sending } from "./sending.ts";
import { DeliveryError, explainFailure } from "./post.ts";

type Email = Extract<Receiver, { kind: "email" }>;

const PORTS = { tls: 465, starttls: 587, none: 25 };

/** Sends a message as plain text through the configured mail server, with TLS unless it is local. */
export async function sendEmail(
  { smtp, from, to = [] }: Email,
  message: Message,
  { id, signal, timeout_ms }: Sending,
): Promise<void> {
  const { host, security = "tls", port = PORTS[security], user } = smtp;
  // Loaded here, because it is an eighth of the daemon's code and most people send no mail.
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    host: host.replaceAll(/^\[|\]$/g, ""),
    port,
    secure: security === "tls",
    requireTLS: security === "starttls",
    ignoreTLS: security === "none",
    ...user !== undefined && {
      auth: { user, pass: readSecret({ env: smtp.password_env, file: smtp.password_file }) },
    },
    connectionTimeout: timeout_ms,
    greetingTimeout: timeout_ms,
    socketTimeout: timeout_ms,
    dnsTimeout: timeout_ms,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    await endedBy(
      signal,
      transport.sendMail({
        from: { name: "gate", address: from },
        to: [...new Set([...to, ...message.to])],
        messageId: `<${id}@gate.invalid>`,
        headers: { "Auto-Submitted": "auto-generated" },
        ...mailOf(message),
      }),
    );
  } catch (error) {
    throw new DeliveryError(explainMail(error, signal));
  } finally {
    transport.close();
  }
}

/** The result, unless the signal comes first: a slow server may send a byte now and then. */
function endedBy<T>(signal: AbortSignal, result: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
    result.then(resolve, reject);
  });
}

/** Only plain text: no program shows markup in it, and what the agent wrote holds no links. */
export function mailOf(message: Message): { subject: string; text: string } {
  const { title, link, quoted, project_id } = message;
  return {
    subject: `gate: ${title} (${withoutLinks(project_id)})`,
    text: [
      title,
      "",
      ...factsOf(message).map(([name, value]) => `${name}: ${withoutLinks(value)}`),
      ...quoted.length === 0 ? [] : ["", "What the agent wrote:"],
      ...quoted.map(({ name, text }) => `> ${name}: ${withoutLinks(text)}`),
      "",
      `Open the card: ${link}`,
      "The link opens on the machine where gate runs. It decides nothing.",
      "",
    ].join("\n"),
  };
}

/** The server's own text is left out: it may hold anything. */
function explainMail(error: unknown, signal: AbortSignal): string {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  if (signal.aborted || code === "ETIMEDOUT") return "it did not answer in time";
  if (code === "EAUTH") return "it does not accept the user or the password";
  if (typeof responseCode === "number") return `it answers with status ${responseCode}`;
  return explainFailure(error, signal);
}
