import { z } from "zod";

/** The kinds of news that a receiver can get. */
export const News = z.enum(["held", "reminder", "escalation", "expired", "block"]);
export type News = z.infer<typeof News>;

const id = z.string().regex(
  /^[a-z0-9][a-z0-9_-]{0,63}$/,
  "expected 1 to 64 lowercase letters, digits, dashes or underscores",
);
const variable = z.string().regex(
  /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
  "expected the name of an environment variable",
).refine((name) => !name.startsWith("whsec_"), {
  error: "expected the name of a variable, not the secret itself",
});
const file = z.string().min(1).max(4096).regex(
  /^(?:\/|[A-Za-z]:[\\/])/,
  "expected an absolute path",
);
const email = z.email("expected an e-mail address").max(254);
const host = z.string().max(253).regex(
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])$/,
  "expected a host name or an address",
);

const url = z.string().max(2048).superRefine((text, context) => {
  const why = faultOfUrl(text);
  if (why !== null) context.addIssue({ code: "custom", message: why });
});

const common = {
  id,
  on: z.array(News).min(1).max(News.options.length).optional()
    .describe("the news that it gets; default: all of them"),
  members: z.array(z.string().min(1).max(64)).max(100).optional()
    .describe("only news that ask one of these members; default: all news"),
  projects: z.array(z.string().min(1).max(64)).max(100).optional()
    .describe("only news of these projects; default: all projects"),
  min_risk: z.enum(["low", "medium", "high", "critical"]).optional()
    .describe("only actions of this risk or a higher one"),
  details: z.boolean().optional()
    .describe("false leaves out what the agent wrote: the path, the command and the agent's name"),
};

/** A secret address: chat services accept every message that is sent to it. */
const secretUrl = { url_env: variable.optional(), url_file: file.optional() };

const Webhook = z.strictObject({
  ...common,
  kind: z.literal("webhook"),
  url: url.optional(),
  ...secretUrl,
  secret_env: variable.optional(),
  secret_file: file.optional(),
}).refine(({ url, url_env, url_file }) => countGiven(url, url_env, url_file) === 1, {
  error: 'give exactly one of "url", "url_env" and "url_file"',
}).refine(({ secret_env, secret_file }) => countGiven(secret_env, secret_file) === 1, {
  error: 'give exactly one of "secret_env" and "secret_file": each message is signed',
});

const ONE_URL = {
  error: 'give exactly one of "url_env" and "url_file": the address is a secret',
};

const Slack = z.strictObject({ ...common, kind: z.literal("slack"), ...secretUrl })
  .refine(({ url_env, url_file }) => countGiven(url_env, url_file) === 1, ONE_URL);

const Discord = z.strictObject({ ...common, kind: z.literal("discord"), ...secretUrl })
  .refine(({ url_env, url_file }) => countGiven(url_env, url_file) === 1, ONE_URL);

const Smtp = z.strictObject({
  host,
  port: z.number().int().min(1).max(65535).optional()
    .describe("default: 465 for tls, 587 for starttls, 25 for none"),
  security: z.enum(["tls", "starttls", "none"]).optional()
    .describe("default: tls; none only for a server on this machine"),
  user: z.string().min(1).max(254).optional(),
  password_env: variable.optional(),
  password_file: file.optional(),
}).refine(({ security, host }) => security !== "none" || isLoopback(host), {
  error: '"security": "none" is only for a server on this machine',
}).refine(
  ({ user, password_env, password_file }) =>
    countGiven(password_env, password_file) === (user === undefined ? 0 : 1),
  { error: 'give "user" and exactly one of "password_env" and "password_file", or none of them' },
);

const Email = z.strictObject({
  ...common,
  kind: z.literal("email"),
  smtp: Smtp,
  from: email,
  to: z.array(email).max(50).optional()
    .describe("who gets all of its news; members who are asked get theirs at their own address"),
});

const Desktop = z.strictObject({ ...common, kind: z.literal("desktop") });

/** Where news go: a webhook, a chat, a mail server or this desktop. */
export const Receiver = z.discriminatedUnion("kind", [Webhook, Slack, Discord, Email, Desktop]);
export type Receiver = z.infer<typeof Receiver>;
export type ReceiverKind = Receiver["kind"];

/** `notifications` of the global config. */
export const Notifications = z.strictObject({
  receivers: z.array(Receiver).max(16).superRefine((all, context) => {
    const ids = all.map((one) => one.id);
    for (const [at, id] of ids.entries()) {
      if (ids.indexOf(id) === at) continue;
      context.addIssue({ code: "custom", path: [at, "id"], message: `"${id}" is there twice` });
    }
  }).default([]),
});
export type Notifications = z.infer<typeof Notifications>;

/** Why news cannot be sent to this address; null if they can. */
export function faultOfUrl(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return "expected an address such as https://example.com/hook";
  if (url.username !== "" || url.password !== "") return "the address must not hold a password";
  if (url.hash !== "") return "the address must not have a fragment";
  if (url.protocol === "https:") return null;
  if (url.protocol === "http:" && isLoopback(url.hostname)) return null;
  return "the address must begin with https:// (http:// only for this machine)";
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function countGiven(...values: unknown[]): number {
  return values.filter((value) => value !== undefined).length;
}
