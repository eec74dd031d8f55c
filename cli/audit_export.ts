import { createWriteStream } from "node:fs";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import type { AuditExportQuery } from "../server/audit/schema.ts";
import { unwrap } from "../server/client.ts";
import { openConnection, scopedClient } from "./daemon/connect.ts";
import type { Io } from "./io.ts";
import { visibleText } from "./terminal/visible.ts";

/** What of the audit log is wanted, as the API takes it. */
export type ExportFilters = Partial<
  Pick<AuditExportQuery, "format" | "window" | "from" | "to" | "type">
>;

/** Writes the audit log to a file or to standard output, as it comes. @throws ProblemError */
export async function exportAudit(
  io: Io,
  query: ExportFilters,
  { project, output }: { project?: string; output?: string },
): Promise<void> {
  const connection = await openConnection(io, { scope: "viewer" });
  const answer = project
    ? await scopedClient(connection, project).api.audit.export.$get({ query })
    : await connection.client.api.global.audit.export.$get({ query: acrossProjects(query) });
  if (!answer.ok || !answer.body) return await unwrap(Promise.resolve(answer as never));
  const text = Readable.fromWeb(answer.body as WebStream<Uint8Array>);
  if (output !== undefined) {
    return await pipeline(text, createWriteStream(output, { mode: 0o600 }));
  }
  // What agents wrote shall not act on a terminal; a file gets it as it is.
  if (io.stdout.isTTY) await pipeline(text, visibly(), io.stdout, { end: false });
  else await pipeline(text, io.stdout, { end: false });
}

/** A bundle is of one project. */
function acrossProjects({ format, ...query }: ExportFilters) {
  return { ...query, format: format === "csv" ? format : "json" as const };
}

function visibly(): Transform {
  const decoder = new TextDecoder();
  let held = "";
  return new Transform({
    transform(chunk, _encoding, done) {
      const text = held + decoder.decode(chunk, { stream: true });
      // A line of CSV ends in both: only a return that ends no line is to be seen.
      held = text.endsWith("\r") ? "\r" : "";
      const whole = held ? text.slice(0, -1) : text;
      done(null, visibleText(whole.replaceAll("\r\n", "\n")));
    },
    flush(done) {
      done(null, visibleText(held));
    },
  });
}
