import { GateError } from "../errors.ts";
import { createGrowingCache } from "../growing_cache.ts";
import type { Sandbox } from "../policy/schema.ts";
import { selfCommand } from "../runtime/self.ts";

/** The work of one command of gate in the place of a host's command, done once. */
export interface Ticket {
  project_id: string;
  action_id: string;
  /** The tool of one session that runs it. */
  shell: string;
  /** It only shows that the host runs what gate puts in the place of a command. */
  is_trial: boolean;
  state: "sent" | "taken" | "ended";
  /** The command of the agent. */
  command: string;
  /** The sandbox in which it runs. */
  sandbox: Sandbox | null;
}

const MAX_TICKETS = 10_000;
const MAX_SHELLS = 10_000;
const TICKET_MS = 24 * 60 * 60 * 1000;
const TICKET = /\bhook run ([\da-f]{8}-[\da-f-]{27})\b/;

/**
 * The shells of hosts in which gate replaces commands. A host that ignores a replacement would run
 * the agent's command bare, so each shell of a session first shows that it takes one: gate puts a
 * trial in front of a command that may run anyway.
 */
export class HostShells {
  readonly #tickets = createGrowingCache<Ticket>(MAX_TICKETS, TICKET_MS);
  /** The newest ticket of each action. */
  readonly #of_actions = createGrowingCache<Ticket>(MAX_TICKETS, TICKET_MS);
  readonly #shells = createGrowingCache<"able" | "unable">(MAX_SHELLS);
  readonly #start: string | null;

  constructor({ home, port }: { home: string; port: number }) {
    this.#start = startOf(home, port);
  }

  /** Whether the shell has shown that it takes a replacement; null if nobody knows yet. */
  isAble(shell: string): boolean | null {
    const known = this.#shells.get(shell);
    if (this.#start === null) return false;
    return known === undefined ? null : known === "able";
  }

  /** The command that the host is to run in the place of this one. */
  replace(ticket: Omit<Ticket, "state" | "sandbox">): string {
    const id = crypto.randomUUID();
    const sent: Ticket = { ...ticket, state: "sent", sandbox: null };
    this.#tickets.set(id, sent);
    this.#of_actions.set(ticket.action_id, sent);
    const line = `${this.#start} hook run ${id}`;
    return ticket.is_trial ? `${line}\n${ticket.command}` : line;
  }

  /** Takes a ticket, once. @throws GateError `not_found` */
  take(id: string): Ticket {
    const ticket = this.#tickets.get(id);
    if (ticket?.state !== "sent") throw unknown(id);
    ticket.state = "taken";
    return ticket;
  }

  /** Ends what was taken, once. @throws GateError `not_found` */
  end(id: string): Ticket {
    const ticket = this.#tickets.get(id);
    if (ticket?.state !== "taken") throw unknown(id);
    ticket.state = "ended";
    return ticket;
  }

  /** Records whether the shell takes replacements and can start a sandbox. */
  note(shell: string, able: boolean): void {
    this.#shells.set(shell, able ? "able" : "unable");
  }

  /** The ticket in a command that a host reports. */
  ticketIn(command: unknown): Ticket | null {
    const id = typeof command === "string" ? TICKET.exec(command)?.[1] : undefined;
    return id === undefined ? null : this.#tickets.get(id) ?? null;
  }

  /** The ticket of an action that no process has taken. */
  untaken(action_id: string): Ticket | null {
    const ticket = this.#of_actions.get(action_id);
    return ticket?.state === "sent" ? ticket : null;
  }
}

function unknown(id: string): GateError {
  return new GateError(
    "not_found",
    `Cannot run the command in the sandbox: nothing waits under "${id}"; each command runs once, ` +
      "so send the call again",
  );
}

/** The words that start this program with its home and port; null if no shell would keep them whole. */
function startOf(home: string, port: number): string | null {
  const { command, args } = selfCommand();
  const words = [home, command, ...args];
  // Shells differ in what these mean between single quotes.
  if (words.some((word) => /['\\\n]/.test(word))) return null;
  const [folder, ...start] = words.map((word) => `'${word}'`);
  return `GATE_HOME=${folder} GATE_PORT=${port} ${start.join(" ")}`;
}
