import { z } from "zod";
import { News, Receiver } from "../config/notifications/schema.ts";
import { OutsideChange } from "../config/schema.ts";

/** One piece of news, as it is kept until every receiver has it. */
export const Message = z.object({
  type: z.string().describe("of the audit event, such as reminder.sent; test for a test"),
  at: z.iso.datetime(),
  project_id: z.string(),
  action_id: z.string().nullable(),
  session_id: z.string().nullable(),
  title: z.string().describe("one line that gate wrote"),
  risk: z.string().nullable(),
  deadline: z.string().nullable(),
  asked: z.array(z.string()).describe("the ids of the members who may decide now"),
  quoted: z.array(z.object({ name: z.string(), text: z.string() }))
    .describe("what the agent wrote, one line each: secrets are redacted, long texts cut"),
  link: z.string().describe("opens the card on this machine; it decides nothing"),
  to: z.array(z.string()).describe("the addresses of these members at the receiver"),
});
export type Message = z.infer<typeof Message>;

/** Where a message to one receiver stands. */
export const DeliveryState = z.enum(["waiting", "sent", "dead"]);
export type DeliveryState = z.infer<typeof DeliveryState>;

/** One message to one receiver. */
export const Delivery = z.object({
  id: z.string().describe("the `webhook-id`: the same in each attempt"),
  receiver_id: z.string(),
  project_id: z.string(),
  type: z.string(),
  action_id: z.string().nullable(),
  title: z.string(),
  state: DeliveryState,
  attempts: z.number().int(),
  next_at: z.string().nullable().describe("the time of the next attempt"),
  error: z.string().nullable().describe("of the last attempt"),
  created_at: z.string(),
  done_at: z.string().nullable(),
});
export type Delivery = z.infer<typeof Delivery>;

/** Query of `GET /api/notifications/deliveries`. */
export const DeliveryQuery = z.object({
  state: DeliveryState.optional().describe("default: dead, the ones that gate gave up"),
  limit: z.coerce.number().int().min(1).max(500).optional(),
});

/** Answer of `GET /api/notifications/deliveries`, newest first. */
export const DeliveryList = z.object({ items: z.array(Delivery) });

/** A receiver of the accepted global config, without its secrets. */
export const ReceiverStatus = z.object({
  id: z.string(),
  kind: z.string(),
  target: z.string().describe("the host that it leads to"),
  on: z.array(News),
  problem: z.string().nullable().describe("why nothing can be sent, such as a missing secret"),
  waiting: z.number().int(),
  dead: z.number().int().describe("messages that gate gave up"),
});
export type ReceiverStatus = z.infer<typeof ReceiverStatus>;

/** `GET /api/notifications`. */
export const NotificationStatus = z.object({
  receivers: z.array(ReceiverStatus),
  waits: z.boolean()
    .describe("receivers in config.json were changed, and a person has not accepted them"),
});
export type NotificationStatus = z.infer<typeof NotificationStatus>;

const receiver_id = z.string().min(1).max(64);

/** Body of `POST /api/notifications/test`. */
export const TestInput = z.strictObject({
  receiver_id: receiver_id.optional().describe("default: every receiver"),
});
export type TestInput = z.infer<typeof TestInput>;

/** Answer of `POST /api/notifications/test`: the outcome of one attempt for each receiver. */
export const TestResult = z.object({
  items: z.array(z.object({
    receiver_id: z.string(),
    ok: z.boolean(),
    error: z.string().nullable(),
    duration_ms: z.number().int(),
  })),
});
export type TestResult = z.infer<typeof TestResult>;

/** Body of `POST /api/notifications/retry`: one given-up message, those of a receiver, or all. */
export const RetryInput = z.strictObject({
  id: z.string().min(1).max(64).optional(),
  receiver_id: receiver_id.optional(),
  all: z.literal(true).optional(),
}).refine(
  ({ id, receiver_id, all }) =>
    [id, receiver_id, all].filter((one) => one !== undefined).length === 1,
  { error: 'give exactly one of "id", "receiver_id" and "all"' },
);
export type RetryInput = z.infer<typeof RetryInput>;

/** Answer of `POST /api/notifications/retry`. */
export const RetryResult = z.object({ retried: z.number().int() });

/** `GET /api/notifications/receivers`: as config.json names them, accepted or not. */
export const ReceiverList = z.object({ items: z.array(Receiver) });

/** Answer of a change of the receivers in config.json. */
export const ReceiverChange = z.object({
  receiver: Receiver,
  change: OutsideChange.nullable()
    .describe("what a person must accept with POST /api/config/accept before it is in force"),
});
export type ReceiverChange = z.infer<typeof ReceiverChange>;
