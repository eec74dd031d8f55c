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
  // A content of one chunk is in its own row.
  expect(chunks.length).toBe(content.length > CHUNK_BYTES ? 3 : 0);
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
  expect(await ledger.all("SELECT count(*) AS n FROM blobs")).toEqual([{ n: 1 }]);
  expect(await readBlob(ledger, "0".repeat(64))).toBeNull();
  expect(await sizeOfBlob(ledger, "0".repeat(64))).toBeNull();
});

test.each([
  ["another byte", "data = CAST(x'00' || substr(data, 2) AS BLOB)"],
  ["one that cannot be decompressed", "encoding = 'deflate', data = x'ff'"],
  ["a missing one", null],
  ["a longer one", "data = CAST(data || x'00' AS BLOB)"],
])("readBlob() rejects a damaged content, in its row and in chunks: %s", async (_name, set) => {
  const small = new Uint8Array(100).map((_, i) => (i * 37 + 1) % 251);
  for (
    const [content, table] of [
      [small, "blobs"],
      [randomBytes(CHUNK_BYTES + 1), "blob_chunks"],
    ] as const
  ) {
    const { ledger, put } = await keep(content);
    const missing = table === "blobs"
      ? "UPDATE blobs SET data = NULL, chunks = 1"
      : "DELETE FROM blob_chunks";
    const sql = set === null ? missing : `UPDATE ${table} SET ${set}`;
    await ledger.commit({ statements: [{ sql, args: [] }], events: [] });
    await expect(readBlob(ledger, put.sha256), table).rejects.toMatchObject({
      code: "unavailable",
    });
  }
});

test("a content that an older release kept in a chunk is read, and a lost chunk is put back", async () => {
  const content = new TextEncoder().encode("older");
  const { ledger, put } = await keep(content);
  const older = [
    `INSERT INTO blob_chunks (project_id, sha256, number, encoding, data)
      SELECT project_id, sha256, 0, encoding, data FROM blobs`,
    "UPDATE blobs SET chunks = 1, encoding = NULL, data = NULL",
  ];
  await ledger.commit({ statements: older.map((sql) => ({ sql, args: [] })), events: [] });
  expect(await readBlob(ledger, put.sha256)).toEqual(content);
  const lose = [{ sql: "DELETE FROM blob_chunks", args: [] }];
  await ledger.commit({ statements: lose, events: [] });
  await expect(readBlob(ledger, put.sha256)).rejects.toMatchObject({ code: "unavailable" });
  await ledger.commit({ statements: put.statements, events: [] });
  expect(await readBlob(ledger, put.sha256)).toEqual(content);
});
