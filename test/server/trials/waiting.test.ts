import { expect, test } from "vitest";
import type { Action } from "../../../server/actions/schema.ts";
import type { GrantWaiting } from "../../../server/grants/schema.ts";
import { HOUR, openStage } from "../grants/stage.ts";

type Stage = Awaited<ReturnType<typeof openStage>>;

const ONE_TAG = { ...HOUR, pattern: "npm publish --tag *" };

async function waitingFor({ call }: Stage, id: string) {
  return (await call<GrantWaiting>("GET", `/api/grants/${id}/waiting`)).body;
}

const ids = (actions: { id: string }[]) => actions.map(({ id }) => id);

test("lists the held actions that the grant would allow now, and decides none", async () => {
  const stage = await openStage();
  const first = await stage.run("npm publish --tag one");
  const same = [
    await stage.run("npm publish --tag two"),
    await stage.run("npm publish --tag three"),
  ];
  await stage.run("npm publish");
  await stage.write("a.txt");
  const grant = await stage.remember(first, ONE_TAG);
  const waiting = await waitingFor(stage, grant.id);
  expect(waiting).toEqual({
    items: same.map(({ id, digest }) => ({ id, digest })),
    alone: 0,
    complete: true,
  });
  for (const { id } of same) {
    const { body } = await stage.call<Action>("GET", `/api/actions/${id}`);
    expect(body.status).toBe("pending");
  }
  expect((await stage.list(`?action_id=${first.id}`))[0]).toMatchObject({ uses: 0 });
});

test("a grant of a session finds nothing of others; a revoked one finds nothing", async () => {
  const stage = await openStage();
  const [mine, other] = [await stage.session(), await stage.session()];
  const first = await stage.run("npm publish --tag one", mine);
  const second = await stage.run("npm publish --tag two", mine);
  await stage.run("npm publish --tag three", other);
  const grant = await stage.remember(first, { ...ONE_TAG, scope: "session" });
  expect(ids((await waitingFor(stage, grant.id)).items)).toEqual([second.id]);
  await stage.call("DELETE", `/api/grants/${grant.id}`);
  expect((await waitingFor(stage, grant.id)).items).toEqual([]);
});

test("an action that another session changes too needs a review of its own", async () => {
  const stage = await openStage();
  const [mine, other] = [await stage.session(), await stage.session()];
  const first = await stage.write("docs/a.md", "1", mine);
  await stage.write("docs/b.md", "1", mine);
  await stage.write("docs/b.md", "2", other);
  const plain = await stage.write("docs/c.md", "1", mine);
  const grant = await stage.remember(first, { ...HOUR, pattern: "docs/*.md" });
  const waiting = await waitingFor(stage, grant.id);
  expect({ ...waiting, items: ids(waiting.items) })
    .toEqual({ items: [plain.id], alone: 2, complete: true });
});

test("an unknown grant is not found", async () => {
  const stage = await openStage();
  expect((await stage.call("GET", "/api/grants/none/waiting")).status).toBe(404);
});
