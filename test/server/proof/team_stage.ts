import { expect } from "vitest";
import { createInvitation, signInvited } from "../../../server/proof/invitation.ts";
import type { Challenge } from "../../../server/proof/schema.ts";
import { createTestGate, testCaller, type TestGate, type TestGateOptions } from "../../helpers.ts";
import { enrol, type Person, type Send, sendTo, withPassphrase } from "./person.ts";

// deno-lint-ignore no-explicit-any
export type Body = any;
export interface Answer {
  status: number;
  body: Body;
}
export type Role = "viewer" | "reviewer" | "admin";

/** A home whose owner has a passphrase, with members who may get keys of their own. */
export class TeamStage {
  readonly gate: TestGate;
  /** The key of each person by their id; the owner is `reviewer`. */
  readonly keys = new Map<string, Person>();

  private constructor(gate: TestGate) {
    this.gate = gate;
  }

  static async open(
    members: Record<string, Role> = { ann: "reviewer", ben: "reviewer" },
    options: TestGateOptions = {},
  ): Promise<TeamStage> {
    const policies = { defaultEffect: "ask" as const };
    const stage = new TeamStage(await createTestGate({ proof: "none", policies, ...options }));
    const owner = withPassphrase();
    expect((await enrol(sendTo(stage.gate), owner)).status).toBe(200);
    stage.keys.set("reviewer", owner);
    for (const [name, role] of Object.entries(members)) {
      const body = { name, role };
      expect((await stage.sign("reviewer", "POST", "/api/team/members", body)).status).toBe(201);
    }
    return stage;
  }

  /** Sends requests as a person who is logged in on a page. */
  as(id: string): Send {
    const caller = { ...testCaller("reviewer", id), via: "page" as const };
    return (method, path, body) => {
      const { proof = null, ...rest } = (body ?? {}) as Record<string, Body>;
      return this.gate.request(method, path, rest, { ...caller, proof });
    };
  }

  async ask(id: string, method: string, path: string, body: unknown = {}): Promise<Answer> {
    return await answerOf(await this.as(id)(method, path, body));
  }

  /** Sends a request, signs its challenge with the person's key, and sends it again. */
  async sign(
    id: string,
    method: string,
    path: string,
    body: object = {},
    person = this.keys.get(id),
  ): Promise<Answer> {
    const first = await this.ask(id, method, path, body);
    const challenge = first.body.challenge as Challenge | undefined;
    if (!challenge || !person) return first;
    return await this.ask(id, method, path, { ...body, proof: person.sign(challenge) });
  }

  /** An admin creates a login link. Returns the seed of its key. */
  async invite(id: string, role: Role = "reviewer", by = "reviewer"): Promise<string> {
    const { seed, public_key } = await createInvitation();
    const path = `/api/team/members/${id}/login-code`;
    const answer = await this.sign(by, "POST", path, { role, invitation: public_key });
    expect(answer.body).toMatchObject({ path: expect.stringContaining("/login?code=") });
    expect(answer.status).toBe(201);
    return seed;
  }

  /** A member sets a key with the seed of their link. */
  async join(id: string, seed: string, person: Person = withPassphrase()): Promise<Answer> {
    const input = await person.enrolment(this.as(id)) as Body;
    const public_key = input.public_key ?? person.public_key;
    const invited = await signInvited(seed, { public_key, member_id: id });
    const answer = await this.ask(id, "POST", "/api/proof/set", { ...input, invited });
    if (answer.status === 200) this.keys.set(id, person);
    return answer;
  }

  /** Gives members keys of their own. */
  async enrol(...ids: string[]): Promise<void> {
    for (const id of ids) {
      const answer = await this.join(id, await this.invite(id));
      expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
    }
  }

  async route(route: object = {}): Promise<void> {
    const body = { name: "Two", approvers: { role: "reviewer" }, quorum: 2, ...route };
    const answer = await this.sign("reviewer", "POST", "/api/approval-routes", body);
    expect(answer.status).toBe(201);
  }

  async hold(path = `${crypto.randomUUID()}.txt`): Promise<string> {
    const input = { path, content: "x" };
    const sent = { tool: "write_file", input };
    const answer = await answerOf(await this.gate.request("POST", "/api/actions", sent, "agent"));
    expect(answer.body.status).toBe("pending");
    return answer.body.id;
  }

  approve(who: string, id: string, person?: Person): Promise<Answer> {
    return this.sign(who, "POST", `/api/actions/${id}/approve`, {}, person);
  }

  /** The check of the whole ledger, as `gate audit verify` does it. */
  async verify(): Promise<Body> {
    return (await answerOf(await this.gate.request("GET", "/api/audit/verify"))).body;
  }
}

export async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, body: await response.json() };
}
