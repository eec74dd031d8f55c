import type { Receiver } from "../config/notifications/schema.ts";
import { desktopCommand, sendDesktop } from "./kinds/desktop.ts";
import { DISCORD_USER, sendDiscord } from "./kinds/discord.ts";
import { sendEmail } from "./kinds/email.ts";
import { DeliveryError } from "./kinds/post.ts";
import type { Sending } from "./kinds/sending.ts";
import { sendSlack, SLACK_USER } from "./kinds/slack.ts";
import { openWebhook, sendWebhook } from "./kinds/webhook.ts";
import type { Message } from "./schema.ts";
import { readSecret, readSecretUrl, ReceiverProblem } from "./secrets.ts";

/** How to reach a member, as `team.json` says. */
export interface Reachable {
  id: string;
  email: string | null;
  channels: readonly { kind: string; address: string }[];
}

/** Sends a message once. @throws DeliveryError; another error for a fault of gate itself */
export async function send(receiver: Receiver, message: Message, how: Sending): Promise<void> {
  try {
    switch (receiver.kind) {
      case "webhook":
        return await sendWebhook(receiver, message, how);
      case "slack":
        return await sendSlack(receiver, message, how);
      case "discord":
        return await sendDiscord(receiver, message, how);
      case "email":
        return await sendEmail(receiver, message, how);
      case "desktop":
        return await sendDesktop(message, how);
    }
  } catch (error) {
    throw error instanceof ReceiverProblem ? new DeliveryError(error.message) : error;
  }
}

/** Why nothing can be sent to a receiver; null if something can. */
export function problemOf(receiver: Receiver, message: Message): string | null {
  try {
    if (receiver.kind === "webhook") openWebhook(receiver);
    else if (receiver.kind === "desktop") desktopCommand(message);
    else if (receiver.kind === "email") {
      const { user, password_env: env, password_file: file } = receiver.smtp;
      if (user !== undefined) readSecret({ env, file });
    } else readSecretUrl({ env: receiver.url_env, file: receiver.url_file });
    return null;
  } catch (error) {
    if (error instanceof ReceiverProblem) return error.message;
    throw error;
  }
}

/** The host that a receiver leads to, without a secret path. */
export function targetOf(receiver: Receiver): string {
  switch (receiver.kind) {
    case "webhook":
      return receiver.url === undefined
        ? `address in ${receiver.url_env ?? receiver.url_file}`
        : new URL(receiver.url).host;
    case "slack":
    case "discord":
      return `address in ${receiver.url_env ?? receiver.url_file}`;
    case "email":
      return `mail through ${receiver.smtp.host}`;
    case "desktop":
      return "this desktop";
  }
}

/** The addresses of members at a receiver of this kind. */
export function addressesOf(kind: Receiver["kind"], members: readonly Reachable[]): string[] {
  const named = members.flatMap(({ email, channels }) => {
    const own = channels.filter((one) => one.kind === kind).map(({ address }) => address);
    if (kind === "email") return own.length > 0 ? own : email === null ? [] : [email];
    return own;
  });
  return [...new Set(named)].filter((address) => ADDRESS[kind]?.test(address) ?? false);
}

const ADDRESS: Partial<Record<Receiver["kind"], RegExp>> = {
  slack: SLACK_USER,
  discord: DISCORD_USER,
  // No line break, no comma and no second address can stand in it.
  email: /^[^\s"(),:;<>@[\\\]]{1,64}@[A-Za-z0-9.-]{1,253}$/,
};
