import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test, vi } from "vitest";
import type { TestGate } from "../../helpers.ts";
import { ask, contentOf, stageTwoMachines, write } from "./two_machines.ts";

/** `GATE_SHARING=long` runs the counts that take minutes. */
const isLong = process.env.GATE_SHARING === "long";
const ACTIONS = isLong ? 20 : 4;
const DECISIONS = isLong ? 50 : 10;
const WRITES = isLong ? 200 : 24;
const KILLS = isLong ? 8 : 2;

const soon = { timeout: 60_000, interval: 50 };

async function verified(gate: TestGate) {
  const { body } = await ask(gate, "GET", "/api/audit/verify");
  expect(body).toMatchObject({ ok: true, problem: null });
}

test(
  `${ACTIONS} × ${DECISIONS} decisions on two machines: one winner each, executed once on its machine`,
  async () => {
    const machines = await stageTwoMachines();
    const both = [machines.first, machines.second];
    for (let n = 0; n < ACTIONS; n++) {
      const [own, other] = n % 2 === 0 ? both : both.toReversed();
      const { body: held } = await write(own!, `held/${n}.txt`);
      expect(held).toMatchObject({ status: "pending" });
      const answers = await Promise.all(
        Array.from({ length: DECISIONS }, (_, at) => {
          const verb = at % 4 < 2 ? "approve" : "reject";
          const body = verb === "reject" ? { reason: "no" } : {};
          return ask(both[at % 2]!, "POST", `/api/actions/${held.id}/${verb}`, body);
        }),
      );
      const won = answers.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(DECISIONS - 1);
      const approved = won[0]!.body.status === "approved";
      await vi.waitFor(async () => {
        const { body } = await ask(other!, "GET", `/api/actions/${held.id}`);
        expect(body.execution).toBe(approved ? "succeeded" : "none");
      }, soon);
      expect(contentOf(own!, `held/${n}.txt`)).toBe(approved ? `held/${n}.txt` : null);
      expect(contentOf(other!, `held/${n}.txt`)).toBe(null);
    }
    const events = await machines.first.audit();
    for (const action of new Set(events.map(({ action_id }) => action_id))) {
      const count = (type: string) =>
        events.filter((one) => one.action_id === action && one.type === type).length;
      if (action === null) continue;
      expect(count("action.approved") + count("action.rejected")).toBe(1);
      expect(count("action.started")).toBe(count("action.approved"));
      expect(count("action.finished")).toBe(count("action.approved"));
    }
    for (const gate of both) await verified(gate);
  },
  600_000,
);

test(
  `${WRITES} writes on two machines while the server is killed: every acknowledged one is there, none twice`,
  async () => {
    const { server, first, second } = await stageTwoMachines();
    const both = [first, second];
    for (const gate of both) mkdirSync(join(gate.root, "out"));
    const isBack = (gate: TestGate) =>
      vi.waitFor(async () => {
        const { body } = await ask(gate, "GET", "/api/hub/storage");
        expect(body.ledgers[0].problem).toBe(null);
      }, { timeout: 120_000, interval: 100 });
    const acknowledged = new Set<string>();
    let kills = 0;
    const each = WRITES / 2;
    const writeAll = async (gate: TestGate, name: string) => {
      for (let n = 0; n < each; n++) {
        const path = `out/${name}-${n}.txt`;
        const answer = await write(gate, path);
        if (answer.status === 201) acknowledged.add(path);
        else {
          expect(answer).toMatchObject({ status: 503, body: { code: "unavailable" } });
          await isBack(gate);
        }
      }
    };
    const killing = (async () => {
      for (; kills < KILLS; kills++) {
        const until = ((kills + 1) * WRITES) / (KILLS + 1);
        await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThanOrEqual(until * 0.8), {
          timeout: 300_000,
          interval: 5,
        });
        await server.kill();
        await server.start();
      }
    })();
    await Promise.all([writeAll(first, "first"), writeAll(second, "second"), killing]);
    expect(kills).toBe(KILLS);
    for (const gate of both) await isBack(gate);

    const project = await first.daemon.projects.get("test");
    const { items } = await project.actions.list({ limit: 500 });
    const paths = items.map(({ path }) => path!);
    expect(new Set(paths).size).toBe(paths.length);
    for (const path of acknowledged) expect(paths).toContain(path);
    for (const { path, execution } of items) {
      const own = path!.includes("first") ? first : second;
      const other = own === first ? second : first;
      expect(contentOf(own, path!)).toBe(execution === "succeeded" ? path! : null);
      expect(existsSync(join(other.root, path!))).toBe(false);
      if (acknowledged.has(path!)) expect(execution).toBe("succeeded");
    }
    for (const gate of both) await verified(gate);
  },
  600_000,
);
