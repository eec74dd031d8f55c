import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { listen, race, runRace } from "./race_run.ts";
import { execs, folder, serve, tool } from "./harness.ts";

describe("the overlap of requests", () => {
  test("is taken from the target's own timing if it sends any", async () => {
    const { url } = await serve((_request, response) => {
      response.setHeader("Server-Timing", "db;dur=1.5, total;dur=80");
      setTimeout(() => response.end(), 80);
    });
    const { race: seen } = await runRace(url);
    expect(seen).toMatchObject({
      overlap: true,
      in_flight: 10,
      server_overlap: { source: "server-timing", most_at_once: 10 },
    });
  });

  test("is low for a target that handles one request at a time", async () => {
    let before: Promise<void> = Promise.resolve();
    const { url } = await serve((_request, response) => {
      response.setHeader("X-Runtime", "0.004");
      before = before.then(() =>
        new Promise((resolve) =>
          setTimeout(() => {
            response.end();
            resolve();
          }, 5)
        )
      );
    });
    const { race: seen } = await runRace(url);
    expect(seen.in_flight).toBe(10);
    expect(seen.server_overlap).toMatchObject({ source: "x-runtime" });
    expect(seen.server_overlap.most_at_once).toBeLessThan(6);
  });

  test("is denied if responses arrive before the last byte", async () => {
    const port = await listen(createServer((socket) => {
      socket.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
    }));
    const { race: seen, execution } = await runRace(`http://127.0.0.1:${port}`);
    expect(seen.overlap).toBe(false);
    expect(execution.reason).toMatch(/\d+ of 10 were answered before their last byte was sent/);
    expect(seen.blind_spots.join()).toContain("Not all requests were in flight");
  });
});

describe("the reason explains responses that neither won nor lost", () => {
  const answer = (status: number, more = "") =>
    `HTTP/1.1 ${status} X\r\n${more}Content-Length: 0\r\n\r\n`;
  test.each([
    ["429", (n: number) => answer(n === 0 ? 200 : 429), "9 of 10 were rate limited (429)"],
    ["303", (n: number) => answer(n === 0 ? 200 : 303), "9 of 10 were redirected (3xx)"],
    [
      "103",
      (n: number) => "HTTP/1.1 103 Early Hints\r\n\r\n" + answer(n === 0 ? 200 : 409),
      "(103)",
    ],
    ["101", (n: number) => answer(n === 0 ? 101 : 409), "1 of 10 switched protocols"],
  ])("%s", async (_name, answerOf, words) => {
    let n = 0;
    const port = await listen(createServer((socket) => {
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
        if (text.endsWith("{}")) socket.end(answerOf(n++));
      });
    }));
    const { execution } = await runRace(`http://127.0.0.1:${port}`);
    expect(execution).toMatchObject({ status: "passed", reason: expect.stringContaining(words) });
  });

  test("identical winning responses may be one repeated response", async () => {
    const { url } = await serve((_request, response) => response.end("done"));
    const { race: seen } = await runRace(url);
    expect(seen.notes.join()).toContain("10 of 10 won with the same answer");
  });
});

test("text and markdown show the strategy, the overlap and the blind spots", async () => {
  const { url } = await serve((_request, response) => response.end());
  const list = execs({ ...race, headers: { Cookie: "a=1" } });
  const cwd = folder({ "scenarios.json": list });
  for (const output of ["text", "markdown"]) {
    const { stdout } = await tool(cwd, "run", "--target", url, "--output", output);
    expect(stdout).toMatch(/released by last-byte within \d+ µs, \d+ of 10 in flight at once/);
    expect(stdout).toContain("not by h2: nothing negotiates HTTP/2");
    expect(stdout).toMatch(/What these races cannot see:?\n\n?[ -]+Over a connection each/);
    expect(stdout).toContain("All requests share one session");
  }
});
