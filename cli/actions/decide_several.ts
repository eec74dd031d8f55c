import type { ReviewOutcome } from "../../server/approvals/schema.ts";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import { MOST_TOGETHER } from "../../server/proof/schema.ts";
import type { Connection } from "../daemon/connect.ts";
import { CliError, explain } from "../errors.ts";
import type { Io } from "../io.ts";
import { sayFailure } from "../terminal/output.ts";
import { sayStepBacks, witness } from "../witness/witness.ts";
import { acceptApproved } from "./accept_config.ts";
import { confirmationFor, showApproved, untilBegun } from "./approve.ts";
import type { Cards } from "./cards.ts";
import { sayElsewhere } from "./elsewhere.ts";
import { openAction } from "./find.ts";

/** Several actions that a person names, with the digests that they saw if they give them. */
export interface Several {
  ids: readonly string[];
  digests?: readonly string[] | undefined;
  reason?: string | undefined;
}

type Opened = Awaited<ReturnType<typeof openAction>> & { detail: ActionDetail; digest: string };

/** The outcome of several decisions. */
export interface Decided {
  actions: Action[];
  /** How many named ids were refused; each refusal is printed. */
  refused: number;
}

/**
 * Approves several actions in one request, and prints the outcome of each. A refused one stops no
 * other. @throws NotSigned, CliError if nobody proves the decision; then nothing is approved
 */
export async function approveSeveral(
  io: Io,
  connection: Connection,
  { cards, json, ...several }: Several & { cards: Cards; json?: true },
): Promise<Decided> {
  const told = new Telling(io);
  const opened = await openEach(connection, several, told);
  for (const { detail } of opened) await cards.add(detail);
  sayStepBacks(io, await witness(io, connection, projectsOf(opened)));
  const wanted = await told.keep(opened, async (one) => {
    const confirm = await confirmationFor(io, one.detail, { cards });
    return { ...one, item: { ...itemOf(one), ...confirm !== null && { confirm } } };
  });
  const { reason } = several;
  const given = reason === undefined ? {} : { reason };
  const { approve } = connection.client.api.approvals;
  const approved = await decideAll(wanted, told, async (some) => {
    const items = some.map(({ item }) => item);
    return (await unwrap(approve.$post({ json: { items, ...given } }))).outcomes;
  });
  for (const { one: { client, one, param, detail }, action } of approved) {
    if (!json) {
      const look = () => unwrap(one.$get({ param }));
      const after = await untilBegun(await look(), look);
      showApproved(io, after, { is_edited: false, is_remembered: false });
      await sayElsewhere(io, connection, after);
    }
    await acceptApproved(io, client, { detail, action });
  }
  return { actions: approved.map(({ action }) => action), refused: told.refused };
}

/** Rejects several actions in one request; refusals are printed as for approvals. */
export async function rejectSeveral(
  io: Io,
  connection: Connection,
  several: Several,
): Promise<Decided> {
  const told = new Telling(io);
  const opened = await openEach(connection, several, told);
  sayStepBacks(io, await witness(io, connection, projectsOf(opened)));
  const { reason } = several;
  const given = reason === undefined ? {} : { reason };
  const { reject } = connection.client.api.approvals;
  const rejected = await decideAll(opened, told, async (some) => {
    return (await unwrap(reject.$post({ json: { items: some.map(itemOf), ...given } }))).outcomes;
  });
  return { actions: rejected.map(({ action }) => action), refused: told.refused };
}

/** Prints refusals and counts them. */
class Telling {
  readonly #io: Io;
  refused = 0;

  constructor(io: Io) {
    this.#io = io;
  }

  /** Prints why one is refused. @throws any other error */
  tell(error: unknown, of: string): void {
    const isRefusal = error instanceof ProblemError || error instanceof CliError;
    if (!isRefusal) throw error;
    this.refused += 1;
    const { message, next } = explain(error);
    // Some messages do not name the action.
    const about = message.includes(of) ? "" : `${of}: `;
    sayFailure(this.#io, { problem: `${about}${message}`, next });
  }

  /** The results of those that are not refused, in their order. */
  async keep<One extends { param: { id: string } }, T>(
    all: readonly One[],
    use: (one: One) => Promise<T>,
  ): Promise<T[]> {
    const kept: T[] = [];
    for (const one of all) {
      try {
        kept.push(await use(one));
      } catch (error) {
        this.tell(error, one.param.id);
      }
    }
    return kept;
  }
}

/** Finds each action once. */
async function openEach(
  connection: Connection,
  { ids, digests }: Several,
  told: Telling,
): Promise<Opened[]> {
  const opened = new Map<string, Opened>();
  for (const [at, id] of ids.entries()) {
    try {
      const one = await openAction(connection, id);
      const detail = await unwrap(one.one.$get({ param: one.param }));
      opened.set(detail.id, { ...one, detail, digest: digests?.[at] ?? detail.digest });
    } catch (error) {
      told.tell(error, id);
    }
  }
  return [...opened.values()];
}

async function decideAll<One extends Opened>(
  all: readonly One[],
  told: Telling,
  decide: (some: One[]) => Promise<ReviewOutcome[]>,
): Promise<{ one: One; action: Action }[]> {
  const decided: { one: One; action: Action }[] = [];
  for (let from = 0; from < all.length; from += MOST_TOGETHER) {
    const some = all.slice(from, from + MOST_TOGETHER);
    for (const [at, { id, action, problem }] of (await decide(some)).entries()) {
      if (action) decided.push({ one: some[at]!, action });
      else told.tell(new ProblemError({ ...NO_TYPE, ...problem! }), id);
    }
  }
  return decided;
}

const NO_TYPE = { type: "about:blank", title: "Refused" };

function itemOf({ detail: { id }, digest }: Opened) {
  return { id, expected_digest: digest };
}

function projectsOf(opened: readonly Opened[]): string[] {
  return [...new Set(opened.map(({ found }) => found.project_id))];
}
