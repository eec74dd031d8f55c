import type { Receiver } from "../../config/notifications/schema.ts";
import type { Message } from "../schema.ts";
import { readSecretUrl } from "../secrets.ts";
import { factsOf, mentioned } from "./facts.ts";
import type { Sending } from "./sending.ts";
import { postJson } from "./post.ts";

/** Sends a message to a webhook of Discord, and mentions the members who are asked. */
export async function sendDiscord(
  { url_env, url_file }: Extract<Receiver, { kind: "discord" }>,
  message: Message,
  { signal }: Sending,
): Promise<void> {
  const url = readSecretUrl({ env: url_env, file: url_file });
  await postJson(url, JSON.stringify(discordMessage(message)), { signal });
}

/** The id of a Discord user, as a member's channel of the kind `discord` names it. */
export const DISCORD_USER = /^\d{15,21}$/;

/** Nobody is mentioned but these members. What the agent wrote cannot leave its code block. */
export function discordMessage(message: Message) {
  const { title, link, quoted } = message;
  const users = mentioned(message);
  const facts = factsOf(message).map(([name, value]) => `${name}: ${value}`);
  const text = quoted.map(({ name, text }) => `${name}: ${text.replaceAll("`", "ˋ")}`).join("\n");
  const mentions = users.map((user) => `<@${user}>`).join(" ");
  return {
    content: [title, ...facts, `Open the card: <${link}>`, ...mentions === "" ? [] : [mentions]]
      .join("\n"),
    allowed_mentions: { parse: [], users },
    embeds: text === "" ? [] : [{ description: `\`\`\`\n${text}\n\`\`\`` }],
  };
}
