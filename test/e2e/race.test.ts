import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { World } from "./world.ts";

const ROUNDS = 50;
const AT_ONCE = 20;

describe("concurrent reviews of one action, on the executable", () => {
  let world: World;

  beforeAll(async () => {
    world = await World.create("executable");
    await world.init();
  });

  afterAll(() => world.close());

  async function hold(round: string): Promise<string> {
    const { status, body } = await world.api("POST", "/api/actions?project=demo", {
      tool: "write_file",
      input: { path: `docs/${round}.txt`, content: round },
    }, "agent");
    expect(status).toBe(202);
    return body.id;
  }

  async function decide(id: string, verbs: string[]) {
    const answers = await Promise.all(
      verbs.map((verb) => world.api("POST", `/api/actions/${id}/${verb}`)),
    );
    const won = answers.filter(({ status }) => status === 200);
    const lost = answers.filter(({ status, body }) => status === 409 && body.code === "conflict");
    expect({ won: won.length, lost: lost.length }).toEqual({ won: 1, lost: verbs.length - 1 });
    return won[0]!.body;
  }

  async function decisionsOf(id: string): Promise<string[]> {
    const { body } = await world.api("GET", `/api/actions/${id}`);
    const types = body.timeline.map(({ type }: { type: string }) => type);
    return types.filter((type: string) =>
      /^action\.(approved|rejected|started|finished)$/.test(type)
    );
  }

  test(
    `one of ${AT_ONCE} approvals wins, and the action executes once, in ${ROUNDS} rounds`,
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const id = await hold(`a${round}`);
        await decide(id, Array(AT_ONCE).fill("approve"));
        expect(await decisionsOf(id)).toEqual([
          "action.approved",
          "action.started",
          "action.finished",
        ]);
        expect(readFileSync(join(world.project, `docs/a${round}.txt`), "utf8")).toBe(`a${round}`);
      }
    },
    120_000,
  );

  test(
    `one of ${AT_ONCE} approvals and ${AT_ONCE} rejections wins, in ${ROUNDS} rounds`,
    async () => {
      const verbs = Array(AT_ONCE).fill(["approve", "reject"]).flat();
      for (let round = 0; round < ROUNDS; round++) {
        const id = await hold(`b${round}`);
        const { status } = await decide(id, round % 2 ? verbs : verbs.toReversed());
        expect(await decisionsOf(id)).toEqual(
          status === "approved"
            ? ["action.approved", "action.started", "action.finished"]
            : ["action.rejected"],
        );
      }
      const { body } = await world.api("GET", "/api/audit/verify?project=demo");
      expect(body.ok).toBe(true);
    },
    120_000,
  );
});
