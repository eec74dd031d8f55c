import type { Receiver } from "../../config/notifications/schema.ts";
import type { Message } from "../schema.ts";
import { readSecretUrl } from "../secrets.ts";
import { postJson } from "./post.ts";
import type { Sending } from "./sending.ts";
import { factsOf, mentioned } from "./facts.ts";

/** Sends a message to an incoming webhook of Slack, and mentions the members who are asked. */
export async function sendSlack(
  { url_env, url_file }: Extract<Receiver, { kind: "slack" }>,
  message: Message,
  { signal }: Sending,
): Promise<void> {
  const url = readSecretUrl({ env: url_env, file: url_file });
  await postJson(url, JSON.stringify(slackMessage(message)), { signal });
}

/** The id of a Slack user, as a member's channel of the kind `slack` names it. */
export const SLACK_USER = /^[UW][A-Z0-9]{2,30}$/;

/** Only what gate wrote is markup. What the agent wrote stands in a block that Slack never parses. */
export function slackMessage(message: Message) {
  const { title, link, quoted } = message;
  const open = `<${link.replaceAll("&", "&amp;")}|Open the card>`;
  const facts = factsOf(message).map(([name, value]) => `${name}: ${value}`).join("\n");
  const text = quoted.map(({ name, text }) => `${name}: ${text}`).join("\n");
  return {
    text: title,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: "section", text: { type: "plain_text", text: `${title}\n${facts}`, emoji: false } },
      ...text === "" ? [] : [{
        type: "rich_text",
        elements: [{ type: "rich_text_preformatted", elements: [{ type: "text", text }] }],
      }],
      {
        type: "section",
        text: {
          type: "mrkdwn",
          text: [...mentioned(message).map((user) => `<@${user}>`), open].join(" "),
        },
      },
    ],
  };
}
