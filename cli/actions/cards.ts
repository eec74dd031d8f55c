import { checkShown } from "../../server/actions/show/check_shown.ts";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import type { Connection } from "../daemon/connect.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { say } from "../terminal/output.ts";
import { openAction } from "./find.ts";
import { actionCard } from "./view.ts";

/** The actions of this command as a person sees them before they sign. */
export class Cards {
  readonly #io: Io;
  readonly #isRead: boolean;
  readonly #open = new Map<string, ActionDetail>();
  readonly #shown = new Map<string, string>();

  /** @param options.isRead whether a person reads them; otherwise nothing is printed */
  constructor(io: Io, { isRead }: { isRead: boolean }) {
    this.#io = io;
    this.#isRead = isRead;
  }

  /** Notes that the card of this held action is shown. @throws NotSigned for another digest */
  async note(detail: ActionDetail): Promise<void> {
    await checkShown(detail);
    this.#shown.set(detail.id, detail.digest);
  }

  /** Takes an action whose digest covers what its card shows. @throws NotSigned for any other */
  async add(detail: ActionDetail): Promise<void> {
    if (detail.status === "pending") await checkShown(detail);
    if (this.#shown.get(detail.id) !== detail.digest) this.#open.set(detail.id, detail);
  }

  /** Reads several actions, so that all cards stand before the one question. */
  async readAll(connection: Connection, ids: string[]): Promise<void> {
    for (const id of ids) {
      try {
        const { one, param } = await openAction(connection, id);
        await this.add(await unwrap(one.$get({ param })));
      } catch (error) {
        // Its approval fails in the same way, and says so then.
        if (!(error instanceof ProblemError || error instanceof CliError)) throw error;
      }
    }
  }

  /** Prints the cards that were not printed yet, because the person signs one of them now. */
  readonly show = (): void => {
    for (const detail of this.#open.values()) {
      if (this.#isRead) say(this.#io, `\n${actionCard(this.#io, detail, Date.now())}\n`);
      this.#shown.set(detail.id, detail.digest);
    }
    this.#open.clear();
  };
}
