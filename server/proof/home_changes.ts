import type { Database } from "../db/database.ts";
import type { Ledger, NewEvent } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { compareHistories, History, lastChange } from "./history.ts";
import { type LedgerChanges, markOf, readLedgerChanges } from "./ledger_changes.ts";
import { ProofChange, type ProofKind } from "./schema.ts";
import { NATIVE } from "./signature.ts";
import {
  findStart,
  insertTokenStart,
  listChanges,
  listLedgerChanges,
  replaceChanges,
  setMark,
} from "./store.ts";
import { sayWrong } from "../issue.ts";

interface HomeServices {
  environment: Environment;
  registry: Database;
  /** `approvals.proof` of the global config at this moment; null when it is absent or unreadable. */
  configured: () => "token" | "passphrase" | "passkey" | null;
}

/** The proof that a decision on this home needs now. */
export interface ProofState {
  kind: ProofKind;
  /** The changes that led here: of gate.db, or of the ledgers when gate.db has lost them. */
  changes: readonly ProofChange[];
  /** Why nothing can be decided, and what a person must do; null if a decision is possible. */
  problem: string | null;
  /** Whether it is known whose key it is, so that a proof with it may replace it. */
  is_certain: boolean;
}

/**
 * The changes of a home's proof. `gate.db` holds them, and every ledger has a copy in its audit log,
 * so a `gate.db` that another program deleted or rewrote is noticed.
 */
export class HomeChanges {
  readonly #services: HomeServices;
  #start: "none" | "token";
  #changes: readonly ProofChange[] = [];
  /** Why gate.db's own changes cannot be trusted; null if they can. */
  #damage: string | null = null;
  /** The open ledgers. Each gets every change. */
  readonly #ledgers = new Map<string, Ledger>();
  /** Changes in ledgers that gate.db does not know, by project. */
  readonly #unknown = new Map<string, readonly unknown[]>();
  /** The comparison with all ledgers; null before the first and after a change. */
  #compared: Promise<void> | null = null;

  private constructor(services: HomeServices, start: "none" | "token") {
    this.#services = services;
    this.#start = start;
  }

  /** Reads the changes. A home without a key whose config says `token` records that choice. */
  static async open(services: HomeServices): Promise<HomeChanges> {
    const { registry } = services;
    const home = new HomeChanges(services, await findStart(registry));
    const { changes, fault } = await readHistory(await listChanges(registry));
    home.#changes = changes;
    home.#damage = fault;
    await home.#adoptToken();
    return home;
  }

  /** The changes in gate.db that follow from one another, oldest first. */
  get changes(): readonly ProofChange[] {
    return this.#changes;
  }

  /** The kind of proof that gate.db names. */
  get kind(): ProofKind {
    return lastChange(this.#changes)?.kind ?? this.#start;
  }

  /** The proof that decisions need now. Compares with every ledger before the first answer. */
  async state(): Promise<ProofState> {
    const compared = this.#compared ??= this.#compareAll();
    try {
      await compared;
    } catch (error) {
      // The next question compares again.
      if (this.#compared === compared) this.#compared = null;
      throw error;
    }
    await this.#adoptToken();
    const known = { kind: this.kind, changes: this.#changes };
    if (this.#damage === null && this.#unknown.size === 0) {
      return { ...known, problem: null, is_certain: true };
    }
    const remembered = await this.#remembered();
    const names = [...this.#unknown.keys()].map((id) => `"${id}"`).join(", ");
    const cause = this.#damage !== null
      ? `gate.db's record of the proof was changed: ${this.#damage}`
      : `the audit log of ${names} remembers a proof that gate.db does not know: gate.db was ` +
        "deleted, replaced or changed, or these logs come from elsewhere";
    const problem = remembered
      ? `${cause}; take the home back with "gate proof change" and the passphrase or passkey ` +
        "that was enrolled"
      : `${cause}; stop the daemon and put gate.db or the logs in projects/ back: move gate.db ` +
        "away to let gate take the proof from the logs, or move a foreign log's folder away";
    return remembered
      ? { kind: lastChange(remembered)!.kind, changes: remembered, problem, is_certain: true }
      : { ...known, problem, is_certain: false };
  }

  /**
   * The one history that the ledgers agree on, when it continues what gate.db still has. Null when
   * they disagree, because then nobody can tell whose key is the right one.
   */
  async #remembered(): Promise<readonly ProofChange[] | null> {
    let longest: readonly ProofChange[] = this.#damage === null ? this.#changes : [];
    for (const values of this.#unknown.values()) {
      const { changes, fault } = await readHistory(values);
      if (fault !== null) return null;
      const relation = compareHistories(changes, longest);
      if (relation === "other") return null;
      if (relation === "longer") longest = changes;
    }
    return longest.length > 0 ? longest : null;
  }

  /** Commits these changes to gate.db and to every open ledger; the others get them when they open. */
  async replace(
    changes: readonly ProofChange[],
    counter: { key_id: string; counter: number } | null,
  ): Promise<void> {
    const { registry, environment } = this.#services;
    await replaceChanges(registry, changes, counter);
    await environment.fault?.("proof changed");
    this.#changes = changes;
    this.#damage = null;
    this.#unknown.clear();
    this.#compared = null;
    for (const ledger of this.#ledgers.values()) await this.#update(ledger);
  }

  /** Brings a ledger that has just opened up to date, or notes that it remembers another proof. */
  async attach(ledger: Ledger): Promise<void> {
    this.#ledgers.set(ledger.project_id, ledger);
    await this.#compare(ledger);
  }

  /** Forgets a ledger that closes. */
  detach(project_id: string): void {
    this.#ledgers.delete(project_id);
  }

  /** The open ledger of a project. */
  ledgerOf(project_id: string): Ledger | undefined {
    return this.#ledgers.get(project_id);
  }

  /** A ledger that fails to take the change gets it at its next opening. */
  async #update(ledger: Ledger): Promise<void> {
    try {
      await this.#compare(ledger);
    } catch (error) {
      const { project_id } = ledger;
      const { log } = this.#services.environment;
      log("error", "Cannot record the change of the proof", { project_id, error: String(error) });
    }
  }

  /** Appends the changes that a ledger lacks. One that remembers anything else is noted. */
  async #compare(ledger: Ledger): Promise<void> {
    const { project_id } = ledger;
    const found = await listLedgerChanges(ledger, project_id);
    const relation = compareHistories(found as ProofChange[], this.#changes);
    if (relation === "longer" && ledger.machine !== null && this.#changes.length > 0) {
      if (await this.#continue(found)) return;
    }
    if (relation === "same" || relation === "shorter") {
      this.#unknown.delete(project_id);
      if (this.#damage !== null) return;
      const events = this.#changes.slice(found.length).map(toEvent);
      const last = this.#changes.at(-1);
      if (!last || events.length === 0) return;
      await ledger.commit({ statements: [setMark(markOf(last))], events });
      return;
    }
    this.#noteUnknown({ project_id, changes: found });
  }

  /**
   * Takes over what another machine has added: each change is proven with a key before it. False if
   * it is not, or if the changes of this home itself cannot be trusted.
   */
  async #continue(values: readonly unknown[]): Promise<boolean> {
    const { changes, fault } = await readHistory(values);
    if (fault !== null || this.#damage !== null) return false;
    await this.replace(changes, null);
    return true;
  }

  /**
   * Takes over the keys of a ledger that this home joins. Only a home without any key of its own does:
   * whoever may ask for this could set the first key as well. Returns whether it took any.
   * @throws GateError `conflict`
   */
  async adopt(values: readonly unknown[]): Promise<boolean> {
    const relation = compareHistories(values as ProofChange[], this.#changes);
    const cannot = (why: string, next: string, fields = {}) =>
      new GateError("conflict", `Cannot join the ledger: ${why}`, { next, fields });
    const isOther = relation === "other" || (relation === "shorter" && values.length === 0);
    if (isOther || this.#damage !== null || this.#unknown.size > 0) {
      const why =
        "this home has keys of its own, and a joining home takes over those of the others";
      const next = "gate hub join --shared --fresh-home, which puts this home aside first";
      throw cannot(why, next, { keys: "own" });
    }
    if (relation !== "longer") return false;
    const { changes, fault } = await readHistory(values);
    if (fault !== null) {
      throw cannot(`its keys cannot be trusted: ${fault}`, "gate audit verify");
    }
    await this.replace(changes, null);
    return true;
  }

  /** Compares an open ledger again, because another machine has changed the proof there. */
  async follow(project_id: string): Promise<void> {
    const ledger = this.#ledgers.get(project_id);
    if (ledger) await this.#update(ledger);
  }

  /** Compares with every ledger that is not open. */
  async #compareAll(): Promise<void> {
    const { home, log } = this.#services.environment;
    const known = { projects: this.#ledgers, marks: new Set(this.#changes.map(markOf)) };
    const onUnreadable = (project_id: string, cause: string) =>
      log("warn", "an audit log could not be compared with gate.db", { project_id, cause });
    for await (const found of readLedgerChanges(home, known, onUnreadable)) {
      const relation = compareHistories(found.changes as ProofChange[], this.#changes);
      if (relation === "longer" || relation === "other") this.#noteUnknown(found);
    }
  }

  #noteUnknown({ project_id, changes }: LedgerChanges): void {
    const { log } = this.#services.environment;
    log("error", "an audit log remembers a proof that gate.db does not know", { project_id });
    this.#unknown.set(project_id, changes);
  }

  async #adoptToken(): Promise<void> {
    const { registry, configured } = this.#services;
    const isOpen = this.#changes.length === 0 && this.#damage === null;
    if (!isOpen || this.#start === "token" || configured() !== "token") return;
    await insertTokenStart(registry);
    this.#start = "token";
  }
}

async function readHistory(
  values: readonly unknown[],
): Promise<{ changes: ProofChange[]; fault: string | null }> {
  const history = new History(NATIVE);
  for (const [index, value] of values.entries()) {
    const { success, data, error } = ProofChange.safeParse(value);
    const fault = success ? await history.add(data) : sayWrong(error.issues[0]!);
    if (fault !== null) return { changes: history.changes, fault: `change ${index + 1}: ${fault}` };
  }
  return { changes: history.changes, fault: null };
}

function toEvent(change: ProofChange): NewEvent {
  return {
    session_id: null,
    action_id: null,
    type: "proof.changed",
    actor: { kind: "reviewer", id: change.member_id },
    data: { ...change },
  };
}
