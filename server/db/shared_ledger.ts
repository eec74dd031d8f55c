import { GateError } from "../errors.ts";
import { type Head } from "../evidence/chain.ts";
import type { Committed, Ledger, Row, SharingMachine, Value } from "./ledger.ts";
import { LEDGER_MIGRATIONS } from "./ledger_migrations.ts";
import { hasMachines, listMachines } from "./machines.ts";
import { requireNoNewer } from "./migrate.ts";
import { type CopyMark, readMark } from "./placement.ts";
import { readHead } from "./read_head.ts";
import { type ServerAddress, ServerDatabase } from "./server_database.ts";
import { requireMigratable } from "./sharing_schema.ts";

/** The ledger that other machines have on a server, before this one joins them: it is only read. */
export class SharedLedger implements Ledger {
  readonly project_id: string;
  readonly mark: CopyMark;
  readonly head: Head;
  readonly machines: readonly SharingMachine[];
  /** It is none of its machines yet. */
  readonly machine = null;
  readonly #database: ServerDatabase;

  private constructor(
    database: ServerDatabase,
    { mark, head, machines }: Pick<SharedLedger, "mark" | "head" | "machines">,
  ) {
    this.#database = database;
    this.project_id = mark.project_id;
    this.mark = mark;
    this.head = head;
    this.machines = machines;
  }

  /** @throws GateError `conflict` unless machines with this release have the project's ledger there */
  static async open(
    address: ServerAddress,
    project_id: string,
    own: string,
  ): Promise<SharedLedger> {
    const database = await ServerDatabase.open(address);
    try {
      const mark = await readMark(database);
      const cannot = (why: string, next: string) => {
        const message = `Cannot join the ledger of "${project_id}" on ${address.url}: ${why}`;
        return new GateError("conflict", message, { next });
      };
      if (mark?.project_id !== project_id || mark.state !== "home") {
        throw cannot("no machine has it there", "move the one of this home there (gate hub join)");
      }
      const { version } = await requireNoNewer(database, LEDGER_MIGRATIONS);
      if (!await hasMachines(database)) {
        throw cannot(
          `an older gate on ${mark.host} made it (schema ${version}), this one has schema ` +
            `${LEDGER_MIGRATIONS.at(-1)!.version}`,
          "install this release there first",
        );
      }
      await requireMigratable(database, LEDGER_MIGRATIONS, own);
      const head = await readHead(database, project_id);
      return new SharedLedger(database, { mark, head, machines: await listMachines(database) });
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  get durable(): Head {
    return this.head;
  }

  all(sql: string, args?: Value[]): Promise<Row[]> {
    return this.#database.all(sql, args);
  }

  caughtUp<T>(_sql: string, read: () => Promise<T>): Promise<T> {
    return read();
  }

  catchUp(): Promise<void> {
    return Promise.resolve();
  }

  commit(): Promise<Committed> {
    const message = `Cannot write to the ledger of "${this.project_id}": it is not joined yet`;
    return Promise.reject(new GateError("unavailable", message));
  }

  listMachines(): Promise<SharingMachine[]> {
    return Promise.resolve([...this.machines]);
  }

  pass(): Promise<never> {
    return this.commit() as Promise<never>;
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
