import process from "node:process";
import { redactEvent } from "../../../server/audit/redact.ts";
import { Signer } from "../../../server/audit/signer.ts";
import { openLedger } from "../../../server/db/open_ledger.ts";

/** Commits events without end and prints the number of each one when it is durable. */
const folder = process.argv[2]!;
const signer = Signer.open(folder);
const { ledger } = await openLedger({
  project_id: "test",
  folder,
  pid: process.pid,
  now: Date.now,
  redact: redactEvent,
  sign: (head) => signer.sign(head),
  publish: () => {},
  noteDurable: () => {},
});
for (let n = 1;; n++) {
  const { events } = await ledger.commit({
    statements: [{
      sql: `INSERT INTO blobs (project_id, sha256, bytes, chunks, created_at)
        SELECT 'test', CAST(coalesce(max(rowid), 0) + 1 AS TEXT), 0, 0, '' FROM blobs`,
      args: [],
    }],
    events: [{
      session_id: null,
      action_id: null,
      type: "action.submitted",
      actor: { kind: "agent", id: "writer" },
      data: { n },
    }],
  });
  console.log(events[0]!.seq);
}
