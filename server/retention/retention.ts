import { setImmediate } from "node:timers/promises";
import type { KnownContents } from "../actions/known_contents.ts";
import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import type { RetentionDays } from "../config/configs.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { Needed } from "./needed.ts";
import type { GcInput, GcResult, RetentionView } from "./schema.ts";
import {
  deleteChunks,
  dropContents,
  type HeldContent,
  listContents,
  noteEmptied,
} from "./store.ts";

/** Contents of one statement, and the most that one commit drops. */
const PAGE = 500;
const MOST_BYTES = 4 * 1024 * 1024;
/** Chunks of up to 1 MiB that one commit deletes. */
const MOST_CHUNKS = 4;

const DAY_MS = 24 * 60 * 60 * 1_000;

interface RetentionServices {
  ledger: Ledger;
  environment: Environment;
  contents: KnownContents;
  days: () => Promise<RetentionDays>;
}

/** Drops the contents of old, settled actions of one project. Its records and its log stay. */
export class Retention {
  readonly #services: RetentionServices;
  #isRunning = false;

  constructor(services: RetentionServices) {
    this.#services = services;
  }

  async view(): Promise<RetentionView> {
    const { days } = await this.#services.days();
    return { project_id: this.#services.ledger.project_id, days };
  }

  /**
   * Drops what is older than the retention, or only counts it. @throws GateError `conflict` without a
   * retention, or while another call runs
   */
  async collect({ dry_run, days: asked }: GcInput, caller: Caller): Promise<GcResult> {
    requireReviewer(caller, "drop old contents", "gate gc");
    if (asked !== undefined && !dry_run) {
      throw refused('"days" is only for a dry run', "set retention.days in the global config");
    }
    const { days: accepted, waiting } = await this.#services.days();
    const days = asked ?? accepted;
    if (days === null && waiting !== null) {
      throw refused(
        `a person must accept the ${waiting} days of config.json`,
        "gate config accept",
      );
    }
    if (days === null) {
      const next = "set retention.days in the global config, and accept it (gate config accept)";
      throw refused("no retention is in force, so contents are kept for ever", next);
    }
    const obstacle = await this.#obstacle();
    if (!dry_run && obstacle !== null) throw refused(obstacle, LEAVE_FIRST);
    if (this.#isRunning) throw refused("another call is at work", "try again when it has ended");
    this.#isRunning = true;
    try {
      const result = await this.#collect(days, dry_run, caller);
      return { ...result, obstacle: obstacle && `${obstacle}; ${LEAVE_FIRST}` };
    } finally {
      this.#isRunning = false;
    }
  }

  /** Each machine alone knows which contents its commits under way name. */
  async #obstacle(): Promise<string | null> {
    const { ledger } = this.#services;
    const others = (await ledger.listMachines()).filter(({ id }) => id !== ledger.machine?.id);
    if (others.length === 0) return null;
    return `other machines share the ledger (${others.map(({ name }) => name).join(", ")})`;
  }

  async #collect(
    days: number,
    dry_run: boolean,
    caller: Caller,
  ): Promise<Omit<GcResult, "obstacle">> {
    const { ledger, environment } = this.#services;
    const until = new Date(environment.now() - days * DAY_MS).toISOString();
    const needed = await Needed.since(ledger, until);
    const result: Omit<GcResult, "obstacle"> = {
      ...{ project_id: ledger.project_id, dry_run, days, until },
      dropped: { contents: 0, bytes: 0 },
      needed: { contents: 0, bytes: 0 },
    };
    for (let number = 0, size = PAGE; size === PAGE;) {
      const page = await listContents(ledger, { number, until, limit: PAGE });
      await needed.follow();
      for (const part of partsOf(page)) {
        const found = part.filter(({ is_dropped }) => !is_dropped);
        const free = found.filter(({ sha256 }) => !needed.has(sha256));
        const dropped = dry_run ? free : await this.#drop(free, needed, { days, until, caller });
        count(result.dropped, dropped);
        count(result.needed, found.filter((one) => !dropped.includes(one)));
        // A crash may have left chunks of contents that are dropped already.
        if (!dry_run) {
          await this.#empty([
            ...dropped,
            ...part.filter(({ is_dropped }) => is_dropped),
          ]);
        }
        await setImmediate();
      }
      size = page.length;
      number = page.at(-1)?.number ?? number;
    }
    return result;
  }

  /** Drops contents and records it, in one commit. Returns those that nothing needs by now. */
  async #drop(
    found: readonly HeldContent[],
    needed: Needed,
    { days, until, caller }: { days: number; until: string; caller: Caller },
  ): Promise<HeldContent[]> {
    const { ledger, environment, contents } = this.#services;
    let dropped: HeldContent[] = [];
    await needed.follow();
    // A content that a ledger names from here on is in use.
    await contents.drop(
      found.map(({ sha256 }) => sha256).filter((sha256) => !needed.has(sha256)),
      async (unused) => {
        const hashes = new Set(unused);
        dropped = found.filter(({ sha256 }) => hashes.has(sha256));
        if (dropped.length === 0) return;
        const at = new Date(environment.now()).toISOString();
        await ledger.commit({
          statements: [dropContents(ledger.project_id, unused, at)],
          events: [{
            ...{ session_id: null, action_id: null, type: "contents.dropped" },
            actor: { kind: "reviewer", id: caller.id },
            data: { days, until, ...count({ contents: 0, bytes: 0 }, dropped) },
          }],
        });
        await environment.fault?.("contents dropped");
      },
    );
    return dropped;
  }

  /** Deletes the chunks of dropped contents, a few in each commit. */
  async #empty(dropped: readonly HeldContent[]): Promise<void> {
    const { ledger, contents, environment } = this.#services;
    const { project_id } = ledger;
    for (const { sha256 } of dropped.filter(({ is_chunked }) => is_chunked)) {
      for (let isLeft = true; isLeft;) {
        isLeft = false;
        // A content that an action names again meanwhile is kept as far as it is here.
        await contents.drop([sha256], async ([unused]) => {
          if (unused === undefined) return;
          const chunks = deleteChunks(project_id, sha256, MOST_CHUNKS);
          const { rows } = await ledger.commit({ statements: [chunks], events: [] });
          await environment.fault?.("chunks deleted");
          isLeft = rows[0]!.length > 0;
          if (isLeft) return;
          await ledger.commit({ statements: [noteEmptied(project_id, sha256)], events: [] });
        });
      }
    }
  }
}

/** The page in parts, none larger than what one commit may drop. */
function partsOf(page: readonly HeldContent[]): HeldContent[][] {
  const parts: HeldContent[][] = [];
  let bytes = Infinity;
  for (const one of page) {
    // Chunks are deleted by commits of their own.
    const own = one.is_chunked ? 0 : one.bytes;
    if (bytes + own > MOST_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(one);
    bytes += own;
  }
  return parts;
}

function count(amount: GcResult["dropped"], contents: readonly HeldContent[]) {
  amount.contents += contents.length;
  for (const { bytes } of contents) amount.bytes += bytes;
  return amount;
}

const LEAVE_FIRST =
  "let them leave first (gate hub leave there), or move it here (gate hub leave --whole)";

function refused(why: string, next: string): GateError {
  return new GateError("conflict", `Cannot drop old contents: ${why}`, { next });
}
