import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DEADLINES } from "../../../cli/hook/deadlines.ts";
import { HOOK_TIMEOUT_S } from "../../../server/hosts/host.ts";
import { SPEAK } from "../../server/hooks/stage.ts";
import { createHookStage, heldAnswer, http, type Respond } from "./stage.ts";

/** The last millisecond before a host stops waiting. */
const LAST_MS = HOOK_TIMEOUT_S * 1000 - 1;

/** Uses the real deadlines and a fake clock that stops at LAST_MS. */
describe.each(Object.keys(SPEAK))("%s: the hook refuses before its host stops waiting", (host) => {
  const { before, command } = SPEAK[host]!;
  let stage: ReturnType<typeof createHookStage>;
  let started: number;

  beforeEach(() => {
    stage = createHookStage();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    started = Date.now();
  });
  afterEach(() => {
    vi.useRealTimers();
    stage.close();
  });

  const wait = (ms: number) => {
    const left = started + LAST_MS - Date.now();
    return vi.advanceTimersByTimeAsync(Math.min(ms, left));
  };
  const ask = async (input?: () => Promise<string>) => {
    const call = before(command, { command: "ls" }, { cwd: "/p", key: "k" });
    const answer = stage.hook(host, call, { deadlines: DEADLINES, ...(input ? { input } : {}) });
    if (input) await wait(LAST_MS);
    return SPEAK[host]!.reason(JSON.parse(await answer));
  };

  const SILENT: [string, Respond][] = [
    ["hangs", () => null],
    ["answers partially and hangs", (_request, _nth, socket) => {
      socket.write(http("{}").slice(0, -1));
      return null;
    }],
    ["hangs while the call is held", (_request, nth) => nth === 1 ? heldAnswer(host) : null],
  ];

  test.each(SILENT)("when the daemon %s", async (_title, respond) => {
    await stage.daemon((...args) => {
      const response = respond(...args);
      if (response === null) void wait(LAST_MS);
      return response;
    });
    expect(await ask()).toBe("Blocked by gate: the daemon does not answer");
  });

  test("when nobody reviews the held call", async () => {
    let waited = 0;
    await stage.daemon((request) => {
      const wait_ms = Number(/wait_ms=(\d+)/.exec(request)![1]);
      vi.advanceTimersByTime(wait_ms);
      waited += wait_ms;
      return heldAnswer(host);
    });
    expect(await ask()).toBe("Held by gate");
    expect(waited).toBe(DEADLINES.refuse - DEADLINES.margin);
    expect(waited).toBeLessThan(LAST_MS);
  });

  test("when the host never ends the input", async () => {
    expect(await ask(() => new Promise(() => {}))).toMatch(/given no input in time/);
    expect(stage.requests).toEqual([]);
  });
});
