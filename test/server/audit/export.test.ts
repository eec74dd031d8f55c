import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CSV_HEADER, toCell, toCsvLine } from "../../../server/audit/csv.ts";
import { AuditExport, GlobalAuditExport } from "../../../server/audit/schema.ts";
import type { AuditEvent } from "../../../server/evidence/schema.ts";
import { isSigned } from "../../../server/evidence/signature.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

/** Texts that spreadsheets compute, and texts that look like formulas. */
const FORMULAS = [
  ...["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "  +1", "\u00a0=1", "\0=1"],
  ...["＝1+1", "＋1", "－1", "＠SUM(A1)", " ＝1", "'=1", "''", "'", "'plain", '"=1"', '","=1'],
  ...['=HYPERLINK("http://x","y")', "=cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "@x;=1"],
  ...["=", "+", "-", "@", "--force", "+x", "-rf", "=A1\r\n=B1", "=A1\n=B1", '="', "=a,b", "=a;b"],
  ...[
    "+1-800-555",
    "-1.5e3",
    "@here",
    "=IMPORTXML(1)",
    "=DDE(1)",
    "\t",
    "\r\n",
    "\t+1",
    "\u2003-1",
  ],
  ...["\ufeff=1", "=\u202e1", "=é", '=""""', "+🦕", "-\t1"],
];
const TRIGGER = /^(?:[\s\0]*[=+\-@＝＋－＠]|[\t\r\n\0])/;
const unsafe = (cell: string) => cell.startsWith("'") ? cell.slice(1) : cell;

async function exported(gate: TestGate, query: string, path = "/api/audit/export") {
  const response = await gate.request("GET", `${path}?${query}`, undefined, "viewer");
  expect(response.status).toBe(200);
  return { headers: response.headers, text: await response.text() };
}

async function events(gate: TestGate, query: string, path?: string) {
  return JSON.parse((await exported(gate, query, path)).text).events as AuditEvent[];
}

test("CSV carries 50 formulas as text that parses back to the original", async () => {
  expect(FORMULAS.length).toBeGreaterThanOrEqual(50);
  const gate = await createTestGate();
  const session = await gate.project.sessions.open({}, testCaller());
  await gate.project.ledger.commit({
    statements: [],
    events: FORMULAS.map((text) => ({
      session_id: session.id,
      action_id: null,
      type: "action.submitted" as const,
      actor: { kind: "agent" as const, id: text },
      data: { tool: "run_command", path: text, command: text, reason: text },
    })),
  });
  const { headers, text } = await exported(gate, "format=csv");
  expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(headers.get("content-disposition")).toBe('attachment; filename="gate-audit.csv"');
  const lines = parse(text, { record_delimiter: "\r\n" }) as string[][];
  for (const cell of lines.flat()) expect(cell).not.toMatch(TRIGGER);
  const rows = parse(text, { columns: true, record_delimiter: "\r\n" }) as Record<string, string>[];
  const own = rows.slice(1);
  for (const name of ["actor_id", "path", "command", "reason"]) {
    expect(own.map((row) => unsafe(row[name]!))).toEqual(FORMULAS);
  }
  expect(own.map(({ data }) => JSON.parse(unsafe(data!)).path)).toEqual(FORMULAS);
});

test("toCell() is reversible for any text and never starts with a formula character", () => {
  fc.assert(fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 2 }), (texts) => {
    const line = `${texts.map(toCell).join(",")}\r\n`;
    const [cells] = parse(line, { record_delimiter: "\r\n" }) as string[][];
    expect(cells!.map(unsafe)).toEqual(texts);
    for (const cell of cells!) expect(cell).not.toMatch(TRIGGER);
  }));
});

test("the CSV lines built in SQL equal those of toCsvLine() for any text", async () => {
  const gate = await createTestGate();
  const { id } = await gate.project.sessions.open({}, testCaller());
  const odd = fc.sample(fc.string({ unit: "binary", maxLength: 30 }), 500);
  const texts = [...FORMULAS, ...odd, ...odd.map((text) => `\u3000${text}`), "é", "ß=", "😀"]
    .filter((text) => !text.includes("\0"));
  await gate.project.ledger.commit({
    statements: [],
    events: texts.map((text) => ({
      session_id: id,
      action_id: null,
      type: "action.submitted" as const,
      actor: { kind: "agent" as const, id: text },
      data: { tool: text, path: text || null, command: text, status: text, reason: text },
    })),
  });
  const { text } = await exported(gate, "format=csv");
  const wanted = (await events(gate, "")).map(toCsvLine);
  expect(wanted.filter((line) => !text.includes(line))).toEqual([]);
  expect(text).toBe(CSV_HEADER + wanted.join(""));
});

test("a JSON export has all events and signed checkpoints", async () => {
  const gate = await createTestGate();
  await gate.request("POST", "/api/actions", {
    tool: "write_file",
    input: { path: "a", content: "=1+1" },
  }, "agent");
  const { headers, text } = await exported(gate, "");
  expect(headers.get("content-type")).toBe("application/json");
  const body = AuditExport.parse(JSON.parse(text));
  expect(body.events).toEqual(await gate.audit());
  expect(body.checkpoint).toMatchObject(gate.project.ledger.head);
  expect(isSigned(body.checkpoint)).toBe(true);
  expect(body.checkpoints).toEqual([body.checkpoint]);
});

test("the export of an empty chain is valid JSON and CSV", async () => {
  const gate = await createTestGate();
  const { text } = await exported(gate, "format=json");
  expect(JSON.parse(text)).toMatchObject({ events: [], checkpoint: { seq: 0 } });
  expect(parse((await exported(gate, "format=csv")).text)).toHaveLength(1);
});

test("filters select the right events over several pages, also when the clock is set back", async () => {
  const gate = await createTestGate();
  const a = await gate.project.sessions.open({}, testCaller());
  const b = await gate.project.sessions.open({}, testCaller());
  const begin = gate.clock.now;
  for (let round = 0; round < 25; round++) {
    // The clock is set back once.
    gate.clock.now = begin + (round === 12 ? 5_500 : round * 1_000);
    await gate.project.ledger.commit({
      statements: [],
      events: Array.from({ length: 100 }, (_, n) => ({
        session_id: n % 2 ? a.id : b.id,
        action_id: `x${n}`,
        type: n % 10 ? "action.started" as const : "action.finished" as const,
        actor: { kind: "system" as const, id: "gate" },
        data: {},
      })),
    });
  }
  const all = await gate.audit();
  const at = (ms: number) => new Date(begin + ms).toISOString();
  const cases: [string, (event: (typeof all)[number]) => boolean][] = [
    ["", () => true],
    [`from=${at(5_000)}`, (event) => event.at >= at(5_000)],
    [`to=${at(5_000)}`, (event) => event.at < at(5_000)],
    [`from=${at(3_000)}&to=${at(9_000)}`, (event) => event.at >= at(3_000) && event.at < at(9_000)],
    ["type=action.finished", ({ type }) => type === "action.finished"],
    ["type=action.approved", ({ type }) => type === "action.approved"],
    ["type=session.started", ({ type }) => type === "session.started"],
    [`session_id=${a.id}`, ({ session_id }) => session_id === a.id],
    ["action_id=x10", ({ action_id }) => action_id === "x10"],
    [
      `session_id=${b.id}&type=action.finished&from=${at(8_000)}`,
      (event) =>
        event.session_id === b.id && event.type === "action.finished" && event.at >= at(8_000),
    ],
    ["to=2020-01-01", () => false],
    ["from=2020-01-01", () => true],
    ["window=1d", () => true],
  ];
  for (const [query, isWanted] of cases) {
    const found = await events(gate, query);
    const seqs = found.map(({ seq }) => seq).sort((x, y) => x - y);
    expect(seqs, query).toEqual(all.filter(isWanted).map(({ seq }) => seq));
    const { text } = await exported(gate, `format=csv&${query}`);
    expect(text).toBe(CSV_HEADER + found.map(toCsvLine).join(""));
  }
  gate.clock.advance(3 * 86_400_000);
  expect(await events(gate, "window=2d")).toEqual([]);
});

test.each([
  ["format=xml"],
  ["window=0d"],
  ["window=3651d"],
  ["window=7"],
  ["window=-1d"],
  ["from=yesterday"],
  ["type=unknown"],
  ["format=csv&format=json"],
])("?%s is answered 400", async (query) => {
  const gate = await createTestGate();
  for (const path of ["/api/audit/export", "/api/global/audit/export"]) {
    expect((await gate.request("GET", `${path}?${query}`)).status).toBe(400);
  }
});

test("the global export merges the events of all projects by time", async () => {
  const gate = await createTestGate();
  const roots = ["two", "three"].map((id) => {
    const root = join(gate.root, "..", id);
    mkdirSync(root);
    writeFileSync(join(root, "gate.config.json"), JSON.stringify({ id }));
    return { id, root };
  });
  const projects = [gate.project];
  for (const { id, root } of roots) {
    await gate.daemon.projects.register(root, PERSON);
    projects.push(await gate.daemon.projects.get(id));
  }
  for (let n = 0; n < 60; n++) {
    gate.clock.advance(1_000);
    await projects[(n * 7) % 3 && n % 3]!.sessions.open({}, testCaller());
  }
  const { text } = await exported(gate, "format=json", "/api/global/audit/export");
  const body = GlobalAuditExport.parse(JSON.parse(text));
  expect(body.events).toHaveLength(60);
  expect(body.events.map(({ at }) => at)).toEqual(body.events.map(({ at }) => at).toSorted());
  expect(new Set(body.events.map(({ project_id }) => project_id)).size).toBe(3);
  expect(body.checkpoints.map(({ project_id }) => project_id).sort())
    .toEqual(["test", "three", "two"]);
  expect(body.checkpoints.every(isSigned)).toBe(true);
  const csv = await exported(gate, "format=csv&window=1d", "/api/global/audit/export");
  expect(parse(csv.text)).toHaveLength(61);
});

test("cancelling the download ends the stream", async () => {
  const gate = await createTestGate();
  for (let n = 0; n < 3; n++) await gate.project.sessions.open({}, testCaller());
  const response = await gate.request("GET", "/api/audit/export?format=csv");
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  expect(new TextDecoder().decode(value)).toMatch(/^seq,at,.*\r\n$/);
  await reader.cancel();
  expect(await reader.read()).toMatchObject({ done: true });
});

test("an agent may not export", async () => {
  const { isAllowed } = await import("../../../server/auth/scopes.ts");
  for (const path of ["/api/audit/export", "/api/global/audit/export"]) {
    expect(isAllowed("agent", "GET", path)).toBe(false);
    expect(isAllowed("viewer", "GET", path)).toBe(true);
  }
});
