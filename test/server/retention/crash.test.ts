import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { listEvents } from "../../../server/audit/store.ts";
import { startChild } from "../../child.ts";
import { testCaller } from "../../helpers.ts";
import { openAgo, writeFolders, writeOld } from "./old_ledger.ts";

const reviewer = testCaller("reviewer");

test.each(["contents dropped:1", "chunks deleted:1", "chunks deleted:2"])(
  "after a kill at %s the next call drops the rest, and the log says what was dropped",
  async (at) => {
    const { home, root } = makeFolders();
    const { ids } = await writeOld(home, root);
    const child = await startChild("server/retention/crash_program.ts", [home, root, at]);
    expect(await child.readLine()).toBeNull();

    const { daemon, project } = await openAgo(home, root, 0);
    onTestFinished(() => daemon.close());
    expect(await count(project.ledger, "blobs WHERE chunks > 0")).toBe(1);
    const { dropped } = await project.retention.collect({ dry_run: false }, reviewer);
    // The first commit marked everything; only chunks were left.
    expect(dropped.contents).toBe(0);
    expect(await count(project.ledger, "blob_chunks")).toBe(0);
    expect(await count(project.ledger, "blobs WHERE data IS NOT NULL OR chunks > 0")).toBe(0);
    const events = await listEvents(project.ledger, 0, 1_000);
    expect(events.filter(({ type }) => type === "contents.dropped"))
      .toMatchObject([{ data: { contents: 3, days: 30 } }]);
    expect(await project.audit.verify()).toMatchObject({ ok: true, problem: null });
    for (const id of ids) {
      expect(await project.actions.detail(id)).toMatchObject({
        contents_dropped_at: expect.any(String),
        after: { text: null },
      });
    }
  },
);

async function count(
  ledger: Awaited<ReturnType<typeof openAgo>>["project"]["ledger"],
  from: string,
): Promise<number> {
  const [row] = await ledger.all(`SELECT count(*) AS n FROM ${from}`);
  return Number(row!.n);
}

function makeFolders(): { home: string; root: string } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-gc-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [home, root] = [join(base, "home"), join(base, "root")];
  writeFolders(home, root);
  return { home, root };
}
