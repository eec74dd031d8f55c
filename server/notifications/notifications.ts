import { clearTimeout, setTimeout } from "node:timers";
import type { Action } from "../actions/schema.ts";
import { DeadlineQueue } from "../actions/execute/deadlines.ts";
import { listEvents } from "../audit/store.ts";
import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import { News, type Receiver } from "../config/notifications/schema.ts";
import type { GlobalConfig } from "../config/schema.ts";
import type { Database } from "../db/database.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import type { Bus } from "../events/bus.ts";
import type { PublishedEvent } from "../events/schema.ts";
import type { Stream } from "../events/stream.ts";
import { DeliveryError } from "./kinds/post.ts";
import { messageOf, newsOf, testMessage } from "./news.ts";
import type {
  Delivery,
  DeliveryState,
  Message,
  NotificationStatus,
  RetryInput,
  TestInput,
  TestResult,
} from "./schema.ts";
import { addressesOf, problemOf, type Reachable, send, targetOf } from "./send.ts";
import {
  clearCursor,
  countByReceiver,
  deleteDelivery,
  findCursor,
  findDelivery,
  findDue,
  listDeliveries,
  listDueReceivers,
  type NewDelivery,
  nextAttempt,
  prune,
  retryDead,
  saveAttempt,
  saveNews,
  type Waiting,
} from "./store.ts";

/** The ledger of a project, as far as news are made of it. */
export interface NewsProject {
  ledger: Ledger;
  actions: { get(id: string): Promise<Action>; listAsked(id: string): Promise<string[]> };
}

export interface NotificationsOptions {
  environment: Environment;
  port: number;
  registry: Database;
  bus: Bus;
  stream: Pick<Stream, "head" | "since">;
  configs: {
    acceptedMachine(): Promise<GlobalConfig | null>;
    readMachine(): { loaded: { value: GlobalConfig | null } };
    stateKey(): string;
  };
  members: () => Promise<readonly Reachable[]>;
  project: (id: string) => Promise<NewsProject>;
  /** Shorter times, for tests. */
  limits?: Partial<NotificationLimits>;
}

/** The bounds of the messages and of one attempt. */
export interface NotificationLimits {
  timeout_ms: number;
  /** The most messages that wait for one receiver; further ones are given up at once. */
  waiting: number;
  /** The most messages that are kept after they were sent, and after they were given up. */
  kept: number;
  /** The pauses between the attempts. */
  pauses_ms: readonly number[];
  /** A number from 0 to 1 that spreads the attempts. */
  random: () => number;
}

const LIMITS: NotificationLimits = {
  timeout_ms: 10_000,
  waiting: 1_000,
  kept: 1_000,
  pauses_ms: [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 18_000_000],
  random: Math.random,
};

const MAX_RETRY_AFTER_MS = 3_600_000;
const PAGE = 200;
const RISKS = ["low", "medium", "high", "critical"];

/**
 * Tells people about held actions, reminders, escalations and blocks, at the receivers that a person
 * accepted in the global config. Nobody waits for it: it follows the event stream after each commit,
 * and keeps its messages in gate.db, so a restart loses none and sends none twice.
 */
export class Notifications {
  readonly #options: NotificationsOptions;
  readonly #limits: NotificationLimits;
  readonly #deadlines: DeadlineQueue;
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #ending = new AbortController();
  #unsubscribe: () => void = () => {};
  #following: Promise<void> | null = null;
  #isBehind = false;
  /** The event after which the first receiver gets news. */
  #since = 0;
  #receivers: { key: string; list: readonly Receiver[] } = { key: "", list: [] };

  constructor(options: NotificationsOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#deadlines = new DeadlineQueue(options.environment, [{
      run: () => this.#deliverDue(),
      next: () => nextAttempt(options.registry),
    }]);
  }

  /** Takes up what was left, and follows the events from now on. */
  start(): void {
    this.#since = this.#options.stream.head;
    this.#unsubscribe = this.#options.bus.subscribe((event) => {
      const isConfig = event.type === "policy.changed";
      // The first receiver of a config gets what comes after it.
      if (isConfig) this.#since = event.cursor;
      if (isConfig || newsOf(event) !== null) this.#follow();
    });
    this.#follow();
  }

  /** Ends the attempts under way; their messages wait for the next start. */
  async close(): Promise<void> {
    this.#unsubscribe();
    this.#deadlines.close();
    this.#ending.abort();
    await this.#following;
    await Promise.all(this.#lanes.values());
  }

  /** Waits until every event so far is a message and every due attempt has ended. For tests. */
  async settle(): Promise<void> {
    do await this.#following; while (this.#following);
    await this.#deadlines.expireDue();
  }

  /** The receivers in force, and how many messages wait or were given up. */
  async status(): Promise<NotificationStatus> {
    const { registry, environment, port, configs } = this.#options;
    const receivers = await this.#inForce();
    const counts = await countByReceiver(registry);
    const countOf = (id: string, wanted: DeliveryState) =>
      counts.find((one) => one.receiver_id === id && one.state === wanted)?.count ?? 0;
    const file = configs.readMachine().loaded.value?.notifications?.receivers ?? [];
    const message = testMessage(environment.now(), port);
    return {
      receivers: receivers.map((one) => ({
        id: one.id,
        kind: one.kind,
        target: targetOf(one),
        on: one.on ?? News.options,
        problem: problemOf(one, message),
        waiting: countOf(one.id, "waiting"),
        dead: countOf(one.id, "dead"),
      })),
      waits: JSON.stringify(file) !== JSON.stringify(receivers),
    };
  }

  /** The problems that a person must solve, one line each. */
  async problems(): Promise<string[]> {
    const { receivers } = await this.status();
    return receivers.flatMap(({ id, problem, dead }) => [
      ...problem === null ? [] : [`receiver "${id}" gets no notifications: ${problem}`],
      ...dead === 0 ? [] : [
        `receiver "${id}" missed ${dead} ${dead === 1 ? "message" : "messages"}; ` +
        "look: gate notify failed",
      ],
    ]);
  }

  async list(state: DeliveryState, limit: number): Promise<Delivery[]> {
    return await listDeliveries(this.#options.registry, state, limit);
  }

  /** Sends given-up messages again. Returns how many. @throws GateError */
  async retry({ id, receiver_id }: RetryInput, caller: Caller): Promise<number> {
    requireReviewer(caller, "retry the message", "gate notify retry");
    const { registry } = this.#options;
    if (receiver_id !== undefined) await this.#get(receiver_id);
    const found = id === undefined ? null : await findDelivery(registry, id);
    if (id !== undefined && found?.state !== "dead") {
      throw found
        ? new GateError("conflict", `Cannot retry message "${id}": it is ${found.state}`)
        : unknownMessage(id);
    }
    const which = {
      ...id !== undefined && { id },
      ...receiver_id !== undefined && { receiver_id },
    };
    const count = await retryDead(registry, which, this.#now());
    this.#deadlines.schedule(this.#now());
    return count;
  }

  /** Deletes a message, so that it is not sent any more. @throws GateError */
  async discard(id: string, caller: Caller): Promise<Delivery> {
    requireReviewer(caller, "discard the message", "gate notify discard");
    const found = await findDelivery(this.#options.registry, id);
    if (found === null) throw unknownMessage(id);
    await deleteDelivery(this.#options.registry, id);
    return found;
  }

  /** Sends a test to one receiver or to all, once. @throws GateError */
  async test({ receiver_id }: TestInput, caller: Caller): Promise<TestResult> {
    requireReviewer(caller, "send a test", "gate notify test");
    const chosen = receiver_id === undefined
      ? await this.#inForce()
      : [await this.#get(receiver_id)];
    if (chosen.length === 0) {
      throw new GateError(
        "conflict",
        "Cannot send a test: no receiver is configured",
        { next: "gate notify add --help" },
      );
    }
    const { environment, port } = this.#options;
    const items = await Promise.all(chosen.map(async (receiver) => {
      const started = performance.now();
      const error = await this.#attempt(receiver, {
        id: `msg_${environment.id()}`,
        message: testMessage(environment.now(), port),
      }).then(() => null, (failure: DeliveryError) => failure.message);
      const duration_ms = Math.round(performance.now() - started);
      return { receiver_id: receiver.id, ok: error === null, error, duration_ms };
    }));
    return { items };
  }

  /** Makes messages of the events since the last time, one run at a time. */
  #follow(): void {
    this.#isBehind = true;
    if (this.#ending.signal.aborted) return;
    this.#following ??= this.#followAll().finally(() => {
      this.#following = null;
      if (this.#isBehind) this.#follow();
    });
  }

  async #followAll(): Promise<void> {
    // After the commit and its answer: nobody waits for this.
    await new Promise((resolve) => setTimeout(resolve, 0));
    while (this.#isBehind && !this.#ending.signal.aborted) {
      this.#isBehind = false;
      try {
        await this.#followOnce();
      } catch (error) {
        this.#log("Cannot make notifications of the newest events", error);
        // The next event or the next start tries it again.
        return;
      }
    }
    this.#deadlines.schedule(this.#now());
  }

  async #followOnce(): Promise<void> {
    const { registry, stream } = this.#options;
    const receivers = await this.#inForce();
    const known = await findCursor(registry);
    if (receivers.length === 0) {
      if (known !== null) await clearCursor(registry);
      return;
    }
    let cursor = known ?? this.#since;
    if (known === null) await saveNews(registry, { cursor, news: [], now: this.#now() });
    for (;;) {
      const events = await stream.since(cursor, PAGE);
      if (events === null) {
        this.#log("Some events are no longer kept, so nobody is notified of them", null);
        return await saveNews(registry, { cursor: stream.head, news: [], now: this.#now() });
      }
      const last = events.at(-1);
      if (!last) return;
      const news: NewDelivery[] = [];
      for (const event of events) news.push(...await this.#newsOf(event, receivers));
      cursor = last.cursor;
      await saveNews(registry, { cursor, news: await this.#bounded(news), now: this.#now() });
      if (news.length > 0) await prune(registry, this.#limits.kept);
      // Many events may have come since the last news.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  /** The messages that an event is for these receivers. */
  async #newsOf(event: PublishedEvent, receivers: readonly Receiver[]): Promise<NewDelivery[]> {
    const news = newsOf(event);
    if (news === null || !receivers.some(({ on }) => on?.includes(news) ?? true)) return [];
    try {
      const { ledger, actions } = await this.#options.project(event.project_id);
      const [found] = await listEvents(ledger, event.seq - 1, 1);
      if (found?.seq !== event.seq) return [];
      const action = found.action_id === null ? null : await actions.get(found.action_id);
      // A person was quicker.
      if (news !== "expired" && news !== "block" && action?.status !== "pending") return [];
      const asked = news === "escalation"
        ? found.data.to as string[]
        : action?.status === "pending"
        ? await actions.listAsked(action.id)
        : [];
      const message = messageOf(news, { event: found, action, asked }, this.#options.port);
      const members = (await this.#options.members()).filter(({ id }) => asked.includes(id));
      return receivers.flatMap((receiver) =>
        this.#deliveriesTo(receiver, { news, message, members, seq: event.seq })
      );
    } catch (error) {
      // A removed project or a damaged event must not hold up the others.
      this.#log("Cannot make a notification of an event", error);
      return [];
    }
  }

  #deliveriesTo(receiver: Receiver, { news, message, members, seq }: {
    news: News;
    message: Omit<Message, "to">;
    members: readonly Reachable[];
    seq: number;
  }): NewDelivery[] {
    const { id: receiver_id, on, projects, min_risk, details } = receiver;
    if (on && !on.includes(news)) return [];
    if (projects && !projects.includes(message.project_id)) return [];
    if (min_risk && message.risk !== null) {
      if (RISKS.indexOf(message.risk) < RISKS.indexOf(min_risk)) return [];
    }
    const { members: wanted } = receiver;
    if (wanted && !message.asked.some((id) => wanted.includes(id))) return [];
    const to = addressesOf(
      receiver.kind,
      wanted ? members.filter(({ id }) => wanted.includes(id)) : members,
    );
    if (receiver.kind === "email" && (receiver.to ?? []).length + to.length === 0) return [];
    const quoted = details === false ? [] : message.quoted;
    return [{
      id: `msg_${this.#options.environment.id()}`,
      ...{ receiver_id, seq, error: null },
      message: { ...message, quoted, to },
    }];
  }

  /** Gives up what a receiver's full queue cannot take. */
  async #bounded(news: NewDelivery[]): Promise<NewDelivery[]> {
    if (news.length === 0) return news;
    const counts = new Map(
      (await countByReceiver(this.#options.registry)).filter(({ state }) => state === "waiting")
        .map(({ receiver_id, count }) => [receiver_id, count]),
    );
    return news.map((one) => {
      const count = (counts.get(one.receiver_id) ?? 0) + 1;
      counts.set(one.receiver_id, count);
      return count <= this.#limits.waiting
        ? one
        : { ...one, error: `${this.#limits.waiting} messages wait for the receiver already` };
    });
  }

  /** Attempts everything that is due: one message at a time for each receiver. */
  async #deliverDue(): Promise<void> {
    const due = await listDueReceivers(this.#options.registry, this.#now());
    for (const id of due) {
      if (this.#lanes.has(id)) continue;
      const lane = this.#runLane(id)
        .catch((error) => this.#log("Cannot deliver notifications", error))
        .finally(() => this.#lanes.delete(id));
      this.#lanes.set(id, lane);
    }
    await Promise.all(this.#lanes.values());
  }

  async #runLane(receiver_id: string): Promise<void> {
    const { registry } = this.#options;
    while (!this.#ending.signal.aborted) {
      const waiting = await findDue(registry, receiver_id, this.#now());
      if (waiting === null) return;
      const receiver = (await this.#inForce()).find(({ id }) => id === receiver_id);
      if (receiver === undefined) {
        await this.#giveUp(waiting, "the receiver is no longer configured");
        continue;
      }
      const failure = await this.#attempt(receiver, waiting)
        .then(() => null, (error: DeliveryError) => error);
      if (this.#ending.signal.aborted && failure !== null) return;
      if (failure === null) {
        const sent = { state: "sent", error: null, next_at: null } as const;
        await saveAttempt(registry, waiting.id, sent, this.#now());
      } else await this.#noteFailure(waiting, failure);
    }
  }

  async #noteFailure(waiting: Waiting, failure: DeliveryError): Promise<void> {
    const { pauses_ms, random } = this.#limits;
    const pause = pauses_ms[waiting.attempts];
    if (failure.is_final || pause === undefined) {
      return await this.#giveUp(waiting, failure.message);
    }
    const asked = Math.min(failure.retry_after_ms ?? 0, MAX_RETRY_AFTER_MS);
    const after = Math.max(pause * (0.8 + 0.4 * random()), asked);
    const next_at = new Date(this.#options.environment.now() + Math.round(after)).toISOString();
    const again = { state: "waiting", error: failure.message, next_at } as const;
    await saveAttempt(this.#options.registry, waiting.id, again, this.#now());
    this.#deadlines.schedule(next_at);
  }

  async #giveUp({ id, receiver_id }: Waiting, error: string): Promise<void> {
    const dead = { state: "dead", error, next_at: null } as const;
    await saveAttempt(this.#options.registry, id, dead, this.#now());
    this.#options.environment.log("warn", "A notification was given up", { receiver_id, error });
  }

  /** @throws DeliveryError */
  async #attempt(
    receiver: Receiver,
    { id, message }: { id: string; message: Message },
  ): Promise<void> {
    const { timeout_ms } = this.#limits;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), timeout_ms);
    const signal = AbortSignal.any([timeout.signal, this.#ending.signal]);
    const how = { id, now: this.#options.environment.now(), timeout_ms, signal };
    try {
      await send(receiver, message, how);
    } catch (error) {
      if (error instanceof DeliveryError) throw error;
      this.#log(`Cannot notify receiver "${receiver.id}"`, error);
      throw new DeliveryError("it failed; see gate daemon logs");
    } finally {
      clearTimeout(timer);
    }
  }

  /** The receivers that a person accepted, as they are now. */
  async #inForce(): Promise<readonly Receiver[]> {
    const { configs } = this.#options;
    const key = configs.stateKey();
    if (this.#receivers.key !== key) {
      const list = (await configs.acceptedMachine())?.notifications?.receivers ?? [];
      this.#receivers = { key, list };
    }
    return this.#receivers.list;
  }

  /** @throws GateError `not_found` */
  async #get(id: string): Promise<Receiver> {
    const found = (await this.#inForce()).find((one) => one.id === id);
    if (found) return found;
    const shown = JSON.stringify(id.toWellFormed());
    throw new GateError(
      "not_found",
      `Cannot find receiver ${shown}: there is none`,
      { next: "gate notify list" },
    );
  }

  #now(): string {
    return new Date(this.#options.environment.now()).toISOString();
  }

  #log(message: string, error: unknown): void {
    if (this.#ending.signal.aborted) return;
    this.#options.environment.log("warn", message, error === null ? {} : { error: String(error) });
  }
}

function unknownMessage(id: string): GateError {
  const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
  return new GateError(
    "not_found",
    `Cannot find message ${shown}: there is none`,
    { next: "gate notify failed" },
  );
}
