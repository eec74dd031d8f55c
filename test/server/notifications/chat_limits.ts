import { z } from "zod";

// As Slack and Discord document their incoming webhooks. Every key that is not documented fails.

const plainText = z.strictObject({
  type: z.literal("plain_text"),
  text: z.string().min(1).max(3_000),
  emoji: z.boolean().optional(),
});
const mrkdwn = z.strictObject({ type: z.literal("mrkdwn"), text: z.string().min(1).max(3_000) })
  // A bare "&" is written as "&amp;".
  .refine(({ text }) => !/&(?!amp;|lt;|gt;)/.test(text), { error: "an unescaped &" });
const preformatted = z.strictObject({
  type: z.literal("rich_text_preformatted"),
  elements: z.array(z.strictObject({ type: z.literal("text"), text: z.string().min(1) })).min(1),
});
const block = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("section"),
    text: z.discriminatedUnion("type", [plainText, mrkdwn]),
  }),
  z.strictObject({ type: z.literal("rich_text"), elements: z.array(preformatted).min(1) }),
]);

/** A message that Slack takes: 3,000 characters in a section, 50 blocks, about 13,000 in all. */
export const SlackMessage = z.strictObject({
  text: z.string().min(1).max(40_000),
  unfurl_links: z.boolean().optional(),
  unfurl_media: z.boolean().optional(),
  blocks: z.array(block).min(1).max(50),
}).refine(({ blocks }) => JSON.stringify(blocks).length <= 13_000, {
  error: "msg_blocks_too_long",
});

const snowflake = z.string().regex(/^\d{15,21}$/);

/** A message that Discord takes: 2,000 characters, 10 embeds of 4,096 and 6,000 in all. */
export const DiscordMessage = z.strictObject({
  content: z.string().min(1).max(2_000),
  allowed_mentions: z.strictObject({
    parse: z.array(z.enum(["roles", "users", "everyone"])),
    users: z.array(snowflake).max(100),
  }),
  embeds: z.array(z.strictObject({ description: z.string().min(1).max(4_096) })).max(10),
}).refine(
  ({ embeds }) => embeds.reduce((sum, { description }) => sum + description.length, 0) <= 6_000,
  { error: "embeds are too long together" },
).refine(
  ({ content, allowed_mentions: { users } }) =>
    [...content.matchAll(/<@!?(\d+)>/g)].every(([, id]) => users.includes(id!)),
  { error: "a mention that is not permitted" },
);
