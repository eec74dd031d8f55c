import type { AuditEvent } from "../audit/schema.ts";
import type { PublishedEvent } from "./schema.ts";

/**
 * The machine-wide order of events: gives each its cursor, publishes it on the bus at once and
 * keeps it for readers that come back with `Last-Event-ID`.
 */
export interface Stream {
  /** The newest cursor, 0 before the first event. */
  readonly head: number;
  /** Called after a commit: one published event per topic that an audit event belongs to. */
  append(events: readonly AuditEvent[]): void;
  /**
   * The events after `cursor`, oldest first, at most `limit`; null when some of them are no longer
   * kept or the cursor is not ours: the reader must fetch everything again (`event: resync`).
   */
  since(cursor: number, limit: number): Promise<PublishedEvent[] | null>;
}
