import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import type { Receiver } from "../../config/notifications/schema.ts";
import type { Message } from "../schema.ts";
import { readSecret, readSecretUrl, ReceiverProblem } from "../secrets.ts";
import { postJson } from "./post.ts";
import type { Sending } from "./sending.ts";

type Webhook = Extract<Receiver, { kind: "webhook" }>;

/** Sends a message in the form of Standard Webhooks, signed with each secret of the receiver. */
export async function sendWebhook(
  receiver: Webhook,
  message: Message,
  { id, now, signal }: Sending,
): Promise<void> {
  const { url, keys } = openWebhook(receiver);
  const body = JSON.stringify(payloadOf(message));
  const timestamp = String(Math.floor(now / 1000));
  const signatures = keys.map((key) =>
    `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`
  );
  await postJson(url, body, {
    signal,
    headers: {
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signatures.join(" "),
    },
  });
}

/** The address and the keys of a webhook. @throws ReceiverProblem */
export function openWebhook(receiver: Webhook): { url: URL; keys: Buffer[] } {
  const { url, url_env, url_file, secret_env, secret_file } = receiver;
  const secrets = readSecret({ env: secret_env, file: secret_file });
  return {
    url: url === undefined ? readSecretUrl({ env: url_env, file: url_file }) : new URL(url),
    keys: secrets.split(/\s+/).map((secret) => keyOf(secret, secret_env ?? secret_file!)),
  };
}

/** Two secrets, separated by a blank, let the receiver change from one to the other. */
function keyOf(secret: string, place: string): Buffer {
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const key = Buffer.from(text ?? "", "base64");
  if (key.length >= 24 && key.length <= 64) return key;
  throw new ReceiverProblem(
    `"${place}" holds no secret of the form whsec_… (24 to 64 bytes in base64)`,
  );
}

function payloadOf({ type, at, title, quoted, ...data }: Message) {
  const { project_id, action_id, session_id, risk, deadline, asked, link } = data;
  const written = Object.fromEntries(quoted.map(({ name, text }) => [name.toLowerCase(), text]));
  return {
    type,
    timestamp: at,
    data: { title, project_id, action_id, session_id, risk, deadline, asked, link, written },
  };
}
