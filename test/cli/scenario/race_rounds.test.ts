import { describe, expect, test } from "vitest";
import { execs, folder, runJson, serve, tool } from "./harness.ts";

const race = {
  mode: "http",
  method: "POST",
  path: "/coupons/{{uniq}}/redeem",
  headers: { "X-Try": "{{uniq}}" },
  body: '{"code":"{{uniq}}"}',
  concurrency: 10,
};

/** A coupon service. Only every `open`th coupon can be redeemed more than once. */
async function shop({ open = 1, honest = true, credits = 1 } = {}) {
  const used = new Set<string>();
  const made: string[] = [];
  let balance = 0;
  const server = await serve((request, response, body) => {
    const [, kind, code = ""] = (request.url ?? "").split("/");
    if (kind === "balance") {
      return response.end(JSON.stringify({ balance: String(balance), used: [...used] }));
    }
    if (request.method === "PUT") {
      if (!made.includes(code)) made.push(code);
      return response.end();
    }
    if (!body.includes(code)) return response.writeHead(400).end();
    const lost = used.has(code);
    const leaks = open !== Infinity && made.length % open === 0;
    const set = () => {
      if (!lost || !honest) balance += credits;
      used.add(code);
      response.writeHead(lost ? 409 : 200).end();
    };
    leaks ? setTimeout(set, 20) : set();
  });
  return { ...server, used };
}

describe("rounds", () => {
  test("each round has its own value, the same in path, headers and body", async () => {
    const { url, requests } = await shop();
    const { executions } = await runJson(execs({ ...race, rounds: 3 }), "--target", url);
    expect(executions[0]).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^In 3 of 3 rounds: All ten succeeded; only one should/),
      evidence: { detection: { rounds: 3, failed: 3 } },
    });
    const lines = requests.map(({ line, headers, body }) =>
      `${line.split("/")[2]} ${headers[headers.indexOf("X-Try") + 1]} ${JSON.parse(body).code}`
    );
    const codes = executions[0].evidence.rounds.map(({ uniq }: { uniq: string }) => uniq);
    expect(new Set(codes).size).toBe(3);
    expect([...new Set(lines)].sort()).toEqual(
      codes.map((code: string) => `${code} ${code} ${code}`).sort(),
    );
  });

  test("a race in one of four rounds is reported with its rate", async () => {
    const { url } = await shop({ open: 4 });
    const setup = [{ method: "PUT", path: "/coupons/{{uniq}}" }];
    const list = execs({ ...race, setup });
    const { executions } = await runJson(list, "--target", url, "--race-rounds", "8");
    expect(executions[0].reason).toMatch(/^In 2 of 8 rounds/);
    expect(executions[0].evidence.detection).toMatchObject({
      rounds: 8,
      failed: 2,
      rate_low: 0.071,
    });
  });

  test("rounds without a race report the excluded rate", async () => {
    const { url } = await shop({ open: Infinity });
    const { executions } = await runJson(execs({ ...race, rounds: 10 }), "--target", url);
    expect(executions[0]).toMatchObject({
      status: "passed",
      reason: expect.stringMatching(
        /^In all 10 rounds: Only one of ten .* in more than 28 % of the volleys/,
      ),
    });
  });

  test("without {{uniq}} there is only one round", async () => {
    const { url, requests } = await serve((_request, response) => response.end());
    const plain = execs({ mode: "http", method: "POST", path: "/", concurrency: 2 });
    await runJson(plain, "--target", url, "--race-rounds", "5");
    expect(requests).toHaveLength(2);
  });

  test("a generated race runs three times, so that a window that one misses is seen", async () => {
    const raced = new Map<string, number>();
    const { url } = await serve((_request, response, body) => {
      const username = /"username":"(\w+)"/.exec(body)?.[1];
      if (username === undefined) return response.writeHead(400).end();
      const count = (raced.get(username) ?? 0) + 1;
      raced.set(username, count);
      const volleys = [...raced.values()].filter((many) => many > 1).length;
      response.writeHead(count === 1 ? 200 : volleys === 3 ? 500 : 409).end();
    });
    const properties = { username: { type: "string" }, password: { type: "string" } };
    const schema = { type: "object", required: ["username", "password"], properties };
    const requestBody = { required: true, content: { "application/json": { schema } } };
    const responses = { 200: { description: "" }, 409: { description: "" } };
    const document = {
      openapi: "3.1.0",
      info: { title: "Users", version: "1" },
      paths: { "/register": { post: { requestBody, responses } } },
    };
    const filter = ["--filter", "POST /register ten times at the same moment"];
    const cwd = folder({ "openapi.json": document });
    const to = ["run", "--target", url, "--spec", "openapi.json", "--output", "json"];
    const { stdout } = await tool(cwd, ...to, ...filter);
    const { findings } = JSON.parse(stdout);
    expect(findings).toMatchObject([{
      family: "double_submit",
      happened: "In 1 of 3 rounds: The race made the server fail with 500",
    }]);
  });

  test("two runs use different values", async () => {
    const { url, used } = await shop({ open: Infinity });
    await runJson(execs({ ...race, rounds: 2 }), "--target", url);
    await runJson(execs({ ...race, rounds: 2 }), "--target", url);
    expect(used.size).toBe(4);
  });

  test("a failed set-up makes the scenario inconclusive, and no race runs", async () => {
    const { url, requests } = await serve((_request, response) => response.writeHead(404).end());
    const setup = [{ method: "PUT", path: "/coupons/{{uniq}}" }];
    const { executions, code } = await runJson(
      execs({ ...race, setup, priority: "critical" }),
      "--target",
      url,
    );
    expect(executions).toMatchObject([{
      status: "inconclusive",
      reason: expect.stringMatching(/^Could not be set up: PUT \/coupons\/\w+ answered 404/),
    }]);
    expect([requests.length, code]).toEqual([1, 0]);
  });
});

describe("check reads back the effect", () => {
  const check = { path: "/balance", pointer: "/balance", changes_by: 1 };

  test("a race with correct statuses and ten credits fails by its effect", async () => {
    const { url } = await shop({ honest: false, open: Infinity });
    const { executions } = await runJson(execs({ ...race, check }), "--target", url);
    expect(executions[0]).toMatchObject({
      status: "failed",
      reason: "Only one of ten succeeded; but GET /balance shows: " +
        "/balance changed by 10 from 0 to 10, not by 1",
      evidence: { check: { before: "0", after: "10", held: false } },
    });
  });

  test.each([
    ["changes_by", check, "passed", "read back: right"],
    [
      "equals a number",
      { ...check, changes_by: undefined, equals: 1 },
      "passed",
      "read back: right",
    ],
    ["equals, wrong", { ...check, changes_by: undefined, equals: 2 }, "failed", 'is "1", not 2'],
    [
      "equals a list",
      { path: "/balance", pointer: "/used", equals: ["x"] },
      "failed",
      "a list of 1",
    ],
    ["at_most of a list", { path: "/balance", pointer: "/used", at_most: 1 }, "passed", "right"],
    [
      "at_least",
      { path: "/balance", pointer: "/used", at_least: 2 },
      "failed",
      "is 1, less than 2",
    ],
    ["not a number", { path: "/balance", at_most: 2 }, "failed", "which is no number"],
    ["a status", { path: "/balance", expected_status: 200 }, "passed", "right"],
    [
      "another status",
      { path: "/balance", expected_status: 404 },
      "failed",
      "answered 200, not 404",
    ],
    ["a missing value", { ...check, pointer: "/nothing" }, "inconclusive", "there is no /nothing"],
    ["not JSON", { path: "/coupons/x", equals: 1 }, "inconclusive", "answered 400"],
  ])("%s", async (_name, wanted, status, words) => {
    const { url } = await shop({ open: Infinity });
    const { executions } = await runJson(execs({ ...race, check: wanted }), "--target", url);
    expect(executions).toMatchObject([{ status, reason: expect.stringContaining(words) }]);
  });

  test("several winners with the right effect fail, and the reason says so", async () => {
    const { url } = await shop({ credits: 0 });
    const { executions } = await runJson(
      execs({ ...race, check: { ...check, changes_by: 0 } }),
      "--target",
      url,
    );
    expect(executions).toMatchObject([{
      status: "failed",
      reason: expect.stringContaining("yet the effect that was read back is right"),
    }]);
  });

  test("check also applies to a single request, with the value of the set-up", async () => {
    const { url, requests } = await shop({ honest: false, open: Infinity, credits: 2 });
    const setup = [{ method: "PUT", path: "/coupons/{{uniq}}" }];
    const one = execs({ ...race, concurrency: undefined, setup, check });
    const { executions } = await runJson(one, "--target", url);
    expect(executions[0]).toMatchObject({
      status: "failed",
      reason: expect.stringContaining("by 2"),
    });
    expect(requests.map(({ line }) => line.split("/")[0]!.trim() + (line.split("/")[3] ?? "")))
      .toEqual(["PUT", "GET", "POSTredeem", "GET"]);
  });
});
