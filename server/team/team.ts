import type { LoginCodes } from "../auth/login.ts";
import type { Caller, LoginCode } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import { GateError } from "../errors.ts";
import type { Proofs } from "../proof/proofs.ts";
import { idOfName } from "./id_of_name.ts";
import { KeptList, type ListKind, type ListServices } from "./kept_list.ts";
import {
  type AcceptListInput,
  type AddMemberInput,
  type ChangeMemberInput,
  type LoginCodeInput,
  Member,
  MemberId,
  type Role,
  type TeamStatus,
  type Whoami,
} from "./schema.ts";

/** A person who may decide or read: a member, or the owner of the machine. */
export type Person = Pick<Member, "id" | "name" | "role">;

export interface TeamServices extends ListServices {
  proofs: Pick<Proofs, "require" | "invite" | "eventCheck" | "isValid" | "kind">;
  /** The person of the reviewer's token, an admin unless the team says otherwise. */
  owner: string;
  /** Why approvals need this member as a reviewer; null if they do not. */
  neededBy: (id: string) => Promise<string | null>;
}

const RANK: Record<Role, number> = { viewer: 0, reviewer: 1, admin: 2 };

/** Whether a role includes the rights of another one. */
export function includes(role: Role, needed: Role): boolean {
  return RANK[role] >= RANK[needed];
}

const MEMBERS: ListKind<Member> = {
  file: "team.json",
  key: "members",
  item: Member,
  verb: "change_team",
  words: "the team",
  events: { added: "member.added", changed: "member.changed", removed: "member.removed" },
  recorded: ({ id, name, role }) => ({ member_id: id, name, role }),
  tighten: (accepted, file) =>
    accepted.flatMap((member) => {
      const wanted = file.find(({ id }) => id === member.id);
      if (!wanted) return [];
      return [{ ...member, role: includes(member.role, wanted.role) ? wanted.role : member.role }];
    }),
};

/** The people of this machine, in `team.json`. */
export class Team {
  readonly #services: TeamServices;
  readonly #list: KeptList<Member>;

  private constructor(services: TeamServices, list: KeptList<Member>) {
    this.#services = services;
    this.#list = list;
  }

  static async open(services: TeamServices): Promise<Team> {
    const team = new Team(services, await KeptList.open(MEMBERS, services));
    await team.#list.state();
    return team;
  }

  /** The list behind it: ledgers attach to it. */
  get list(): Pick<KeptList<Member>, "attach" | "detach"> {
    return this.#list;
  }

  /** The members in force. */
  async members(): Promise<Member[]> {
    return (await this.#list.state()).items;
  }

  /** Everybody with a role: the owner of the machine first, unless they are a member. */
  async people(): Promise<Person[]> {
    return this.#peopleIn(await this.members());
  }

  /** The role of a person when the team was last read; null for a stranger. */
  roleOf(id: string): Role | null {
    return this.#peopleIn(this.#list.items).find((one) => one.id === id)?.role ?? null;
  }

  /** Whether the file is in force as it is. */
  async status(): Promise<TeamStatus> {
    const { items, problem } = await this.#list.state();
    const waiting = problem === null ? null : await this.#list.waiting();
    return { path: this.#list.path, members: items.length, problem, waiting };
  }

  /** The problems that a person must solve, one line each. */
  async problems(): Promise<string[]> {
    const { problem } = await this.#list.state();
    return problem === null ? [] : [problem];
  }

  /** The person behind a credential. @throws GateError `forbidden` for an agent */
  async whoami(caller: Caller): Promise<Whoami> {
    const { member_id } = caller;
    if (member_id === null) {
      throw new GateError("forbidden", "Cannot name a person: the credential is an agent's");
    }
    const found = (await this.people()).find(({ id }) => id === member_id);
    const is_member = (await this.members()).some(({ id }) => id === member_id);
    const { name, role } = found ?? { name: member_id, role: "viewer" as const };
    return { id: member_id, name, role, is_member };
  }

  /** Adds a member. @throws GateError `forbidden`, `conflict`, `proof_required` */
  async add(input: AddMemberInput, caller: Caller): Promise<Member> {
    await this.requireAdmin(caller, "add the member", "gate team add");
    const { name, role, email = null, channels = [] } = input;
    const id = input.id ?? idOfName(name, MemberId);
    if (await this.#find(id)) {
      throw new GateError("conflict", `Cannot add member "${id}": the id is taken; give another`);
    }
    const member = { id, name, role, email, channels };
    await this.#requireAdminLeft((members) => [...members, member], `add member "${id}"`);
    await this.#list.put(member, caller);
    return member;
  }

  /** Changes a member. @throws GateError `forbidden`, `not_found`, `conflict`, `proof_required` */
  async change(id: string, changes: ChangeMemberInput, caller: Caller): Promise<Member> {
    await this.requireAdmin(caller, "change the member", "gate team change");
    const member = { ...await this.#get(id), ...definedOf(changes) };
    const verb = `change member "${member.id}"`;
    if (member.role === "viewer") await this.#requireUnneeded(member.id, verb);
    await this.#requireAdminLeft(
      (members) => members.map((one) => one.id === member.id ? member : one),
      verb,
    );
    await this.#list.put(member, caller);
    return member;
  }

  /** Removes a member, whose logins end at once. @throws GateError `forbidden`, `not_found` … */
  async remove(id: string, caller: Caller): Promise<Member> {
    await this.requireAdmin(caller, "remove the member", "gate team remove");
    const member = await this.#get(id);
    const verb = `remove member "${member.id}"`;
    await this.#requireUnneeded(member.id, verb);
    await this.#requireAdminLeft((members) => members.filter((one) => one.id !== member.id), verb);
    await this.#list.remove(member.id, caller);
    return member;
  }

  /** Accepts the changes that were made in the file by hand. @throws GateError */
  async accept(seen: AcceptListInput, caller: Caller): Promise<void> {
    await this.requireAdmin(caller, "accept the team", "gate team accept");
    await this.#list.accept(seen, caller);
  }

  /**
   * A code with which a member logs in, once. With an invitation the member may then set a key of
   * their own. @throws GateError `forbidden`, `not_found`, `conflict`, `proof_required`
   */
  async createLogin(
    id: string,
    { role, invitation }: LoginCodeInput,
    caller: Caller,
    codes: LoginCodes,
  ): Promise<LoginCode> {
    await this.requireAdmin(caller, "create the login link", "gate team link");
    const { id: member_id, role: present } = await this.#get(id);
    // The admin signs the role, so it must be the one that holds.
    if (role !== undefined && role !== present) {
      const why = `the role of "${member_id}" is ${present}; look at gate team list and try again`;
      throw new GateError("conflict", `Cannot create the login link: ${why}`);
    }
    await this.#services.proofs.invite(caller, {
      member_id,
      ...role && invitation && { role, invitation },
    });
    return codes.create(member_id);
  }

  /** Rejects everybody but admins. @throws GateError `forbidden` */
  async requireAdmin(caller: Caller, verb: string, command: string): Promise<void> {
    requireReviewer(caller, verb, command);
    const role = await this.#roleNow(caller);
    if (role === "admin") return;
    const why = role === null ? "you are not in the team" : `your role is ${role}`;
    throw new GateError("forbidden", `Cannot ${verb}: ${why}; an admin must do it`);
  }

  /** Rejects people who may not decide. @throws GateError `forbidden` */
  async requireDecider(caller: Caller, verb: string): Promise<void> {
    // Without a team every reviewer's credential is the owner's.
    if ((await this.members()).length === 0) return;
    const role = await this.#roleNow(caller);
    if (role !== null && includes(role, "reviewer")) return;
    const why = role === null ? "you are not in the team any more" : `your role is ${role}`;
    throw new GateError("forbidden", `Cannot ${verb}: ${why}; a reviewer must do it`);
  }

  async #roleNow({ member_id, via }: Caller): Promise<Role | null> {
    if (via === "none") return "admin";
    return (await this.people()).find(({ id }) => id === member_id)?.role ?? null;
  }

  #peopleIn(members: readonly Member[]): Person[] {
    const { owner } = this.#services;
    const isMember = members.some(({ id }) => id === owner);
    return isMember ? [...members] : [{ id: owner, name: owner, role: "admin" }, ...members];
  }

  async #find(id: string): Promise<Person | undefined> {
    return (await this.members()).find((one) => one.id.toLowerCase() === id.toLowerCase());
  }

  async #get(id: string): Promise<Member> {
    const found = (await this.members()).find((one) => one.id === id);
    if (found) return found;
    const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
    throw new GateError(
      "not_found",
      `Cannot find member ${shown}: there is none`,
      { next: "gate team list" },
    );
  }

  async #requireUnneeded(id: string, verb: string): Promise<void> {
    const why = await this.#services.neededBy(id);
    if (why !== null) throw new GateError("conflict", `Cannot ${verb}: ${why}`);
  }

  /** Somebody must be able to change the team again. */
  async #requireAdminLeft(after: (members: Member[]) => Member[], verb: string): Promise<void> {
    const people = this.#peopleIn(after(await this.members()));
    if (people.some(({ role }) => role === "admin")) return;
    throw new GateError("conflict", `Cannot ${verb}: nobody would be an admin; add one first`);
  }
}

function definedOf<V extends object>(value: V): Partial<V> {
  return Object.fromEntries(
    Object.entries(value).filter(([, one]) => one !== undefined),
  ) as Partial<V>;
}
