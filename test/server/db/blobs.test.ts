import fc from "fast-check";
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { CHUNK_BYTES, putBlob, readBlob, sizeOfBlob } from "../../../server/db/blobs.ts";
import { createTestGate } from "../../helpers.ts";

const place = { project_id: "test", at: "2026-01-01T00:00:00.000Z" };

async function keep(content: Uint8Array) {
  const { project: { ledger } } = await createTestGate();
  const put = await putBlob(content, place);
  await ledger.commit({ statements: put.statements, events: [] });
  return { ledger, put };
}

test.each([
  ["an empty blob", new Uint8Array()],
  ["a text", new TextEncoder().encode("hällo\n")],
  ["one full chunk", new Uint8Array(CHUNK_BYTES).fill(7)],
  ["noise over three chunks", randomBytes(2 * CHUNK_BYTES + 1)],
])("readBlob() returns the stored bytes: %s", async (_name, content) => {
  const { ledger, put } = await keep(content);
  expect(await sizeOfBlob(ledger, put.sha256)).toBe(content.byteLength);
  expect(Buffer.from((await readBlob(ledger, put.sha256))!).equals(content)).toBe(true);
  const chunks = await ledger.all("SELECT length(data) AS bytes FROM blob_chunks");
  expect(chunks.length).toBe(Math.ceil(content.byteLength / CHUNK_BYTES));
  expect(chunks.every(({ bytes }) => Number(bytes) <= CHUNK_BYTES)).toBe(true);
});

test("readBlob() returns the stored bytes for any content", async () => {
  const { project: { ledger } } = await createTestGate();
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 4000 }), async (content) => {
      const put = await putBlob(content, place);
      await ledger.commit({ statements: put.statements, events: [] });
      expect(Buffer.from((await readBlob(ledger, put.sha256))!).equals(content)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test("equal content is stored once, and unknown content reads as null", async () => {
  const { ledger, put } = await keep(new Uint8Array([1, 2, 3]));
  await ledger.commit({ statements: put.statements, events: [] });
  expect(await ledger.all("SELECT count(*) AS n FROM blob_chunks")).toEqual([{ n: 1 }]);
  expect(await readBlob(ledger, "0".repeat(64))).toBeNull();
  expect(await sizeOfBlob(ledger, "0".repeat(64))).toBeNull();
});

test.each([
  ["another byte", "UPDATE blob_chunks SET data = CAST(x'00' || substr(data, 2) AS BLOB)"],
  ["a chunk that cannot be decompressed", "UPDATE blob_chunks SET encoding = 'deflate'"],
  ["a missing chunk", "DELETE FROM blob_chunks"],
  ["a longer chunk", "UPDATE blob_chunks SET data = CAST(data || x'00' AS BLOB)"],
])("readBlob() rejects a damaged blob: %s", async (_name, sql) => {
  const { ledger, put } = await keep(new Uint8Array(100).map((_, i) => (i * 37 + 1) % 251));
  await ledger.commit({ statements: [{ sql, args: [] }], events: [] });
  await expect(readBlob(ledger, put.sha256)).rejects.toMatchObject({ code: "unavailable" });
});
