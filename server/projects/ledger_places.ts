import { clearTimeout, setTimeout } from "node:timers";
import { join } from "node:path";
import { MACHINE_ID } from "../constants.ts";
import type { Storage } from "../config/schema.ts";
import { isAway, type ServerAddress, ServerAway, ServerDatabase } from "../db/server_database.ts";
import { type CopyMark, type Placement, readPlacement } from "../db/placement.ts";
import { SharedLedger } from "../db/shared_ledger.ts";
import { GateError } from "../errors.ts";
import { ownEnvironment } from "../runtime/self.ts";
import {
  type ClosedLedger,
  joinMachines,
  leaveMachines,
  moveFromServer,
  moveToServer,
} from "../db/move_ledger.ts";
import { ownMachine } from "./own_machine.ts";
import type { LedgerPlace, StorageView } from "./schema.ts";

/** A server that did not answer is asked again after this time. */
const RETRY_MS = 2_000;

interface Places {
  home: string;
  pid: number;
  now: () => number;
  /** `storage` of the accepted global config. */
  storage: () => Promise<Storage | null>;
  /** `storage` of the config file, accepted or not. */
  written: () => Storage | null;
  /** Opens a project whose server answers again. */
  reopen: (project_id: string) => Promise<unknown>;
}

/** Where each project's ledger is: in the home, or on the server of the global config. */
export class LedgerPlaces {
  readonly #places: Places;
  /** Why a ledger cannot be opened now. */
  readonly #closed = new Map<string, GateError>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isEnded = false;

  constructor(places: Places) {
    this.#places = places;
  }

  /** @throws GateError `unavailable` while the ledger is moved or its server does not answer */
  requireOpenable(project_id: string): void {
    const why = this.#closed.get(project_id);
    if (why) throw why;
  }

  /** Whether the ledger is on a server, also if that cannot be told. */
  isRemote(project_id: string): boolean {
    try {
      return this.#find(project_id) !== null;
    } catch {
      return true;
    }
  }

  /** How to reach the server of a ledger. @throws GateError `unavailable` */
  async reach(project_id: string, url: string): Promise<ServerAddress> {
    const storage = await this.#places.storage();
    if (storage !== null && urlFor(storage, project_id) === url) {
      return { url, token: tokenOf(storage) };
    }
    const why = `it is on ${url}, and "storage.url" of the accepted global config names another ` +
      "place";
    const remedy = "put it back, or accept the change (gate config accept)";
    throw new ServerAway(`Cannot open the ledger of "${project_id}": ${why}; ${remedy}`, {
      why,
      remedy,
    });
  }

  /** Notes that a ledger had to be closed. Opens it again when its server answers. */
  note(project_id: string, error: unknown): void {
    if (!(error instanceof GateError) || this.#isEnded) return;
    this.#closed.set(project_id, error);
    if (isAway(error)) this.#schedule();
  }

  /** Moves a ledger; meanwhile nobody opens it. */
  async move(
    project_id: string,
    to: "server" | "here",
    close: () => Promise<void>,
  ): Promise<{ url: string; rows: number }> {
    const move = to === "server" ? moveToServer : moveFromServer;
    return await this.#whileClosed(project_id, { to, close }, move);
  }

  /** The ledger of other machines on the server, for a machine that joins them. @throws GateError */
  async lookAtShared(project_id: string): Promise<SharedLedger> {
    const url = await this.target(project_id, "server");
    try {
      const address = await this.reach(project_id, url);
      return await SharedLedger.open(address, project_id, ownMachine(this.#places.home).id);
    } catch (error) {
      throw notMoved(project_id, error);
    }
  }

  /** Uses the ledger that other machines have on the server; meanwhile nobody opens it. */
  async join(project_id: string, mark: CopyMark, close: () => Promise<void>): Promise<void> {
    await this.#whileClosed(
      project_id,
      { to: "server", close },
      (ledger, address) => joinMachines(ledger, address, mark),
    );
  }

  /** Leaves the ledger to the other machines; meanwhile nobody opens it. */
  async leave(project_id: string, close: () => Promise<void>): Promise<void> {
    await this.#whileClosed(project_id, { to: "here", close }, leaveMachines);
  }

  async #whileClosed<T>(
    project_id: string,
    { to, close }: { to: "server" | "here"; close: () => Promise<void> },
    work: (ledger: ClosedLedger, address: ServerAddress) => Promise<T>,
  ): Promise<T & { url: string }> {
    const url = await this.target(project_id, to);
    const address = await this.reach(project_id, url).catch((error) => {
      throw notMoved(project_id, error);
    });
    const message = `Cannot open the ledger of "${project_id}": it is being moved; try again soon`;
    this.#closed.set(project_id, new GateError("unavailable", message));
    try {
      await close();
      return { ...await work(this.#ledger(project_id), address), url };
    } catch (error) {
      throw notMoved(project_id, error);
    } finally {
      this.#closed.delete(project_id);
    }
  }

  /** The address on the server between which and here the ledger would move. @throws GateError */
  async target(project_id: string, to: "server" | "here"): Promise<string> {
    const cannot = (why: string, next?: string) =>
      new GateError("conflict", `Cannot move the ledger of "${project_id}": ${why}`, { next });
    const placement = this.#find(project_id);
    if (to === "here") {
      if (placement) return placement.url;
      throw cannot("it is on this machine already", "gate hub status");
    }
    if (placement) throw cannot(`it is on ${placement.url} already`, "gate hub status");
    if (project_id === MACHINE_ID) {
      throw cannot("calls outside of projects are recorded here", "gate project list");
    }
    const storage = await this.#places.storage();
    if (storage === null) {
      throw this.#places.written() === null
        ? cannot(
          'the accepted global config names no server: it has no "storage": {"url": …}',
          "gate global-config edit",
        )
        : cannot("a person must accept the server that config.json names", "gate config accept");
    }
    return urlFor(storage, project_id);
  }

  /** The server of the config, and the place of each of these ledgers. */
  async view(
    project_ids: readonly string[],
    machinesOf: (project_id: string) => Promise<LedgerPlace["machines"]>,
  ): Promise<StorageView> {
    const storage = await this.#places.storage();
    const name = storage?.authTokenEnv ?? null;
    return {
      url: storage?.url ?? null,
      waiting_url: storage === null ? this.#places.written()?.url ?? null : null,
      token_env: name,
      token_is_set: name === null ? null : Boolean(ownEnvironment()[name]),
      ledgers: await Promise.all(project_ids.map(async (id) => {
        // This request finds out whether the server still answers.
        const machines = await machinesOf(id);
        return { ...this.#viewOf(id), machines };
      })),
    };
  }

  /** Stops asking servers. */
  close(): void {
    this.#isEnded = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  #viewOf(project_id: string): Omit<LedgerPlace, "machines"> {
    const problem = this.#closed.get(project_id)?.message ?? null;
    try {
      const url = this.#find(project_id)?.url ?? null;
      return { project_id, place: url === null ? "here" : "server", url, problem };
    } catch (error) {
      return { project_id, place: "server", url: null, problem: (error as Error).message };
    }
  }

  #schedule(): void {
    if (this.#isEnded) return;
    this.#timer ??= setTimeout(() => void this.#askAgain(), RETRY_MS);
    this.#timer.unref();
  }

  async #askAgain(): Promise<void> {
    this.#timer = null;
    const away = [...this.#closed].filter(([, error]) => isAway(error));
    await Promise.all(away.map(async ([project_id, error]) => {
      if (!await this.#answers(project_id)) return;
      // It may have been moved meanwhile.
      if (this.#closed.get(project_id) !== error || this.#isEnded) return;
      this.#closed.delete(project_id);
      await this.#places.reopen(project_id).catch(() => {});
    }));
    if ([...this.#closed.values()].some(isAway)) this.#schedule();
  }

  async #answers(project_id: string): Promise<boolean> {
    try {
      const placement = this.#find(project_id);
      if (placement === null) return true;
      const database = await ServerDatabase.open(await this.reach(project_id, placement.url));
      await database.close();
      return true;
    } catch {
      return false;
    }
  }

  #find(project_id: string): Placement | null {
    return readPlacement(join(this.#places.home, "projects", project_id));
  }

  #ledger(project_id: string): ClosedLedger {
    const { home, pid, now } = this.#places;
    const folder = join(home, "projects", project_id);
    const own = ownMachine(home);
    return { project_id, folder, pid, own, at: new Date(now()).toISOString() };
  }
}

/** A failed move is not repeated by itself, unlike the opening of a ledger. */
function notMoved(project_id: string, error: unknown): unknown {
  if (!isAway(error)) return error;
  return new GateError("unavailable", `Cannot move the ledger of "${project_id}": ${error.why}`, {
    cause: error,
    next: `${error.remedy}, then the same command`,
  });
}

function urlFor({ url }: Storage, project_id: string): string {
  return url.replaceAll("{project}", project_id.toLowerCase());
}

/** @throws GateError `unavailable` when the variable is not set */
function tokenOf({ authTokenEnv }: Storage): string | null {
  if (authTokenEnv === undefined) return null;
  const token = ownEnvironment()[authTokenEnv];
  if (token) return token;
  const why = `the variable ${authTokenEnv} that "storage.authTokenEnv" names is not set`;
  const remedy = "set it and run gate daemon restart";
  throw new ServerAway(`Cannot reach the server of the ledgers: ${why}; ${remedy}`, {
    why,
    remedy,
  });
}
