import type { HttpExchange } from "../execute/http.ts";
import { endsLogin, type Operation, pathParametersOf } from "../generate/operation.ts";
import { resetsData } from "./order.ts";

/** Why an operation was not learned. */
export interface Failure {
  /** The status of the answer; null without a complete answer. */
  status: number | null;
  /** The words that follow the name of the operation, with the next step. */
  reason: string;
}

/** The failure of an operation that was not sent or not answered completely. */
export function unanswered(reason: string): Failure {
  return { status: null, reason };
}

/** The failure of an operation that the rehearsal leaves out, or never reached. */
export function leftOut(operation: Operation): Failure {
  if (endsLogin(operation)) {
    return unanswered("ends a login, and was not sent with one that others need");
  }
  if (resetsData(operation)) return unanswered("changes data though it only reads, and failed");
  return unanswered("was not sent");
}

/**
 * The failure of an answer: `as alice answered 404 for server_id=sample; give --value server_id=…`.
 * `identity` is null where the operation was sent without one. The next step names no value that
 * `isKnown`.
 */
export function failureOf(
  operation: Operation,
  { status, error, body }: HttpExchange,
  { identity, needs_login, isKnown }: {
    identity: string | null;
    /** The run has no login that could be sent. */
    needs_login: boolean;
    isKnown: (name: string) => boolean;
  },
): Failure {
  const who = identity === null ? "" : `as ${identity} `;
  if (error !== null) return unanswered(`${who}got no good answer: ${error}`);
  const path = pathParametersOf(operation);
  const values = path.map(({ name, sample }) => `${name}=${String(sample).slice(0, 40)}`);
  const where = values.length === 0 ? "" : ` for ${values.join(", ")}`;
  const message = messageOf(body);
  const words = message === "" ? "" : ` "${message}"`;
  const answered = `${who}answered ${status}${where}${words}`;
  if (status === 401 || status === 403) {
    const login = needs_login ? "give a login (--as)" : "it may need another login (--as)";
    return { status, reason: `${answered}; ${login}` };
  }
  const unknown = path.find(({ name }) => !isKnown(name))?.name;
  const missing = unknown ?? (status === 400 || status === 422 ? requiredField(operation) : null);
  const next = missing === null ? "" : `; give --value ${missing}=…`;
  return { status, reason: `${answered}${next}` };
}

/** The first required field of the body; null without one. */
function requiredField({ body }: Operation): string | null {
  const { required } = body?.schema ?? {};
  return Array.isArray(required) && required.length > 0 ? String(required[0]) : null;
}

/** The message of an error answer; "" without one. */
function messageOf(body: string): string {
  try {
    const value = JSON.parse(body);
    const text = value?.message ?? value?.error ?? value?.detail ?? value?.title;
    return typeof text === "string" ? text.slice(0, 80) : "";
  } catch {
    return "";
  }
}
