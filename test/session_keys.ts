import type { Scope } from "../server/auth/schema.ts";

/** The secrets of sessions, as a client of each session keeps them. */
export class SessionKeys {
  readonly #secrets = new Map<string, string>();

  /** The header with the secret of the session that a request of an agent names. */
  headersFor(path: string, body: unknown, scope: Scope): Record<string, string> {
    const { session_id } = Object(body) as { session_id?: string };
    const [, id] = /^\/api\/(?:actions|sessions)\/([^/?]+)/.exec(path) ?? [];
    const secret = this.#secrets.get(session_id ?? "") ?? this.#secrets.get(id ?? "");
    return scope === "agent" && secret !== undefined ? { "x-gate-session": secret } : {};
  }

  /** Reads the secret of an opened session, or the session of an action, from an answer. */
  async note(response: Response): Promise<Response> {
    if (!response.headers.get("content-type")?.startsWith("application/json")) return response;
    const text = await response.text();
    const { id, session_secret, session_id } = Object(JSON.parse(text));
    const secret = session_secret ?? this.#secrets.get(session_id);
    if (typeof id === "string" && secret !== undefined) this.#secrets.set(id, secret);
    return new Response(text, response);
  }
}
