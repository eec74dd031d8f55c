import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe, json, query } from "../route.ts";
import { Receiver } from "../config/notifications/schema.ts";
import type { Configs } from "../config/configs.ts";
import type { Notifications } from "./notifications.ts";
import { addReceiver, listReceivers, removeReceiver, replaceReceiver } from "./receivers.ts";
import {
  Delivery,
  DeliveryList,
  DeliveryQuery,
  NotificationStatus,
  ReceiverChange,
  ReceiverList,
  RetryInput,
  RetryResult,
  TestInput,
  TestResult,
} from "./schema.ts";

interface NotificationsServices {
  caller: Caller;
  daemon: { notifications: Notifications; configs: Configs };
}

const DEFAULT_LIMIT = 50;

/** `/api/notifications`. */
export const notificationsApi = new Hono<AppEnv<NotificationsServices>>()
  .get(
    "/",
    describe("List the receivers of notifications", NotificationStatus),
    async (c) => c.json(await c.var.daemon.notifications.status()),
  )
  .get(
    "/receivers",
    describe("List the receivers of config.json with all their fields", ReceiverList),
    (c) => c.json({ items: listReceivers(c.var.daemon.configs) }),
  )
  .post(
    "/receivers",
    describe(
      "Add a receiver to config.json; it waits until a person accepts it",
      ReceiverChange,
      201,
    ),
    json(Receiver),
    async (c) => {
      const { daemon: { configs }, caller } = c.var;
      return c.json(await addReceiver(configs, c.req.valid("json"), caller), 201);
    },
  )
  .put(
    "/receivers/:id",
    describe("Replace a receiver of config.json; the change waits for a person", ReceiverChange),
    json(Receiver),
    async (c) => {
      const { daemon: { configs }, caller } = c.var;
      const receiver = c.req.valid("json");
      return c.json(await replaceReceiver(configs, c.req.param("id"), receiver, caller));
    },
  )
  .delete(
    "/receivers/:id",
    describe("Remove a receiver from config.json; the change waits for a person", ReceiverChange),
    async (c) => {
      const { daemon: { configs }, caller } = c.var;
      return c.json(await removeReceiver(configs, c.req.param("id"), caller));
    },
  )
  .get(
    "/deliveries",
    describe("List the messages that gate gave up, that wait or that were sent", DeliveryList),
    query(DeliveryQuery),
    async (c) => {
      const { state = "dead", limit = DEFAULT_LIMIT } = c.req.valid("query");
      return c.json({ items: await c.var.daemon.notifications.list(state, limit) });
    },
  )
  .delete(
    "/deliveries/:id",
    describe("Discard a message", Delivery),
    async (c) => {
      const { daemon: { notifications }, caller } = c.var;
      return c.json(await notifications.discard(c.req.param("id"), caller));
    },
  )
  .post(
    "/retry",
    describe("Send given-up messages again", RetryResult),
    json(RetryInput),
    async (c) => {
      const { daemon: { notifications }, caller } = c.var;
      return c.json({ retried: await notifications.retry(c.req.valid("json"), caller) });
    },
  )
  .post(
    "/test",
    describe("Send a test to the receivers and show whether it arrived", TestResult),
    json(TestInput),
    async (c) => {
      const { daemon: { notifications }, caller } = c.var;
      return c.json(await notifications.test(c.req.valid("json"), caller));
    },
  );
