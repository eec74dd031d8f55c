import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { digestOf } from "../proof/digest.ts";
import type { Proofs } from "../proof/proofs.ts";
import { blockOf, isLiftProven, listAdded, listLifts } from "./log.ts";
import type { Block, UnblockInput } from "./schema.ts";
import {
  findBlock,
  findNextEnd,
  insertBlock,
  liftBlock,
  listActiveBlocks,
  listEnding,
  putBlockBack,
} from "./store.ts";

export interface BlockServices {
  ledger: Ledger;
  environment: Environment;
  /** Asks a person for a proof: a lifted block lets more happen. */
  proofs: Pick<Proofs, "require" | "eventCheck">;
}

/**
 * A block with its lift. `proven`: a person signed it. `unasked`: no proof was asked at that time,
 * so the lift ends when a person enrols.
 */
interface Known {
  block: Block;
  lift: "none" | "proven" | "unasked";
}

/** The most blocks in one list. */
const MOST_LISTED = 500;

/**
 * The blocks of a project's sessions, kept in memory. The audit log decides which are active: another
 * program of the same user can write their rows.
 */
export class Blocks {
  readonly #services: BlockServices;
  /** By session, then by id. Null until they are read. */
  #known: Map<string, Map<string, Known>> | null = null;
  /** The blocks of agents, by agent, then by id. */
  readonly #agents = new Map<string, Map<string, Known>>();
  #reading: Promise<Map<string, Map<string, Known>>> | null = null;
  #schedule: (expires_at: string) => void = () => {};
  /** The events that were committed before the blocks are read. */
  #noted: AuditEvent[] = [];

  constructor(services: BlockServices) {
    this.#services = services;
  }

  /** Why every call of the session is denied; null if neither it nor its agent is blocked. */
  async reasonOf(session_id: string, agent: string | null = null): Promise<string | null> {
    const known = this.#known ?? await this.#read();
    for (const one of known.get(session_id)?.values() ?? []) {
      if (await this.#isActive(one)) return one.block.reason;
    }
    for (const one of this.#agents.get(agent ?? "")?.values() ?? []) {
      if (await this.#isActive(one)) return one.block.reason;
    }
    return null;
  }

  /** When the session, or its agent, was last blocked; null if never. */
  async lastAdded(of: { session_id: string } | { agent: string }): Promise<string | null> {
    const known = this.#known ?? await this.#read();
    const all = "agent" in of
      ? [...this.#agents.get(of.agent)?.values() ?? []]
      : [...known.get(of.session_id)?.values() ?? []];
    return all.map(({ block }) => block.created_at).toSorted().at(-1) ?? null;
  }

  /** Blocks a session, or an agent in all its sessions, for some time. */
  async add(
    { session_id, agent, action_id, reason, seconds }:
      & Pick<Block, "session_id" | "agent" | "action_id" | "reason">
      & { seconds: number },
  ): Promise<void> {
    const { ledger, environment } = this.#services;
    const { project_id } = ledger;
    const now = environment.now();
    const [created_at, expires_at] = [now, now + seconds * 1000].map((at) =>
      new Date(at).toISOString()
    );
    const block: Block = {
      ...{ id: environment.id(), project_id, session_id, action_id, reason, agent },
      ...{ created_at: created_at!, expires_at: expires_at!, lifted_at: null, lifted_by: null },
    };
    await ledger.commit({
      statements: [insertBlock(block)],
      events: [{
        ...{ session_id, action_id, type: "block.added" },
        actor: { kind: "system", id: "gate" },
        data: { block_id: block.id, reason, expires_at, ...agent !== null && { agent } },
      }],
    });
  }

  /** Takes over the blocks and lifts that this process has committed. */
  note(events: readonly AuditEvent[]): void {
    for (const event of events) {
      if (event.type !== "block.added" && event.type !== "block.removed") continue;
      const { expires_at } = event.data;
      if (event.type === "block.added" && typeof expires_at === "string") {
        this.#schedule(expires_at);
      }
      if (this.#known === null) this.#noted.push(event);
      else this.#apply(this.#known, event);
    }
  }

  /** Calls this with the time at which each new block ends. */
  onAdded(schedule: (expires_at: string) => void): void {
    this.#schedule = schedule;
  }

  /** Records the end of each block whose time is over, once. */
  async endDue(): Promise<void> {
    const { ledger, environment } = this.#services;
    const now = new Date(environment.now()).toISOString();
    const due = await listEnding(ledger, now);
    if (due.length === 0) return;
    const known = await this.#read();
    for (const row of due) {
      // The log decides when a block ends: another program can write its row.
      const block = known.get(row.session_id)?.get(row.id)?.block;
      if (!block?.expires_at || block.expires_at > now) continue;
      const { id, session_id, action_id, agent, expires_at } = block;
      const by = { at: expires_at, who: "gate", lift_id: environment.id() };
      const { update, when } = liftBlock(block, by);
      await ledger.commit({
        statements: [update],
        when,
        events: [{
          ...{ session_id, action_id, type: "block.removed" },
          actor: { kind: "system", id: "gate" },
          data: { block_id: id, reason: "its time is over", ...agent !== null && { agent } },
        }],
      });
    }
  }

  /** The time of the next end of a block; null if none ends by itself. */
  async nextEnd(): Promise<string | null> {
    const { ledger, environment } = this.#services;
    return await findNextEnd(ledger, new Date(environment.now()).toISOString());
  }

  /** The active blocks, newest first. */
  async list(): Promise<Block[]> {
    const active = await this.#active();
    for (const block of active) await this.#restoreRow(block);
    return active.toSorted((a, b) => keyOf(a) < keyOf(b) ? 1 : -1).slice(0, MOST_LISTED);
  }

  /** Lifts a block, so that its session may submit again. @throws GateError `forbidden`, `not_found`, `conflict` */
  async lift(id: string, { reason }: UnblockInput, caller: Caller): Promise<Block> {
    requireReviewer(caller, "lift the block", "gate session unblock");
    const { ledger, environment, proofs } = this.#services;
    const block = await this.#require(id);
    await this.#restoreRow(block);
    const asked = { block_id: id };
    const proof = await proofs.require(caller, {
      verb: "lift_block",
      project_id: ledger.project_id,
      action_id: null,
      digest: digestOf(asked),
      head: ledger.head.hash,
    });
    const by = {
      at: new Date(environment.now()).toISOString(),
      who: caller.id,
      lift_id: environment.id(),
    };
    const { update, when } = liftBlock(block, by);
    const { events } = await ledger.commit({
      statements: [update],
      when,
      events: [{
        session_id: block.session_id,
        action_id: block.action_id,
        type: "block.removed",
        actor: { kind: "reviewer", id: caller.id },
        data: { block_id: id, reason: reason ?? null, ...proof && { asked, proof } },
      }],
    });
    if (events.length === 0) throw liftedAlready(id);
    return { ...block, lifted_at: by.at, lifted_by: by.who };
  }

  async #active(): Promise<Block[]> {
    const all = [...(await this.#read()).values()].flatMap((some) => [...some.values()]);
    const active = await Promise.all(all.map((one) => this.#isActive(one)));
    return all.filter((_, index) => active[index]).map(({ block }) => block);
  }

  async #require(id: string): Promise<Block> {
    const all = [...(await this.#read()).values()].map((some) => some.get(id));
    const found = all.find((one) => one !== undefined);
    if (!found) {
      const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
      throw new GateError(
        "not_found",
        `Cannot find block ${shown} in this project: there is none`,
        { next: "gate session blocks" },
      );
    }
    if (await this.#isActive(found)) return found.block;
    throw found.lift === "none" ? expiredAlready(found.block) : liftedAlready(id);
  }

  #insert(known: Map<string, Map<string, Known>>, block: Block): void {
    const of = known.get(block.session_id) ?? new Map<string, Known>();
    known.set(block.session_id, of);
    const one = of.get(block.id) ?? { block, lift: "none" };
    of.set(block.id, one);
    if (block.agent === null) return;
    const ofAgent = this.#agents.get(block.agent) ?? new Map<string, Known>();
    this.#agents.set(block.agent, ofAgent.set(block.id, one));
  }

  #apply(known: Map<string, Map<string, Known>>, event: AuditEvent): void {
    const block = blockOf(event);
    if (event.type === "block.added") return this.#insert(known, block);
    // A block whose time is over is not lifted by anybody.
    if (event.actor.kind === "system") return;
    const one = known.get(block.session_id)?.get(block.id);
    if (one) one.lift = event.data.proof === undefined ? "unasked" : "proven";
  }

  async #isActive(one: Known): Promise<boolean> {
    if (this.#isOver(one.block)) return false;
    if (one.lift !== "unasked") return one.lift === "none";
    const { ledger, proofs } = this.#services;
    const check = await proofs.eventCheck();
    if (check === null) return false;
    const lifts = (await listLifts(ledger)).get(one.block.id) ?? [];
    one.lift = await isLiftProven(check, lifts) ? "proven" : "none";
    if (one.lift === "none") await this.#restoreRow(one.block);
    return one.lift === "none";
  }

  #isOver({ expires_at }: Block): boolean {
    return expires_at !== null && Date.parse(expires_at) <= this.#services.environment.now();
  }

  #read(): Promise<Map<string, Map<string, Known>>> {
    if (this.#known) return Promise.resolve(this.#known);
    return this.#reading ??= this.#load().finally(() => this.#reading = null);
  }

  async #load(): Promise<Map<string, Map<string, Known>>> {
    const { ledger, proofs } = this.#services;
    const known = new Map<string, Map<string, Known>>();
    const rows = await listActiveBlocks(ledger);
    const ids = new Set(rows.map(({ id }) => id));
    const added = (await listAdded(ledger)).map(blockOf);
    const lifted = added.filter((block) => !ids.has(block.id) && !this.#isOver(block));
    const check = lifted.length === 0 ? null : await proofs.eventCheck();
    const lifts = check === null ? new Map() : await listLifts(ledger);
    for (const block of [...added, ...rows]) this.#insert(known, block);
    for (const block of lifted) {
      const one = known.get(block.session_id)!.get(block.id)!;
      if (check === null) one.lift = "unasked";
      else if (await isLiftProven(check, lifts.get(block.id) ?? [])) one.lift = "proven";
      else await this.#restoreRow(block);
    }
    for (const event of this.#noted.splice(0)) this.#apply(known, event);
    return this.#known = known;
  }

  /** Makes a block active again that somebody lifted or deleted in the ledger. */
  async #restoreRow(block: Block): Promise<void> {
    const { ledger, environment } = this.#services;
    const { id, project_id } = block;
    const row = await findBlock(ledger, id);
    if (row?.lifted_at === null) return;
    environment.log("error", "a block was lifted without a person's proof", { project_id, id });
    try {
      await ledger.commit({ statements: [putBlockBack(block)], events: [] });
    } catch (error) {
      // The block is active without its row.
      environment.log("error", "Cannot write the row of a block", { id, error: String(error) });
    }
  }
}

function keyOf({ created_at, id }: Block): string {
  return `${created_at} ${id}`;
}

function liftedAlready(id: string): GateError {
  return new GateError("conflict", `Cannot lift block "${id}": it has been lifted already`);
}

function expiredAlready({ id, expires_at }: Block): GateError {
  return new GateError("conflict", `Cannot lift block "${id}": it ended at ${expires_at}`);
}
