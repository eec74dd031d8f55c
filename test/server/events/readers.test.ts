import { expect, test } from "vitest";
import { Bus } from "../../../server/events/bus.ts";
import { EventReaders } from "../../../server/events/readers.ts";
import type { PublishedEvent } from "../../../server/events/schema.ts";

/** A stream that keeps the events after `oldest`. */
class FakeStream {
  readonly bus = new Bus();
  readonly kept: PublishedEvent[] = [];
  oldest = 0;
  head = 0;
  /** Runs once in the middle of the next `since()`. */
  meanwhile: () => void = () => {};

  publish(count: number, change: Partial<PublishedEvent> = {}): void {
    for (let i = 0; i < count; i++) {
      const event: PublishedEvent = {
        topic: "actions",
        type: "action.submitted",
        project_id: "p",
        id: "a",
        seq: this.head,
        at: "2026-01-01T00:00:00.000Z",
        cursor: ++this.head,
        ...change,
      };
      this.kept.push(event);
      this.bus.publish([event]);
    }
  }

  async since(cursor: number, limit: number): Promise<PublishedEvent[] | null> {
    const found = this.kept.filter((event) => event.cursor > cursor).slice(0, limit);
    const meanwhile = this.meanwhile;
    this.meanwhile = () => {};
    meanwhile();
    await Promise.resolve();
    return cursor < this.oldest || cursor > this.head ? null : found;
  }
}

function createReaders(limits: { readers?: number; heartbeat_ms?: number } = {}) {
  const stream = new FakeStream();
  const readers = new EventReaders({ bus: stream.bus, stream, log: () => {}, limits });
  const open = (last_event_id: string | null = null, more = {}) => {
    const reader = readers.open({ project: null, last_event_id, ...more }).getReader();
    return { ...textOf(reader), cancel: () => reader.cancel() };
  };
  return { stream, readers, open };
}

function textOf(reader: ReadableStreamDefaultReader<Uint8Array>) {
  let text = "";
  const decoder = new TextDecoder();
  return {
    /** Reads until the text matches. Returns null at the end of the stream. */
    async until(pattern: RegExp): Promise<string | null> {
      while (!pattern.test(text)) {
        const { value, done } = await reader.read();
        if (done) return null;
        text += decoder.decode(value, { stream: true });
      }
      return text;
    },
    async rest(): Promise<string> {
      await this.until(/(?!)/);
      return text;
    },
  };
}

function cursors(text: string): number[] {
  return [...text.matchAll(/^event: \w+\nid: (\d+)$/gm)].map((match) => Number(match[1]));
}

function upTo(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

test("a new reader receives later events in the documented format", async () => {
  const { stream, open } = createReaders();
  stream.publish(3);
  const reader = open();
  expect(await reader.until(/retry/)).toBe("id: 3\nretry: 500\n\n");
  stream.publish(1, { topic: "approvals", id: "x" });
  const text = await reader.until(/data/);
  expect(text).toContain("event: approvals\nid: 4\ndata: {");
  expect(JSON.parse(/data: (.*)/.exec(text!)![1]!)).toEqual({
    topic: "approvals",
    type: "action.submitted",
    project_id: "p",
    id: "x",
    seq: 3,
    at: "2026-01-01T00:00:00.000Z",
  });
});

test("a reader receives only its topics and project, live and stored", async () => {
  const { stream, open } = createReaders();
  const send = () => {
    stream.publish(1, { topic: "sessions" });
    stream.publish(1, { project_id: "other" });
    stream.publish(1, { topic: "risk" });
  };
  send();
  const reader = open("0", { topics: ["actions", "risk"], project: "p" });
  expect(cursors((await reader.until(/id: 3/))!)).toEqual([3]);
  send();
  expect(cursors((await reader.until(/id: 6/))!)).toEqual([3, 6]);
});

test.each([0, 1, 199, 200, 201, 1000])(
  "a returning reader receives all %i missed events",
  async (n) => {
    const { stream, open } = createReaders();
    stream.publish(5);
    stream.publish(n);
    stream.meanwhile = () => stream.publish(7);
    const reader = open("5");
    const text = await reader.until(new RegExp(`id: ${5 + n + 7}\n`));
    stream.publish(1);
    expect(cursors((await reader.until(new RegExp(`id: ${5 + n + 8}\n`)))!)).toEqual(
      upTo(6, 13 + n),
    );
    expect(text).not.toContain("resync");
  },
);

test("no event is lost when 600 arrive while stored events are read", async () => {
  const { stream, open } = createReaders();
  stream.publish(1);
  stream.meanwhile = () => stream.publish(600);
  const reader = open("0");
  expect(cursors((await reader.until(/id: 601\n/))!)).toEqual(upTo(1, 601));
});

test.each(["99999999999999999999", "-1", "x", "1.5", "50", "2"])(
  "an invalid or outdated Last-Event-ID %s is answered with resync",
  async (id) => {
    const { stream, open } = createReaders();
    stream.publish(10);
    stream.oldest = 5;
    const reader = open(id);
    expect(await reader.until(/resync/)).toContain("event: resync\nid: 10\ndata: {}\n\n");
    stream.publish(1);
    expect(await reader.until(/id: 11/)).not.toBeNull();
  },
);

test("a reader that does not keep up receives resync and is disconnected", async () => {
  const { stream, readers, open } = createReaders();
  const reader = open();
  stream.publish(10_000);
  expect(readers.size).toBe(0);
  expect(await reader.rest()).toBe("event: resync\nid: 256\ndata: {}\n\n");
});

test("the queue of a reader is bounded in bytes", async () => {
  const { stream, readers, open } = createReaders();
  const reader = open();
  stream.publish(3, { id: "x".repeat(100_000) });
  expect(readers.size).toBe(0);
  expect(await reader.rest()).toContain("event: resync");
});

test("a reader above the limit is refused until another one leaves", async () => {
  const { readers, open } = createReaders({ readers: 2 });
  open();
  const second = open();
  expect(() => open()).toThrow(/2 readers/);
  await second.cancel();
  expect(readers.size).toBe(1);
  open();
});

test("an idle reader receives comments, and bye when the stream closes", async () => {
  const { readers, open } = createReaders({ heartbeat_ms: 5 });
  const reader = open();
  await reader.until(/\n\n:\n\n:\n\n/);
  readers.close();
  expect(await reader.rest()).toMatch(/event: bye\nretry: 500\ndata: {}\n\n$/);
  expect(() => open()).toThrow(/stops/);
});
