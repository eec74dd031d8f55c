import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { verifyFile } from "../../cli/evidence/verify.ts";
import type { Checkpoint } from "../../server/evidence/schema.ts";
import { ensureEvidencePage } from "../evidence_page.ts";
import { createTestGate, testCaller, type TestGate } from "../helpers.ts";
import { approveTogether, fill as decide } from "../server/proof/decided.ts";
import { withPasskey, withPassphrase } from "../server/proof/person.ts";
import { openChromium } from "./chromium.ts";

const HOSTILE = [
  "</script><script>document.title = 'owned'</script>",
  "<img src=x onerror=\"document.title='owned'\">",
  "<!--<script>",
  "]]></script><svg onload=alert(1)>",
  "\u202etxt.exe\u0000\u200b",
  "${alert(1)} {{alert(1)}} javascript:alert(1)",
];

let browser: Browser;
let folder: string;
let gate: TestGate;
let checkpoint: Checkpoint;
let bundle: string;

beforeAll(async () => {
  await ensureEvidencePage();
  folder = mkdtempSync(join(tmpdir(), "gate-evidence-"));
  gate = await createTestGate({ policies: { defaultEffect: "ask", allowedPaths: ["free/**"] } });
  await fill();
  checkpoint = await gate.project.audit.checkpoint();
  bundle = await (await gate.request("GET", "/api/audit/export?format=bundle")).text();
  browser = await openChromium();
});
afterAll(async () => {
  await browser?.close();
  await gate?.close();
  rmSync(folder, { recursive: true });
});

/** Fills the ledger with decisions of all kinds and with hostile texts. */
async function fill(): Promise<void> {
  const ask = async (path: string, body: unknown, scope?: "agent") =>
    await (await gate.request("POST", path, body, scope)).json();
  for (let n = 0; n < 5; n++) {
    const write = { tool: "write_file", input: { path: `src/a${n}.ts`, content: "x" } };
    const { id } = await ask("/api/actions", write, "agent");
    gate.clock.advance(60_000);
    const verb = n % 2 ? "reject" : "approve";
    await ask(`/api/actions/${id}/${verb}`, { reason: "looked at" });
    if (n === 4) await ask(`/api/actions/${id}/rollback`, { reason: "wrong" });
  }
  await ask(
    "/api/actions",
    { tool: "write_file", input: { path: "free/x", content: "" } },
    "agent",
  );
  const session = await gate.project.sessions.open({ agent: "codex" }, testCaller());
  await gate.project.ledger.commit({
    statements: [],
    events: HOSTILE.map((text) => ({
      session_id: session.id,
      action_id: null,
      type: "action.submitted" as const,
      actor: { kind: "agent" as const, id: text },
      data: { tool: text, command: text, [text]: text },
    })),
  });
}

/** Opens the page from disk and collects everything that must not happen. */
async function open(html: string, scheme: "light" | "dark" = "light") {
  const file = join(folder, `${crypto.randomUUID()}.html`);
  writeFileSync(file, html);
  const context = await browser.newContext({ colorScheme: scheme });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("dialog", (dialog) => void dialog.dismiss().then(() => complaints.push("a dialog")));
  page.on("request", (request) => {
    if (request.url() !== pathToFileURL(file).href) complaints.push(`asks for ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  onTestFinished(() => context.close());
  return { page, file, complaints };
}

async function verdictOf(page: Page): Promise<string> {
  await page.waitForSelector(".verdict-good, .verdict-bad");
  return (await page.locator(".verdict").innerText()).replaceAll("\n", " ").replaceAll(/ +/g, " ");
}

async function compare(page: Page, typed: string): Promise<string> {
  await page.fill("#known", typed);
  await page.click("text=Compare");
  return await verdictOf(page);
}

test("an unchanged bundle is verified from disk, offline", async () => {
  const { page, file, complaints } = await open(bundle);
  expect(await verdictOf(page)).toMatch(/^Unchanged All \d+ events are as they were signed/);
  expect(await verifyFile(file, {})).toMatchObject({ ok: true });
  expect(await page.title()).toBe("Audit log: test");
  expect(await page.locator(".counts tbody tr").allInnerTexts()).toEqual([
    expect.stringMatching(/^reviewer\s+4\s+2\s+–\s+1$/),
    expect.stringMatching(/^policy\s+1\s+–\s+–\s+–$/),
  ]);
  expect(await page.locator(".facts").innerText()).toContain(checkpoint.public_key);
  expect(complaints).toEqual([]);
});

test("text from agents is shown and never run", async () => {
  const { page, complaints } = await open(bundle);
  await verdictOf(page);
  const shown = await page.locator(".events").innerText();
  for (const text of HOSTILE.slice(0, 4)) expect(shown).toContain(text);
  expect(shown).toContain("U+202E");
  await page.locator("summary").first().click();
  expect(await page.title()).toBe("Audit log: test");
  expect(await page.locator("img, svg, iframe").count()).toBe(0);
  expect(complaints).toEqual([]);
});

test.each<[string, (text: string) => string, RegExp]>([
  [
    "a byte changed",
    (text) => text.replace("src/a1.ts", "src/b1.ts"),
    /^Broken at event \d+ Event/,
  ],
  ["a byte of a hash", (text) => text.replace(/"hash":"(.)/g, '"hash":"x'), /^(Broken|Not proven)/],
  [
    "an escape in other letters",
    (text) => text.replace("\\u003cscript", "\\u003Cscript"),
    /^Broken/,
  ],
  [
    "an event is gone",
    (text) => text.replace(/\n\{"seq":4,.*/, ""),
    /^Broken at event 4 .*missing/,
  ],
  [
    "the tail is cut",
    (text) => text.replace(/(\n\{"seq":[1-9][0-9],.*)+/, ""),
    /^Broken at event 10 The chain ends at event 9, but event \d+ had been written/,
  ],
  ["no proof", (text) => text.replace('"gate-audit-bundle"', '"x"'), /^Not proven .*no audit log/],
  [
    "a wrong signature",
    (text) =>
      text.replaceAll(
        checkpoint.signature,
        checkpoint.signature.replace(/^./, (first) => first === "/" ? "A" : "/"),
      ),
    /^Broken at event \d+ The checkpoint at event \d+ has a wrong signature/,
  ],
])("the page and the command say the same of a file with: %s", async (_name, change, said) => {
  const changed = change(bundle);
  expect(changed).not.toBe(bundle);
  const { page, file } = await open(changed);
  expect(await verdictOf(page)).toMatch(said);
  const found = await verifyFile(file, {}).catch(() => null);
  expect(found?.ok ?? false).toBe(false);
  if (!found?.problem) return;
  expect((await verdictOf(page)).toLowerCase()).toContain(found.problem.what.toLowerCase());
});

test("a known key or checkpoint distinguishes a forged log from the real one", async () => {
  const { page } = await open(bundle);
  const known = `${checkpoint.seq}:${checkpoint.hash}`;
  expect(await compare(page, checkpoint.public_key)).toMatch(/^Unchanged .*match the key/);
  expect(await compare(page, known)).toMatch(/^Unchanged .*match the checkpoint/);
  expect(await compare(page, JSON.stringify(checkpoint))).toMatch(/^Unchanged .*key and the check/);
  const other = await createTestGate();
  const theirs = await other.project.audit.checkpoint();
  expect(await compare(page, theirs.public_key)).toMatch(/^Broken .*another key/);
  expect(await compare(page, JSON.stringify({ ...checkpoint, seq: 1 }))).toMatch(/^Not proven/);
  expect(await compare(page, `1:${"0".repeat(64)}`)).toMatch(/^Broken at event 1/);
  expect(await compare(page, `9999:${checkpoint.hash}`)).toMatch(/^Broken .*event 9999 had been/);
  expect(await compare(page, "")).toMatch(/^Unchanged/);
});

test("events are found by search, and the page prints", async () => {
  const { page } = await open(bundle, "dark");
  await verdictOf(page);
  await page.fill("input[type=search]", "rejected a1.ts");
  expect(await page.locator(".quiet").first().innerText()).toBe("0 found");
  await page.fill("input[type=search]", "SRC/A1.ts submitted");
  expect(await page.locator(".events li").count()).toBe(1);
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  expect(await page.locator("input[type=search]").isVisible()).toBe(false);
  expect(await page.locator(".verdict").isVisible()).toBe(true);
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor))
    .not.toBe(dark);
});

describe("the proofs of people are checked in the browser", () => {
  test.each([
    ["a passphrase", withPassphrase],
    ["a passkey with P-256", () => withPasskey("ES256")],
    ["a passkey with Ed25519", () => withPasskey("Ed25519")],
    ["a passkey with RSA", () => withPasskey("RS256")],
  ])("of %s", async (_, create) => {
    const proven = await createTestGate({ proof: "none", policies: { defaultEffect: "ask" } });
    const person = create();
    await decide(proven, person);
    if ("signAll" in person) {
      await approveTogether(proven, person as ReturnType<typeof withPasskey>, ["x.txt", "y.txt"]);
    }
    const read = async () =>
      await (await proven.request("GET", "/api/audit/export?format=bundle")).text();
    const whole = await open(await read());
    expect(await verdictOf(whole.page)).toMatch(/^Unchanged/);
    expect(whole.complaints).toEqual([]);

    const approved = (await proven.audit()).find(({ data }) => data.asked)!;
    const { session_id, action_id, type, actor, data } = approved;
    await proven.project.ledger.commit({
      statements: [],
      events: [{ session_id, action_id, type, actor, data: { digest: data.digest } }],
    });
    const bare = await open(await read());
    expect(await verdictOf(bare.page)).toMatch(/^Broken at event \d+/);
    expect(await bare.page.locator("body").innerText()).toContain("has no proof");
  });
});
