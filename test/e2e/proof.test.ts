import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Proof } from "../../server/proof/schema.ts";
import {
  enrol,
  type Person,
  prove,
  type Send,
  withPasskey,
  withPassphrase,
} from "../server/proof/person.ts";
import { World } from "./world.ts";

async function open(): Promise<{ world: World; send: Send }> {
  const world = await World.create("executable", { proof: "none" });
  onTestFinished(() => world.close());
  await world.init({ defaultEffect: "ask" });
  return { world, send: sendTo(world) };
}

/** Sends as a program that has read the reviewer's token does. */
function sendTo(world: World): Send {
  return async (method, path, body) =>
    await fetch(`http://127.0.0.1:${world.port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await world.token("reviewer")}`,
        "content-type": "application/json",
      },
      ...body === undefined ? {} : { body: JSON.stringify(body) },
    });
}

async function hold(world: World): Promise<string> {
  const { body } = await world.api("POST", "/api/actions", {
    tool: "write_file",
    input: { path: `${crypto.randomUUID()}.txt`, content: "x\n" },
  });
  expect(body.status).toBe("pending");
  return `/api/actions/${body.id}/approve`;
}

test.each<[string, (port: number) => Person]>([
  ["a passphrase", withPassphrase],
  ["a passkey", (port) => withPasskey("ES256", { origin: `http://localhost:${port}` })],
])("the executable decides with %s only, over restarts and lost files", async (_, create) => {
  const { world, send } = await open();
  const person = create(world.port);
  const first = await hold(world);
  expect((await send("POST", first, {})).status).toBe(403);
  expect((await enrol(send, person)).status).toBe(200);
  expect((await send("POST", first, {})).status).toBe(403);
  expect((await prove(send, person, ["POST", first])).status).toBe(200);
  expect((await world.run(["audit", "verify"])).code).toBe(0);

  // The token of the reviewer and every file of the home are in the attacker's hands.
  const attack = async (change: () => void) => {
    await world.run(["daemon", "stop"]);
    change();
    expect((await world.run(["daemon", "start"])).code).toBe(0);
    expect((await send("POST", await hold(world), {})).status).toBe(403);
    const stranger = await enrol(send, withPassphrase());
    expect((await stranger.json()).code).toBe("proof_required");
  };
  const config = join(world.gateHome, "config.json");
  await attack(() => writeFileSync(config, '{"approvals":{"proof":"token"}}'));
  await attack(() => rmSync(config));
  await attack(() => {
    for (const end of ["", "-wal", "-shm"]) {
      rmSync(join(world.gateHome, `gate.db${end}`), { force: true });
    }
  });
  const next = create(world.port);
  expect((await enrol(send, next, person)).status).toBe(200);
  const answer = await prove(send, next, ["POST", await hold(world)]);
  expect(answer.status).toBe(200);
  expect((await world.run(["audit", "verify"])).code).toBe(0);
  const replayed = next.sign((await (await send("POST", await hold(world), {})).json()).challenge);
  const other: { proof: Proof } = { proof: replayed };
  expect((await send("POST", await hold(world), other)).status).toBe(403);
});
