import type { Environment } from "../environment.ts";
import { insertCheckpoint } from "../db/chain.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Head } from "../evidence/chain.ts";
import { type Export, exportChain, mustBeWhole, readBundlePage } from "./export.ts";
import { listRecentEvents } from "./recent.ts";
import {
  type AuditEventList,
  type AuditEventsQuery,
  type AuditExportQuery,
  type AuditHead,
  type AuditState,
  withoutWindow,
} from "./schema.ts";
import type { AuditVerification, Checkpoint } from "../evidence/schema.ts";
import type { Signer } from "./signer.ts";
import { findCheckpoint, findHash, findTime, newestCheckpoint } from "./store.ts";
import { verifyChain } from "./verify.ts";

export interface AuditServices {
  environment: Environment;
  ledger: Ledger;
  signer: Signer;
  /** The newest head in the registry. */
  remembered: () => Promise<Head | null>;
  /** How the accepted configs in gate.db contradict the ledgers; null if they agree. */
  compareAccepted: () => Promise<string | null>;
}

/** Checks, signs and exports the audit chain of one project. */
export class Audit {
  readonly #services: AuditServices;
  #exports = 0;
  #check: AuditState["check"] = null;

  constructor(services: AuditServices) {
    this.#services = services;
  }

  /**
   * Recomputes the whole chain and compares it with each signed head and with the registry, and the
   * accepted configs with it unless `of_configs` is false.
   */
  async verify({ of_configs = true } = {}): Promise<AuditVerification> {
    const { ledger, signer, remembered, compareAccepted } = this.#services;
    await ledger.sync();
    const check: NonNullable<AuditState["check"]> = {
      started_at: this.#time(),
      finished_at: null,
      checked: 0,
      of: ledger.head.seq,
      result: null,
    };
    this.#check = check;
    try {
      const verified = await verifyChain(ledger, {
        public_key: signer.public_key,
        remembered: await remembered(),
        hear: (checked) => check.checked = checked,
      });
      const what = verified.ok && of_configs ? await compareAccepted() : null;
      check.result = what === null
        ? verified
        : { ...verified, ok: false, problem: { seq: null, what } };
      return check.result;
    } finally {
      check.finished_at = this.#time();
    }
  }

  /** The size and head of the chain, its newest signed head, and the newest check. */
  async state(): Promise<AuditState> {
    const { ledger, signer } = this.#services;
    await ledger.sync();
    const { project_id, durable: { seq, hash } } = ledger;
    return {
      project_id,
      events: seq,
      newest_at: await findTime(ledger, seq),
      hash,
      public_key: signer.public_key,
      checkpoint: await newestCheckpoint(ledger),
      check: this.#check,
    };
  }

  /** The events that match, newest first. @throws GateError */
  async list(query: AuditEventsQuery): Promise<AuditEventList> {
    const { ledger, environment } = this.#services;
    return await listRecentEvents(ledger, withoutWindow(query, environment.now()));
  }

  #time(): string {
    return new Date(this.#services.environment.now()).toISOString();
  }

  /** The durable head of the chain, and the hash of event number `at`. */
  async head(at: number | null): Promise<AuditHead> {
    const { ledger } = this.#services;
    await ledger.sync();
    const { project_id, durable: { seq, hash } } = ledger;
    const found = at === null ? null : await findHash(ledger, at);
    return { project_id, seq, hash, at: found === null ? null : { seq: at!, hash: found } };
  }

  /** The signed head of the chain, which is inserted unless the chain is empty. */
  async checkpoint(): Promise<Checkpoint> {
    const { ledger, signer } = this.#services;
    await ledger.sync();
    const kept = await findCheckpoint(ledger, ledger.head.seq);
    // Another machine that shares the ledger may have signed it.
    if (kept?.public_key === signer.public_key) return kept;
    const { project_id, head } = ledger;
    const at = this.#time();
    const checkpoint = signer.sign({ project_id, seq: head.seq, hash: head.hash, at });
    await ledger.commit({ statements: [insertCheckpoint(checkpoint)], events: [] });
    return checkpoint;
  }

  /** The events up to now, in pieces. @throws GateError */
  async export({ format, ...query }: AuditExportQuery): Promise<Export> {
    const { ledger, environment } = this.#services;
    if (format === "bundle") mustBeWhole({ format, ...query });
    const written = format === "bundle" ? { page: await readBundlePage() } : format;
    const wanted = withoutWindow(query, environment.now());
    const checkpoint = await this.checkpoint();
    const pieces = exportChain(ledger, wanted, { checkpoint, format: written });
    return { format, pieces: this.held(pieces) };
  }

  /** True while a client reads an export. */
  get isExporting(): boolean {
    return this.#exports > 0;
  }

  /** The same pieces; the ledger stays open until they end or the client stops reading. */
  async *held<T>(pieces: AsyncGenerator<T>): AsyncGenerator<T> {
    this.#exports++;
    try {
      yield* pieces;
    } finally {
      this.#exports--;
    }
  }
}
