import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import { DEFAULT_LIMIT, readCursor, toPage } from "../db/cursor.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import type { Grant, GrantList, GrantQuery } from "./schema.ts";
import { findGrant, type GrantRow, listGrants, publicGrant, revokeGrant } from "./store.ts";

interface GrantsServices {
  ledger: Ledger;
  environment: Environment;
}

/** The remembered approvals of one project. An approval creates one; a submitted action uses it. */
export class Grants {
  readonly #services: GrantsServices;

  constructor(services: GrantsServices) {
    this.#services = services;
  }

  /** One page of grants, newest first. */
  async list(query: GrantQuery): Promise<GrantList> {
    const limit = query.limit ?? DEFAULT_LIMIT;
    const page = { before: readCursor(query.cursor), limit: limit + 1, now: this.#now() };
    const { items, next_cursor } = toPage(
      await listGrants(this.#services.ledger, query, page),
      limit,
    );
    return { items: items.map(publicGrant), next_cursor };
  }

  /** Revokes a grant at once. @throws GateError `not_found`, and `conflict` if it is not live */
  async revoke(id: string, caller: Caller): Promise<Grant> {
    requireReviewer(caller, "revoke the grant", "gate grant revoke");
    const grant = await this.#load(id);
    const { ledger, environment } = this.#services;
    const by = { revoke_id: environment.id(), by: caller.id, now: this.#now() };
    const { update, when } = revokeGrant(grant, by);
    const { pattern, digest, uses, max_uses } = grant;
    const { events } = await ledger.commit({
      statements: [update],
      when,
      events: [{
        session_id: grant.session_id,
        action_id: grant.action_id,
        type: "grant.revoked",
        actor: { kind: "reviewer", id: caller.id },
        data: { grant_id: id, pattern, digest, uses, max_uses },
      }],
    });
    const now = await this.#load(id);
    if (events.length > 0) return publicGrant(now);
    throw new GateError("conflict", `Cannot revoke grant "${id}": it is ${WORDS[now.state]}`, {
      fields: { grant_id: id, state: now.state },
    });
  }

  async #load(id: string): Promise<GrantRow> {
    const found = /^[0-9a-f-]{36}$/.test(id)
      ? await findGrant(this.#services.ledger, id, this.#now())
      : null;
    if (found) return found;
    const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
    throw new GateError("not_found", `Cannot find grant ${shown} in this project`, {
      fields: { unknown: "grant" },
    });
  }

  #now(): string {
    return new Date(this.#services.environment.now()).toISOString();
  }
}

const WORDS = {
  live: "live",
  used_up: "used up",
  expired: "expired",
  revoked: "revoked already",
} as const;
