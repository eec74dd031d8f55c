import { execFile, spawnSync } from "node:child_process";
import { createSecureServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import { CERTIFICATE, KEY } from "./certificate.ts";
import { execs, folder, serve, tool } from "./harness.ts";

const TOKEN = "s3cr3t-t0ken";
const PASSWORD = "Basic aHVudGVyMjp4";
const HAS_CURL = spawnSync("curl", ["--version"]).status === 0;

const race = {
  mode: "http",
  method: "POST",
  path: "/coupons/{{uniq}}",
  headers: { "X-Quote": `it's "$HOME" \`x\`` },
  body: `{"token":"{{TOKEN}}","it":"isn't"}`,
  concurrency: 5,
};

/** A voucher service with a race and two required credentials. `fix()` fixes the race. */
async function shop() {
  const used = new Set<string>();
  let isOpen = true;
  const answer = (
    path: string,
    authorization: string | undefined,
    body: string,
    quote: unknown,
  ) => {
    if (authorization !== PASSWORD || !body.includes(TOKEN)) return Promise.resolve(401);
    if (quote !== race.headers["X-Quote"] || JSON.parse(body).it !== "isn't") {
      return Promise.resolve(400);
    }
    if (path === "/crash") return Promise.resolve(isOpen ? 500 : 200);
    if (used.has(path)) return Promise.resolve(409);
    if (!isOpen) used.add(path);
    return new Promise<number>((resolve) =>
      setTimeout(() => {
        used.add(path);
        resolve(201);
      }, 50)
    );
  };
  const plain = await serve(async (request, response, body) => {
    const { authorization, "x-quote": quote } = request.headers;
    response.writeHead(await answer(request.url!, authorization, body, quote)).end();
  });
  return { ...plain, answer, fix: () => void (isOpen = false) };
}

const CREDENTIALS = ["--secret", `TOKEN=${TOKEN}`, "-H", `Authorization: ${PASSWORD}`];

async function packed(list: Record<string, unknown>[], url: string, ...argv: string[]) {
  const cwd = folder({ "scenarios.json": list });
  const { code, stderr } = await tool(cwd, "run", "--target", url, "--repro", "packs", ...argv);
  const pack = join(cwd, "packs", "TS-001");
  const files = existsSync(pack) ? readdirSync(pack).sort() : [];
  return { cwd, code, stderr, pack, files };
}

/** Runs a file of a pack with only the credentials in its environment. */
function run(program: string, args: string[], env: Record<string, string> = {}) {
  const all = { PATH: process.env.PATH, TOKEN, AUTHORIZATION: PASSWORD, ...env };
  return new Promise<{ code: number; output: string }>((resolve) =>
    execFile(
      program,
      args,
      { env: all },
      (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    )
  );
}

/** Executes the command of `repeat.sh` in this process. */
async function repeat({ cwd, pack }: { cwd: string; pack: string }) {
  writeFileSync(join(cwd, "words.sh"), `printf '%s\\0' "$@"`);
  const { output } = await run("sh", [join(pack, "repeat.sh")], {
    SCENARIO_TOOL: `sh ${join(cwd, "words.sh")}`,
  });
  const words = output.split("\0").slice(0, -1);
  Object.assign(process.env, { TOKEN, AUTHORIZATION: PASSWORD });
  onTestFinished(() => ["TOKEN", "AUTHORIZATION"].forEach((name) => delete process.env[name]));
  return await tool(cwd, ...words);
}

test("the pack of a race contains everything to repeat it, and no credential", async () => {
  const { url } = await shop();
  const { pack, files, stderr } = await packed(execs(race), url, ...CREDENTIALS);
  expect(files).toEqual([
    "README.md",
    "curl.sh",
    "race.mjs",
    "repeat.sh",
    "request.http",
    "scenario.json",
  ]);
  expect(stderr).toContain("How to repeat the failure is in packs");
  const all = files.map((file) => readFileSync(join(pack, file), "utf8")).join("\n");
  expect(all).not.toContain(TOKEN);
  expect(all).not.toContain(PASSWORD.slice(6));
  expect(all).toContain("{{AUTHORIZATION}}");
  expect(readFileSync(join(pack, "README.md"), "utf8")).toContain(
    "All five succeeded; only one should",
  );
});

describe("a pack fails until the service is fixed", () => {
  test("race.mjs needs only Node", async () => {
    const { url, fix } = await shop();
    const { pack } = await packed(execs(race), url, ...CREDENTIALS);
    const open = await run("node", [join(pack, "race.mjs")]);
    expect(open).toEqual({
      code: 1,
      output: expect.stringMatching(/5 of 5 won: 201 201[^]*RACE in 1 of 1/),
    });
    fix();
    const fixed = await run("node", [join(pack, "race.mjs")]);
    expect(fixed).toEqual({ code: 0, output: expect.stringContaining("1 of 5 won") });
  });

  test("race.mjs over HTTP/2", async () => {
    const { answer, fix } = await shop();
    const server = createSecureServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
      const chunks: string[] = [];
      request.setEncoding("utf8").on("data", (chunk) => chunks.push(String(chunk))).on(
        "end",
        async () => {
          const { authorization, "x-quote": quote } = request.headers;
          response.writeHead(await answer(request.url, authorization, chunks.join(""), quote))
            .end();
        },
      );
    });
    const sessions = new Set<{ destroy: () => void }>();
    server.on("session", (session) => sessions.add(session));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const session of sessions) session.destroy();
      server.close();
    });
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { pack } = await packed(execs(race), url, "--insecure", ...CREDENTIALS);
    expect(await run("node", [join(pack, "race.mjs")])).toMatchObject({ code: 1 });
    expect(readFileSync(join(pack, "curl.sh"), "utf8")).toContain("curl -i -k");
    fix();
    expect(await run("node", [join(pack, "race.mjs")])).toMatchObject({ code: 0 });
  });

  test("repeat.sh uses the tool", async () => {
    const { url, fix } = await shop();
    const made = await packed(
      execs({ ...race, rounds: 2, priority: "critical" }),
      url,
      ...CREDENTIALS,
    );
    const open = await repeat(made);
    expect(open.code, open.stderr).toBe(2);
    expect(open.stdout).toContain("In 2 of 2 rounds: All five succeeded; only one should");
    fix();
    expect((await repeat(made)).code).toBe(0);
  });

  const crash = { ...race, path: "/crash", concurrency: undefined };

  test.skipIf(!HAS_CURL)("curl.sh (needs curl)", async () => {
    const { url, requests } = await shop();
    const { pack, files } = await packed(execs(crash), url, ...CREDENTIALS);
    expect(files).not.toContain("race.mjs");
    expect((await run("sh", [join(pack, "curl.sh")])).output).toContain("HTTP/1.1 500");
    expect(requests[1]!.body).toBe(requests[0]!.body);
  });

  test.skipIf(!HAS_CURL)(
    "curl.sh of a race sends as many, each with the same fresh value",
    async () => {
      const { url, requests } = await shop();
      const { pack } = await packed(execs(race), url, ...CREDENTIALS);
      await run("sh", [join(pack, "curl.sh")]);
      const lines = requests.slice(5).map(({ line }) => line);
      expect([lines.length, new Set(lines).size]).toEqual([5, 1]);
      expect(lines[0]).not.toBe(requests[0]!.line);
    },
  );

  test("request.http contains the exact request", async () => {
    const { url, requests } = await serve((_request, response) => response.writeHead(500).end());
    const plain = {
      mode: "http",
      method: "PATCH",
      path: "/a/../b%2e?c",
      headers: { "X-A": "é" },
      body: "ü",
    };
    const { pack } = await packed(execs(plain), url, "-H", "X-Trace: 1");
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });
    socket.write(readFileSync(join(pack, "request.http")));
    const answer = await new Promise<string>((resolve) =>
      socket.once("data", (data) => resolve(String(data)))
    );
    expect(answer).toContain("500");
    expect(requests[1]).toEqual(requests[0]);
  });

  test("a command's pack contains its chaos condition", async () => {
    const command = ["sh", "-c", '[ "$COLUMNS" != 1 ]'];
    const made = await packed(execs({ mode: "cli", command }), "cli", "--chaos=columns-tiny");
    expect(made.files).toEqual(["README.md", "repeat.sh", "scenario.json"]);
    const { code, stdout } = await repeat(made);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining("(columns-tiny)"),
    });
  });

  test("a playbook's pack has placeholders for the identities", async () => {
    const { url } = await serve((request, response) => {
      response.writeHead(request.headers.authorization === PASSWORD ? 200 : 401).end();
    });
    const step = { name: "mine", method: "GET", path: "/", as: "alice", expect: [401] };
    const { scenario } = await import("./harness.ts");
    const made = await packed(
      [scenario({ playbook: { steps: [step] } })],
      url,
      "--driver",
      "playbook",
      "--as",
      `alice=Authorization: ${PASSWORD}`,
    );
    process.env.ALICE_AUTHORIZATION = PASSWORD;
    onTestFinished(() => void delete process.env.ALICE_AUTHORIZATION);
    const text = readFileSync(join(made.pack, "repeat.sh"), "utf8");
    expect(text).toContain("alice=Authorization: {{ALICE_AUTHORIZATION}}");
    const refused = await run("sh", [join(made.pack, "repeat.sh")]);
    expect(refused).toEqual({
      code: 2,
      output: expect.stringContaining("ALICE_AUTHORIZATION: set it"),
    });
  });
});

test("a run without failures writes no pack, and an impossible folder is a usage error", async () => {
  const { url } = await serve((_request, response) => response.end());
  const ok = execs({ mode: "http", method: "GET", path: "/" });
  expect((await packed(ok, url)).files).toEqual([]);
  const cwd = folder({
    "scenarios.json": execs({ ...race, body: "{}", path: "/" }),
    packs: "a file",
  });
  const { code, stderr } = await tool(cwd, "run", "--target", url, "--repro", "packs");
  expect(code).toBe(3);
  expect(stderr).toContain("Cannot write the pack");
});

test("a pack does not trust a certificate that the run did not trust", async () => {
  const { url } = await shop();
  const { pack } = await packed(execs(race), url, ...CREDENTIALS);
  const [script, curl] = ["race.mjs", "curl.sh"].map((file) =>
    readFileSync(join(pack, file), "utf8")
  );
  expect(script).toContain('"insecure": false');
  expect(curl).not.toContain(" -k ");
});

test("hostile text of a scenario stays text in the pack", async () => {
  const { url } = await serve((_request, response) => response.writeHead(500).end());
  const cwd = folder();
  const list = execs({ mode: "http", method: "GET", path: "/'$(touch pwned)`touch pwned`" });
  const title = "x\n$(touch pwned)\u001b[2J";
  writeFileSync(join(cwd, "scenarios.json"), JSON.stringify([{ ...list[0], title }]));
  await tool(cwd, "run", "--target", url, "--repro", "packs");
  const pack = join(cwd, "packs/TS-001");
  for (const file of ["curl.sh", "repeat.sh"]) {
    await new Promise<void>((resolve) =>
      execFile("sh", [join(pack, file)], {
        cwd,
        env: { PATH: process.env.PATH, SCENARIO_TOOL: ":" },
      }, () => resolve())
    );
  }
  expect(existsSync(join(cwd, "pwned"))).toBe(false);
  expect(readFileSync(join(pack, "README.md"), "utf8")).not.toContain("\u001b");
});
