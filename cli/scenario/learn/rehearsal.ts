import { setTimeout as sleep } from "node:timers/promises";
import { LOOK_AT_TARGET, ToolError } from "../errors.ts";
import type { Control } from "../execute/controls.ts";
import { type HttpExchange, isSuccess, sendRequest } from "../execute/http.ts";
import { Pulse } from "../execute/pulse.ts";
import { prepareRequest, type RequestOptions } from "../execute/request.ts";
import type { Target } from "../execute/target.ts";
import { isLate, REFUSED } from "../execute/transport_error.ts";
import { nameOf } from "../generate/family.ts";
import {
  bodyFields,
  endsService,
  objectSample,
  type Operation,
  type Parameter,
  pathParametersOf,
  sampleRequest,
} from "../generate/operation.ts";
import { inQuery } from "../generate/query_body.ts";
import { balanceIn, saysItChanged, succeeds } from "./answers.ts";
import { bodyVariants, isReference, withValues } from "./bodies.ts";
import { claimsOf } from "./claims.ts";
import { type Failure, failureOf, leftOut, unanswered } from "./failure.ts";
import { type Owner, Pool } from "./pool.ts";
import { unlistedGraphs, unlistedReads } from "./unlisted.ts";

/** The target of a rehearsal, and what may be sent to it. */
export interface RehearsalOptions extends RequestOptions {
  target: Target;
  timeout_ms: number;
  insecure: boolean;
  identities: ReadonlyMap<string, Record<string, string>>;
  /** `--value name=…`, for every parameter and field of that name. */
  values: ReadonlyMap<string, string>;
  /** `--as-value alice.name=…`, for the requests of one identity. */
  own_values: ReadonlyMap<string, ReadonlyMap<string, string>>;
  may_change: boolean;
  interval_ms: number;
  signal: AbortSignal;
}

/** The most requests of a rehearsal. */
const MOST_REQUESTS = 1_500;
/** The most requests for one operation and one identity. */
const MOST_TRIES = 6;
const KEPT_BYTES = 256 * 1024;
/** The identity without a login, as playbooks name it. */
const NOBODY = "nobody";

/** The values that a parameter may take, the likeliest first. */
interface Choice {
  parameter: Parameter;
  values: string[];
}

/** The numbers of the value and of the body that a try takes. */
interface Try {
  value: number;
  body: number;
}

/** Sends operations with likely values, and remembers which succeeded with which values. */
export class Rehearsal {
  readonly #options: RehearsalOptions;
  readonly #pool = new Pool();
  readonly #learned = new Map<Operation, Operation>();
  readonly #failures = new Map<Operation, Failure>();
  readonly #successes = new Map<Operation, number>();
  /** The values in the paths of deleted records, by the operation that deleted them. */
  readonly #deleted = new Map<Operation, { values: ReadonlySet<unknown>; makers: Set<string> }>();
  /** The operation after which the first login was refused. */
  #loginEndedBy: Operation | null = null;
  /** An answer asked for a login, or for another one. */
  #sawLoginRefused = false;
  #sent = 0;
  readonly #pulse: Pulse;
  /** The latest operation that was answered. */
  #lastAnswered: string | null = null;
  /** Records made since the lists were read. */
  #made = 0;

  constructor(options: RehearsalOptions) {
    this.#options = options;
    this.#pulse = new Pulse(options);
    for (const [name, headers] of options.identities) {
      const claims = claimsOf(options.fill(Object.values(headers).join(" ")));
      const own = { ...claims, ...Object.fromEntries(options.own_values.get(name) ?? []) };
      for (const [key, value] of Object.entries(own)) {
        this.#pool.add({ key, value, path: "", owner: name, made: true });
      }
    }
  }

  /** True once the operation has succeeded. */
  hasLearned(operation: Operation): boolean {
    return this.#learned.has(operation);
  }

  /** The operation with everything that was learned about it. */
  learnedFor(operation: Operation): Operation {
    const known_user = this.#pool.named("username", this.#firstIdentity) ??
      this.#pool.named("email", this.#firstIdentity);
    const learned = this.#learned.get(operation) ?? operation;
    return known_user === null ? learned : { ...learned, known_user };
  }

  /** Whether the operation succeeded, or why not. */
  controlOf(operation: Operation): Control {
    const status = this.#successes.get(operation);
    if (status !== undefined) {
      return { succeeded: true, reason: "", by: { in: "rehearsal", status } };
    }
    const { reason } = this.#failures.get(operation) ?? leftOut(operation);
    return { succeeded: false, reason: `${nameOf(operation)} ${reason}`, by: null };
  }

  /** Reads the learned lists again if records were made since they were read. */
  async rereadLists(lists: readonly Operation[]): Promise<void> {
    if (this.#made === 0) return;
    this.#made = 0;
    for (const list of lists) {
      const operation = this.#learned.get(list);
      if (!operation) continue;
      // A record that the second identity sees too is nobody's own.
      for (const name of [...this.#options.identities.keys()].slice(0, 2)) {
        await this.#send(operation, name);
      }
      if (this.#firstIdentity === null) await this.#send(operation, null);
    }
  }

  /** True once the target refuses the first login where it accepted it before. */
  get isLoggedOut(): boolean {
    return this.#loginEndedBy !== null;
  }

  /** Tries an operation until it succeeds, as the first identity and then as the others. */
  async learn(operation: Operation): Promise<void> {
    const obstacle = this.#obstacleOf(operation);
    if (obstacle !== null) return void this.#failures.set(operation, unanswered(obstacle));
    await this.#tryIdentities(operation);
    if (!isReading(operation) && this.hasLearned(operation)) await this.#checkLogin(operation);
  }

  /** Why the operation may not be sent; null if it may. */
  #obstacleOf(operation: Operation): string | null {
    if (endsService(operation)) {
      return "was not sent with a login: it would take the service away from everybody";
    }
    if (this.#loginEndedBy !== null && operation.security.length > 0) {
      return `was not sent: ${nameOf(this.#loginEndedBy)} had ended the login of ` +
        `${this.#firstIdentity}; give a new login, and leave it out`;
    }
    return isReading(operation) || this.#options.may_change
      ? null
      : "may change data on another machine; allow it with --allow-destructive";
  }

  async #tryIdentities(operation: Operation): Promise<void> {
    const [, ...others] = this.#options.identities.keys();
    if (await this.#tryAs(operation, this.#firstIdentity)) {
      // A record that the second identity sees too is nobody's own.
      const [second] = others;
      if (isReading(operation) && second !== undefined && !operation.path.includes("{")) {
        await this.#send(operation, second);
      }
      return;
    }
    const failure = this.#failures.get(operation);
    // A login or a registration may refuse a user who is logged in.
    if (operation.security.length === 0 && this.#options.identities.size > 0) {
      if (await this.#tryAs(operation, NOBODY)) return;
      if (failure) this.#failures.set(operation, failure);
    }
    if (failure?.status !== 401 && failure?.status !== 403) return;
    for (const name of others) {
      if (await this.#tryAs(operation, name)) return;
    }
  }

  /** Repeats a read that needs the first login, to notice that an operation has ended the login. */
  async #checkLogin(operation: Operation): Promise<void> {
    if (this.isLoggedOut || this.#firstIdentity === null) return;
    const known = [...this.#learned.values()].find((one) =>
      one.method === "GET" && one.security.length > 0 && one.learned?.as === this.#firstIdentity
    );
    if (!known) return;
    const { status } = await this.#send(known, this.#firstIdentity);
    if (status === 401) this.#loginEndedBy = operation;
  }

  /** Sends every learned GET without a login. Returns false if the target ever asked for one. */
  async needsNoLogin(): Promise<boolean> {
    for (const operation of this.#learned.values()) {
      if (this.#sawLoginRefused || this.#options.signal.aborted) break;
      const isRead = operation.method === "GET" && !operation.learned?.changes;
      if (isRead) await this.#send(operation, NOBODY);
    }
    return !this.#sawLoginRefused;
  }

  /** The operations that the target serves and the document does not name. */
  async findUnlisted(operations: Operation[]): Promise<Operation[]> {
    const reads = unlistedReads(operations, this.#pool.texts());
    const graphs = this.#options.may_change ? unlistedGraphs(operations) : [];
    const found: Operation[] = [];
    const missing = { ...reads[0]!, path: "/no-such-address" };
    for (const owner of new Set([NOBODY, this.#firstIdentity])) {
      // Some services answer every address in the same way.
      const { status } = await this.#send(missing, owner);
      if (owner === null || isSuccess(status)) continue;
      for (const one of [...reads, ...graphs].filter((one) => !found.includes(one))) {
        if (this.#options.signal.aborted) return found;
        const exchange = await this.#send(one, owner);
        if (exchange.status !== 200 || !/^\s*[{[]/.test(exchange.body)) continue;
        this.#successes.set(one, 200);
        this.#learned.set(one, { ...one, learned: { as: owner, owned: false, changes: false } });
        found.push(one);
      }
    }
    return found;
  }

  /**
   * Makes new records for those that the rehearsal deleted: one for the deletion, and a later one
   * for every other operation.
   */
  async replaceDeleted(): Promise<void> {
    for (const { makers } of this.#deleted.values()) {
      const made = this.#makersIn(makers);
      for (const maker of [...made, ...made]) await this.#send(maker, maker.learned!.as);
    }
    // A record may need several others, so all of them are there first.
    const gone = new Set([...this.#deleted.values()].flatMap(({ values }) => [...values]));
    const others = [...this.#learned].filter(([one, learned]) =>
      one.method !== "DELETE" &&
      [
        ...pathParametersOf(learned).map(({ sample }) => sample),
        ...Object.values(objectSample(learned)),
      ].some((value) => gone.has(value))
    );
    for (const [other] of others) {
      this.#learned.delete(other);
      await this.learn(other);
    }
    for (const [remove, { makers }] of this.#deleted) {
      if (this.#makersIn(makers).length > 0) this.#aimAtOlder(remove);
    }
  }

  /** The operations on these paths that make records, as they succeeded. */
  #makersIn(paths: ReadonlySet<string>): Operation[] {
    return [...this.#learned].filter(([one]) => one.method === "POST" && paths.has(one.path))
      .map(([, learned]) => learned);
  }

  /** Lets a deletion take the older one of two new records. */
  #aimAtOlder(remove: Operation): void {
    const learned = this.#learned.get(remove)!;
    const { as } = learned.learned!;
    const parameters = learned.parameters.map((one) => {
      if (one.in !== "path" || this.#given(one.name, as) !== null) return one;
      const [latest, older] = this.#pool.candidates(remove, one, as);
      return { ...one, sample: older ?? latest };
    });
    this.#learned.set(remove, { ...learned, parameters });
  }

  get #firstIdentity(): Owner {
    return this.#options.identities.keys().next().value ?? null;
  }

  /** Sends the operation with one value and body after the other. True when it succeeded. */
  async #tryAs(operation: Operation, owner: Owner): Promise<boolean> {
    const choices = this.#choicesFor(operation, owner);
    if (deletesOwnUser(operation, choices)) {
      const why = "was not sent: it would delete the user of a login of this run";
      this.#failures.set(operation, unanswered(why));
      return false;
    }
    const bodies = bodyVariants(operation, (name) => this.#given(name, owner)?.[0] ?? null, {
      known: (name) => this.#pool.named(name, owner),
      found: (name) => this.#pool.found(name, owner),
    });
    let next: Try | null = { value: 0, body: 0 };
    for (let n = 0; next && n < MOST_TRIES && this.#sent < MOST_REQUESTS; n++) {
      if (this.#options.signal.aborted) return false;
      const tried = withValues(operation, choices, next.value, bodies[next.body]);
      const exchange = await this.#send(tried, owner);
      if (exchange.error === null && succeeds(operation, exchange)) {
        const owned = this.#isOwned(operation, choices, next.value, owner);
        this.#remember(operation, { tried, exchange, owner, owned });
        return true;
      }
      // The first try has the best values, so its failure is the one to report.
      if (n === 0 || isLoginRefused(exchange)) {
        const failure = this.#failureOf(tried, exchange, choices, owner);
        this.#failures.set(operation, failure);
      }
      next = nextTry(next, exchange, { choices, bodies: bodies.length });
    }
    return false;
  }

  /** The values for each parameter; a deletion gets none that name the user of a login. */
  #choicesFor(operation: Operation, owner: Owner): Choice[] {
    const removed = removedBy(operation);
    return operation.parameters.map((parameter) => {
      const values = this.#given(parameter.name, owner) ??
        this.#pool.candidates(operation, parameter, owner);
      const kept = values.filter((one) => parameter !== removed || !this.#pool.isLogin(one));
      return { parameter, values: kept };
    });
  }

  /** The value of `--as-value` or `--value`, as the only choice; null without one. */
  #given(name: string, owner: Owner): string[] | null {
    const own = owner === null ? undefined : this.#options.own_values.get(owner)?.get(name);
    const value = own ?? this.#options.values.get(name);
    return value === undefined ? null : [value];
  }

  #failureOf(
    tried: Operation,
    exchange: HttpExchange,
    choices: readonly Choice[],
    owner: Owner,
  ): Failure {
    return failureOf(tried, exchange, {
      identity: owner === NOBODY ? null : owner,
      needs_login: owner === null,
      isKnown: (name) =>
        this.#given(name, owner) !== null ||
        choices.some(({ parameter, values }) => parameter.name === name && values.length > 1),
    });
  }

  /** Remembers an operation that succeeded, with its values and what they show. */
  #remember(
    operation: Operation,
    { tried, exchange, owner, owned }: {
      tried: Operation;
      exchange: HttpExchange;
      owner: Owner;
      owned: boolean;
    },
  ): void {
    const inPath = pathParametersOf(operation);
    const learned = {
      as: owner,
      owned,
      changes: operation.changes === true || saysItChanged(operation, exchange),
      own_name: this.#pool.ownOf(inPath.map(({ name }) => name), owner),
      own_field: this.#pool.ownOf(bodyFields(operation).map(([name]) => name), owner),
      own_references: this.#ownReferences(tried, owner),
      others: this.#others(inPath),
      balance: operation.method === "GET" ? balanceIn(exchange.body) : undefined,
    };
    this.#successes.set(operation, exchange.status!);
    this.#learned.set(operation, { ...tried, learned });
    if (operation.method === "DELETE") {
      // Only the last record of the path is gone; the record that it belonged to is still there.
      const values = new Set(inPath.slice(-1).map(({ name }) => sampleOf(tried, name)));
      this.#deleted.set(operation, { values, makers: this.#pool.drop(values) });
    }
    if (operation.method === "POST") this.#made++;
  }

  /** True when a record in the path is the identity's own. */
  #isOwned(
    operation: Operation,
    choices: readonly Choice[],
    chosen: number,
    owner: Owner,
  ): boolean {
    const inPath = choices.filter(({ parameter }) => parameter.in === "path");
    return owner !== null && owner !== NOBODY && inPath.some(({ parameter, values }) => {
      const value = values[Math.min(chosen, values.length - 1)];
      return value !== undefined && this.#pool.isOwn(value, owner, operation, parameter);
    });
  }

  /** The fields of the body that name a record which only this identity was shown. */
  #ownReferences(operation: Operation, owner: Owner): { name: string; value: string }[] {
    if (owner === null || owner === NOBODY) return [];
    return Object.entries(objectSample(operation)).flatMap(([name, one]) => {
      const value = typeof one === "string" || typeof one === "number" ? String(one) : "";
      const isOwn = isReference(name) && this.#pool.isMade(value, owner);
      return isOwn ? [{ name, value }] : [];
    });
  }

  /** The values by which the logins name themselves in a path, by identity. */
  #others(inPath: Parameter[]): Record<string, Record<string, string>> {
    const own = [...this.#options.identities.keys()].map((name) => {
      const found = this.#pool.ownOf(inPath.map((one) => one.name), name);
      return [name, found ? { [found.name]: encodeURIComponent(found.value) } : {}] as const;
    });
    return Object.fromEntries(own);
  }

  /** Sends the operation with its samples, and adds the values of a success to the pool. */
  async #send(operation: Operation, owner: Owner): Promise<HttpExchange> {
    const { identities, interval_ms, target } = this.#options;
    const request = sampleRequest(operation);
    this.#sent++;
    if (interval_ms > 0) await sleep(interval_ms);
    const identity = owner === null ? {} : identities.get(owner) ?? {};
    const how = { uniq: this.#options.uniq(), anonymous: owner === NOBODY };
    const ready = prepareRequest(inQuery(request) ?? request, { ...this.#options, identity }, how);
    const exchange = await sendRequest(target, ready, {
      ...this.#options,
      keep_bytes: KEPT_BYTES,
    });
    if (exchange.status === null) await this.#mustLive(nameOf(operation), exchange.error!);
    else this.#lastAnswered = nameOf(operation);
    if (isLoginRefused(exchange)) this.#sawLoginRefused = true;
    if (isSuccess(exchange.status)) {
      const made = operation.method === "POST";
      const place = { path: operation.path, owner, made };
      if (made) this.#pool.harvest(ready.body ?? request.body ?? "", place);
      this.#pool.harvest(exchange.body, place);
    }
    return exchange;
  }

  /** @throws ToolError if the target gives no HTTP answer any more, so that no scenario can be judged */
  async #mustLive(name: string, error: string): Promise<void> {
    if (this.#options.signal.aborted || await this.#pulse.answers()) return;
    const { url } = this.#options.target;
    if (this.#lastAnswered === null) {
      throw new ToolError(`Cannot test ${url}: it gives no HTTP answer (${name}: ${error})`, {
        next: isLate(error) ? "--timeout 1m, if it is slow" : LOOK_AT_TARGET,
      });
    }
    // A refused request was never sent, so the one before it is to blame.
    const culprit = error === REFUSED ? this.#lastAnswered : name;
    throw new ToolError(`Cannot test ${url}: it gives no HTTP answer since ${culprit} was sent`, {
      next: "start it again, and add --as-documented, which reports the request that stops it",
    });
  }
}

function isReading({ method }: Operation): boolean {
  return ["GET", "HEAD", "OPTIONS"].includes(method);
}

function isLoginRefused({ status }: HttpExchange): boolean {
  return status === 401 || status === 403;
}

/** The parameter that names the record which a deletion removes. */
function removedBy(operation: Operation): Parameter | undefined {
  return operation.method === "DELETE" ? pathParametersOf(operation).at(-1) : undefined;
}

/** The address at which users find themselves. */
const OWN_USER = /\/(me|self|account|profile|users?\/current)\/?$/i;

/** True for a deletion that could only remove the user of a login. */
function deletesOwnUser(operation: Operation, choices: readonly Choice[]): boolean {
  const removed = removedBy(operation);
  return removed
    ? choices.some(({ parameter, values }) => parameter === removed && values.length === 0)
    : operation.method === "DELETE" && OWN_USER.test(operation.path);
}

/** The next value after a 404, else the next body; null when another try cannot help. */
function nextTry(
  { value, body }: Try,
  { status }: HttpExchange,
  { choices, bodies }: { choices: readonly Choice[]; bodies: number },
): Try | null {
  if (status === null || [401, 403, 405].includes(status)) return null;
  const hasValue = choices.some(({ values }) => values.length > value + 1);
  const hasBody = bodies > body + 1;
  if (hasValue && (status === 404 || !hasBody)) return { value: value + 1, body };
  return hasBody ? { value, body: body + 1 } : null;
}

function sampleOf(operation: Operation, name: string): unknown {
  return pathParametersOf(operation).find((one) => one.name === name)?.sample;
}
