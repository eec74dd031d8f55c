import { GateError } from "../errors.ts";
import { CLOSE, EVENTS_OPEN, PLACE, PROOF_OPEN, toBundleLine } from "../evidence/bundle.ts";
import type { AuditEvent, Proof } from "../evidence/schema.ts";
import { readAsset } from "../runtime/assets.ts";
import type { AuditExportQuery } from "./schema.ts";

/** The page that a bundle is; its place for the evidence is still empty. @throws GateError */
export async function readBundlePage(): Promise<string> {
  const asset = await readAsset("/evidence.html");
  if (asset) return new TextDecoder().decode(asset.bytes);
  throw new GateError(
    "unavailable",
    "Cannot write a bundle: its page was not built into this gate; export as JSON instead",
  );
}

/** A part of a chain proves nothing. @throws GateError `invalid` */
export function mustBeWhole(query: AuditExportQuery): void {
  const { format: _format, project: _project, ...filters } = query;
  const [given] = Object.entries(filters).find(([, value]) => value !== undefined) ?? [];
  if (given === undefined) return;
  const message = `Cannot write a bundle of a part of the log: it takes no "${given}"`;
  throw new GateError("invalid", message);
}

/** The page with the events and what proves them in it, first the proof. */
export async function* writeBundle(
  pages: AsyncIterable<AuditEvent[]>,
  proof: Pick<Proof, "checkpoint" | "checkpoints">,
  page: string,
): AsyncGenerator<string> {
  const [before, after] = page.split(PLACE);
  const head: Proof = { format: "gate-audit-bundle", version: 1, ...proof };
  yield `${before}\n${block(PROOF_OPEN, [head])}`;
  for await (const events of pages) {
    if (events.length > 0) yield block(EVENTS_OPEN, events);
  }
  yield after!;
}

function block(open: string, values: readonly unknown[]): string {
  return `${[open, ...values.map(toBundleLine), CLOSE].join("\n")}\n`;
}
