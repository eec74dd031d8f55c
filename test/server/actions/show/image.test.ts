import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { readImageHead } from "../../../../server/actions/show/image_head.ts";
import { createTestGate, type TestGate } from "../../../helpers.ts";
import { pngOf } from "../../../png.ts";

const latin = (text: string) => Buffer.from(text, "latin1");

const HEADS: [string, Uint8Array, unknown][] = [
  ["a PNG", pngOf(3, 2, [1, 2, 3]), { type: "image/png", width: 3, height: 2 }],
  ["a GIF", latin("GIF89a\x05\x00\x07\x01"), { type: "image/gif", width: 5, height: 263 }],
  [
    "a JPEG, behind other segments",
    latin("\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc2\x00\x11\x08\x00\x10\x01\x00\x03"),
    { type: "image/jpeg", width: 256, height: 16 },
  ],
  [
    "a lossy WebP",
    latin("RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x20\x00\x10\x40"),
    { type: "image/webp", width: 32, height: 16 },
  ],
  [
    "a lossless WebP",
    latin("RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x1f\xc0\x03\x00"),
    { type: "image/webp", width: 32, height: 16 },
  ],
  [
    "an extended WebP",
    latin("RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x1f\0\0\x0f\0\0\0"),
    { type: "image/webp", width: 32, height: 16 },
  ],
  ["an SVG", latin('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'), null],
  ["a PNG without a size", pngOf(1, 1, [0, 0, 0]).subarray(0, 20), null],
  ["a PNG of no width", pngOf(1, 1, [0, 0, 0], { width: 0, height: 1 }), null],
  ["a JPEG that never ends", latin("\xff\xd8\xff\xe0\xff\xff"), null],
  ["HTML behind the name of a GIF", latin("GIF89<script>alert(1)</script>"), null],
  ["nothing", new Uint8Array(), null],
];

test.each(HEADS)("the head of %s", (_name, content, head) => {
  expect(readImageHead(content)).toEqual(head);
});

test("no bytes make the head fail, and a found image has a size", () => {
  const start = fc.constantFrom(...HEADS.map(([, content]) => [...content]));
  fc.assert(fc.property(start, fc.nat(40), fc.uint8Array({ maxLength: 60 }), (head, keep, rest) => {
    const found = readImageHead(Uint8Array.from([...head.slice(0, keep), ...rest]));
    expect(found === null || (found.width > 0 && found.height > 0)).toBe(true);
  }));
});

async function hold(gate: TestGate, content: Uint8Array, path = "held/logo.png") {
  const input = { path, content: Buffer.from(content).toString("base64"), encoding: "base64" };
  const held = await gate.request("POST", "/api/actions", { tool: "write_file", input });
  const { id } = await held.json();
  const { after_sha256 } = await (await gate.request("GET", `/api/actions/${id}`)).json();
  return { id, after_sha256 };
}

test("a held image is shown by its hash, and nothing else of the ledger is", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const image = pngOf(4, 3, [200, 0, 0]);
  const { id, after_sha256 } = await hold(gate, image);
  const shown = await gate.request("GET", `/api/actions/${id}/images/${after_sha256}`);
  expect(shown.status).toBe(200);
  expect(await shown.json()).toEqual({
    ...{ type: "image/png", width: 4, height: 3, bytes: image.length },
    data: Buffer.from(image).toString("base64"),
  });
  const other = await hold(gate, pngOf(1, 1, [0, 0, 0]), "held/other.png");
  const statusOf = async (path: string) => (await gate.request("GET", path)).status;
  expect(await statusOf(`/api/actions/${id}/images/${other.after_sha256}`)).toBe(404);
  expect(await statusOf(`/api/actions/${id}/images/..%2f..%2fkeys`)).toBeLessThan(500);
});

test("an image that is dropped while it is looked up is not found", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const { id, after_sha256 } = await hold(gate, pngOf(1, 1, [0, 0, 0]));
  const { ledger } = gate.project;
  const all = ledger.all.bind(ledger);
  let looked = 0;
  vi.spyOn(ledger, "all").mockImplementation((sql, ...rest) =>
    sql.includes("FROM blobs") && ++looked > 1 ? Promise.resolve([]) : all(sql, ...rest)
  );
  const shown = await gate.request("GET", `/api/actions/${id}/images/${after_sha256}`);
  vi.restoreAllMocks();
  expect([shown.status, looked]).toEqual([404, 2]);
});

test("a page is named an image but is none, and a bomb is not shown", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "ask" } });
  const look = async (content: Uint8Array) => {
    const { id, after_sha256 } = await hold(gate, content);
    return (await gate.request("GET", `/api/actions/${id}/images/${after_sha256}`)).status;
  };
  expect(await look(latin("<svg onload=alert(1)>\x00"))).toBe(404);
  expect(await look(pngOf(1, 1, [0, 0, 0], { width: 100_000, height: 100_000 }))).toBe(413);
  expect(await look(Buffer.concat([pngOf(1, 1, [0, 0, 0]), Buffer.alloc(4 * 1024 * 1024)])))
    .toBe(413);
});
