import { Hono } from "hono";
import { expect, test } from "vitest";
import { RememberingRouter } from "../../server/remembering_router.ts";

/** The same routes with Hono's own router and with the one that remembers. */
function apps() {
  const make = (app: Hono) =>
    app.use("/api/*", async (c, next) => {
      await next();
      c.header("x-seen", "yes");
    })
      .get("/api/things", (c) => c.text("list"))
      .post("/api/things", (c) => c.text("new"))
      .post("/api/things/reject", (c) => c.text("reject"))
      .get("/api/things/:id", (c) => c.text(`one ${c.req.param("id")}`))
      .get("/api/things/:id/parts/:part", (c) => c.text(JSON.stringify(c.req.param())));
  return [make(new Hono()), make(new Hono({ router: new RememberingRouter() }))] as const;
}

test.each([
  ["GET", "/api/things"],
  ["POST", "/api/things"],
  ["PUT", "/api/things"],
  ["POST", "/api/things/reject"],
  ["GET", "/api/things/reject"],
  ["GET", "/api/things/a%20b"],
  ["GET", "/api/things/7/parts/8"],
  ["GET", "/nowhere"],
  ["GET", `/api/things/${"x".repeat(300)}`],
])("%s %s is answered the same each time", async (method, path) => {
  const [plain, remembering] = apps();
  const look = async (app: Hono) => {
    const answer = await app.request(path, { method });
    return [answer.status, answer.headers.get("x-seen"), await answer.text()];
  };
  const expected = await look(plain);
  for (let n = 0; n < 3; n++) expect(await look(remembering)).toEqual(expected);
});

test("more paths than it remembers are told apart", async () => {
  const [, app] = apps();
  for (const round of [1, 2]) {
    for (let id = 0; id < 500; id++) {
      const answer = await app.request(`/api/things/${id}`);
      expect(await answer.text(), `round ${round}`).toBe(`one ${id}`);
    }
  }
});
