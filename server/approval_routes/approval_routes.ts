import type { Caller } from "../auth/schema.ts";
import type { Config } from "../config/config.ts";
import { GateError } from "../errors.ts";
import type { CompiledPolicy } from "../policy/evaluate.ts";
import { idOfName } from "../team/id_of_name.ts";
import { settled } from "../policy/settled.ts";
import { testPolicy } from "../policy/test_policy.ts";
import { KeptList, type ListKind, type ListServices } from "../team/kept_list.ts";
import type { AcceptListInput } from "../team/schema.ts";
import { includes, type Person, type Team } from "../team/team.ts";
import { checkPatterns, chooseRoute, compilePatterns, consider } from "./choose.ts";
import {
  type AddRouteInput,
  ApprovalRoute,
  type Approvers,
  type ChangeRouteInput,
  RouteId,
  type RouteList,
  type RouteTestInput,
  type RouteTestResult,
} from "./schema.ts";

const ROUTES: ListKind<ApprovalRoute> = {
  file: "approval_routes.json",
  key: "routes",
  item: ApprovalRoute,
  verb: "change_routes",
  words: "the approval routes",
  events: { added: "route.added", changed: "route.changed", removed: "route.removed" },
  recorded: ({ id, ...route }) => ({ route_id: id, ...route }),
  // A route that a person signed stays until they sign its end; only a higher quorum holds at once.
  tighten: (accepted, file) =>
    accepted.map((route) => {
      const wanted = file.find(({ id }) => id === route.id);
      return { ...route, quorum: Math.max(route.quorum, wanted?.quorum ?? 0) };
    }),
};

export interface RoutesServices extends ListServices {
  team: Team;
}

/** The routes in force, with their patterns as a policy. */
export interface RoutesInForce {
  routes: readonly ApprovalRoute[];
  policy: CompiledPolicy;
}

/** The routes that a person accepted are unknown, so actions wait and none can be approved. */
export class RoutesUnknown extends GateError {
  constructor(problem: string | null) {
    super("conflict", `Cannot find the approvers: ${problem}`);
    this.name = "RoutesUnknown";
  }
}

/** Who approves which held actions, in `approval_routes.json`. */
export class ApprovalRoutes {
  readonly #services: RoutesServices;
  readonly #list: KeptList<ApprovalRoute>;
  #compiled: RoutesInForce | null = null;

  private constructor(services: RoutesServices, list: KeptList<ApprovalRoute>) {
    this.#services = services;
    this.#list = list;
  }

  static async open(services: RoutesServices): Promise<ApprovalRoutes> {
    return new ApprovalRoutes(services, await KeptList.open(ROUTES, services));
  }

  /** The list behind it: ledgers attach to it. */
  get list(): Pick<KeptList<ApprovalRoute>, "attach" | "detach"> {
    return this.#list;
  }

  /** The routes in force, and why the file is not. */
  async status(): Promise<RouteList> {
    const { items, problem } = await this.#list.state();
    const waiting = problem === null ? null : await this.#list.waiting();
    return { items, problem, waiting };
  }

  /** The problems that a person must solve, one line each. */
  async problems(): Promise<string[]> {
    const { problem } = await this.#list.state();
    return problem === null ? [] : [problem];
  }

  /**
   * The routes in force; null if there are none. @throws RoutesUnknown if the routes that a person
   * accepted are unknown
   */
  async inForce(): Promise<RoutesInForce | null> {
    const { items, problem, is_certain } = await this.#list.state();
    if (!is_certain) throw new RoutesUnknown(problem);
    if (items.length === 0) return null;
    if (this.#compiled?.routes !== items) {
      this.#compiled = { routes: items, policy: compilePatterns(items) };
    }
    return this.#compiled;
  }

  /** Adds a route. @throws GateError `forbidden`, `conflict`, `invalid`, `proof_required` */
  async add(input: AddRouteInput, caller: Caller): Promise<ApprovalRoute> {
    await this.#services.team.requireAdmin(caller, "add the approval route", "gate route add");
    const id = input.id ?? idOfName(input.name, RouteId);
    const { items } = await this.#list.state();
    if (items.some((one) => one.id.toLowerCase() === id.toLowerCase())) {
      throw new GateError("conflict", `Cannot add route "${id}": the id is taken; give another`);
    }
    const route = ApprovalRoute.parse({ ...input, id });
    await this.#check(route, `add route "${id}"`);
    await this.#list.put(route, caller);
    return route;
  }

  /** Changes a route. @throws GateError `forbidden`, `not_found`, `invalid`, `proof_required` */
  async change(id: string, changes: ChangeRouteInput, caller: Caller): Promise<ApprovalRoute> {
    await this.#services.team.requireAdmin(
      caller,
      "change the approval route",
      "gate route change",
    );
    const route = ApprovalRoute.parse({ ...await this.#get(id), ...changes });
    await this.#check(route, `change route "${route.id}"`);
    await this.#list.put(route, caller);
    return route;
  }

  /** Removes a route. @throws GateError `forbidden`, `not_found`, `proof_required` */
  async remove(id: string, caller: Caller): Promise<ApprovalRoute> {
    await this.#services.team.requireAdmin(
      caller,
      "remove the approval route",
      "gate route remove",
    );
    const route = await this.#get(id);
    await this.#list.remove(route.id, caller);
    return route;
  }

  /** Accepts the changes that were made in the file by hand. @throws GateError */
  async accept(seen: AcceptListInput, caller: Caller): Promise<void> {
    await this.#services.team.requireAdmin(
      caller,
      "accept the approval routes",
      "gate team accept",
    );
    await this.#list.accept(seen, caller);
  }

  /** The route that a described action would take, and why. Records nothing. */
  async test(
    { agent, host, risk = "low", ...question }: RouteTestInput,
    project: { id: string; config: Pick<Config, "inForce" | "test"> },
  ): Promise<RouteTestResult> {
    const { effect } = await project.config.test(question);
    const inForce = await this.inForce();
    if (!inForce) return { ...ONE_PERSON, why: "there is no approval route", effect };
    const { around } = await project.config.inForce();
    const { matched } = await settled(
      around,
      () => testPolicy(inForce.policy, question, around, () => performance.now()),
    );
    const facts = { agent: agent ?? null, host: host ?? null, project_id: project.id, risk };
    const found = consider(inForce.routes, matched, facts);
    const chosen = chooseRoute(found);
    const considered = found.map(({ route: { id, name }, matches, why }) => {
      return { id, name, matches, why };
    });
    if (!chosen) return { ...ONE_PERSON, why: "no approval route matches", effect, considered };
    const { route, why } = chosen;
    const asked = approversOf(route.approvers, await this.#services.team.people());
    return { route, why, effect, need: route.quorum, asked, considered };
  }

  /** Why approvals need this member; null if they do not. */
  async neededBy(member_id: string): Promise<string | null> {
    const { items } = await this.#list.state();
    const people = (await this.#services.team.people()).filter(({ id }) => id !== member_id);
    for (const { id, approvers, escalate_to, quorum } of items) {
      const next = `change it first: gate route change ${id}`;
      if ([...approvers.members, ...escalate_to].includes(member_id)) {
        return `route "${id}" names them; ${next}`;
      }
      if (approversOf(approvers, people).length < quorum) {
        return `route "${id}" needs ${quorum} approvers; ${next}`;
      }
    }
    return null;
  }

  /** @throws GateError `invalid` for a route that could never be approved as it says */
  async #check(route: ApprovalRoute, verb: string): Promise<void> {
    const refuse = (why: string) => new GateError("invalid", `Cannot ${verb}: ${why}`);
    const { approvers, quorum, ordered, escalate_after_seconds, escalate_to } = route;
    const people = await this.#services.team.people();
    for (const id of [...approvers.members, ...escalate_to]) {
      const person = people.find((one) => one.id === id);
      if (!person) throw refuse(`"${id}" is no member; see gate team list`);
      if (!includes(person.role, "reviewer")) {
        throw refuse(`"${id}" may only read; change their role, or name others`);
      }
    }
    if (approvers.members.length === 0 && approvers.role === null) {
      throw refuse("it has no approvers; name members or a role");
    }
    if (ordered && approvers.role !== null) {
      throw refuse("only members have an order; leave the role out, or the order");
    }
    const most = approversOf(approvers, people).length;
    if (quorum > most) {
      throw refuse(
        `its quorum is ${quorum}, and it has only ${most} approvers; name more people or lower it`,
      );
    }
    if ((escalate_after_seconds === null) !== (escalate_to.length === 0)) {
      throw refuse('"escalate_after_seconds" and "escalate_to" belong together; give both or none');
    }
    const { expires_after_seconds: end } = route;
    if (end !== null && escalate_after_seconds !== null && escalate_after_seconds >= end) {
      throw refuse("it would expire before it escalates; escalate earlier or expire later");
    }
    checkPatterns(route, verb);
  }

  async #get(id: string): Promise<ApprovalRoute> {
    const found = (await this.#list.state()).items.find((one) => one.id === id);
    if (found) return found;
    const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
    throw new GateError(
      "not_found",
      `Cannot find approval route ${shown}: there is none`,
      { next: "gate route list" },
    );
  }
}

const ONE_PERSON = { route: null, need: 1, asked: [], considered: [] };

/** The ids of the people who may approve, in the order of the route. */
export function approversOf({ members, role }: Approvers, people: readonly Person[]): string[] {
  const able = people.filter((one) => includes(one.role, "reviewer"));
  const named = members.filter((id) => able.some((one) => one.id === id));
  const byRole = role === null ? [] : able.filter((one) => includes(one.role, role));
  return [...new Set([...named, ...byRole.map(({ id }) => id)])];
}
