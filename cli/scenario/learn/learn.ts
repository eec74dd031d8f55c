import { setTimeout as sleep } from "node:timers/promises";
import { objectsOf } from "../driver/compare.ts";
import type { Control, Controls } from "../execute/controls.ts";
import { type HttpExchange, isSuccess, sendRequest } from "../execute/http.ts";
import { prepareRequest, type RequestOptions } from "../execute/request.ts";
import type { Target } from "../execute/target.ts";
import {
  bodyFields,
  endsLogin,
  endsService,
  objectSample,
  type Operation,
  type Parameter,
  sampleRequest,
} from "../generate/operation.ts";
import { isLoginPath } from "../generate/names.ts";
import { inQuery } from "../generate/query_body.ts";
import { claimsOf } from "./claims.ts";
import { bodyVariants, isReference, withValues } from "./bodies.ts";
import { type Owner, Pool } from "./pool.ts";
import { unlistedGraphs, unlistedReads } from "./unlisted.ts";

export interface LearnOptions extends RequestOptions {
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

export interface Learned {
  operations: Operation[];
  controls: Controls;
}

/** The most requests of the rehearsal, and for one operation. */
const REQUESTS = 1_500;
const TRIES = 6;
/** The identity without a login, as playbooks name it. */
const NOBODY = "nobody";

/**
 * Sends every operation before the run until one answer is a 2xx: with values of `--value`, of the
 * logins and of earlier answers. Returns the operations with the samples that succeeded.
 */
export async function learnOperations(
  operations: Operation[],
  options: LearnOptions,
): Promise<Learned> {
  const rehearsal = new Rehearsal(options);
  // A GET that resets the data would take the records that the run needs.
  const sorted = [...operations].filter((one) => !endsLogin(one) && rankOf(one) !== RESETS)
    .sort((a, b) => rankOf(a) - rankOf(b));
  const reads = sorted.filter((one) => rankOf(one) === 0);
  const [ending, others] = [true, false].map((ends) =>
    sorted.filter((one) => rankOf(one) >= 4 === ends)
  ) as [Operation[], Operation[]];
  for (const operation of others) {
    if (rankOf(operation) === 2) await rehearsal.readAgain(reads);
    await rehearsal.learn(operation);
  }
  // A value that was missing at first may be known now, and gone after what follows.
  const again = async () => {
    for (const operation of others) {
      if (!rehearsal.has(operation) && !rehearsal.isLoggedOut) await rehearsal.learn(operation);
    }
  };
  await again();
  for (const operation of ending) await rehearsal.learn(operation);
  await again();
  await rehearsal.replaceDeleted();
  const all = [...operations, ...await rehearsal.findUnlisted(operations)];
  const is_public =
    all.every(({ path, security }) => security.length === 0 && !isLoginPath(path)) &&
    await rehearsal.isOpen();
  return {
    operations: all.map((one) => ({ ...rehearsal.known(one), is_public })),
    controls: new Map(all.map((one) => [keyOf(one), rehearsal.controlOf(one)])),
  };
}

/** The rank of what is not rehearsed. */
const RESETS = 5;

function keyOf({ method, path }: Operation): string {
  return `${method} ${path}`;
}

/** Parts of paths that may end logins, lock users or stop the service. */
const ENDING =
  /(change|reset|update)-?_?password|password$|sessions?$|maintenance|deactivate|inactive|disable|shut-?down|restart|lock|log-?out|revoke/i;

/** The address at which users find themselves. */
const OWN_USER = /\/(me|self|account|profile|users?\/current)\/?$/i;

/** Lists first, because they show ids; then what makes records; what may destroy them comes last. */
function rankOf(operation: Operation): number {
  const { method, path } = operation;
  const isRead = method === "GET" || method === "HEAD";
  if (isRead && operation.changes) return RESETS;
  // A request that may end a login or stop the service must not cost the others their turn.
  if (method === "DELETE" || (!isRead && ENDING.test(path))) return 4;
  if (!path.includes("{")) return isRead ? 0 : method === "POST" ? 1 : 3;
  return isRead ? 2 : 3;
}

class Rehearsal {
  readonly learned = new Map<Operation, Operation>();
  readonly #pool = new Pool();
  readonly #options: LearnOptions;
  readonly #failures = new Map<Operation, string>();
  readonly #successes = new Map<Operation, number>();
  /** The values in the paths of deleted records, by the operation that deleted them. */
  readonly #deleted = new Map<Operation, { values: ReadonlySet<unknown>; makers: Set<string> }>();
  /** The operation after which the first login was refused. */
  #endedBy: Operation | null = null;
  /** An answer asked for a login, or for another one. */
  #sawRefusal = false;
  #sent = 0;
  #made = 0;

  constructor(options: LearnOptions) {
    this.#options = options;
    for (const [name, headers] of options.identities) {
      const claims = claimsOf(options.fill(Object.values(headers).join(" ")));
      const own = { ...claims, ...Object.fromEntries(options.own_values.get(name) ?? []) };
      for (const [key, value] of Object.entries(own)) {
        this.#pool.add({ key, value, path: "", owner: name, made: true });
      }
    }
  }

  has(operation: Operation): boolean {
    return this.learned.has(operation);
  }

  /** The operation with everything that was learned about it. */
  known(operation: Operation): Operation {
    const known_user = this.#pool.named("username", this.#first) ??
      this.#pool.named("email", this.#first);
    const learned = this.learned.get(operation) ?? operation;
    return known_user === null ? learned : { ...learned, known_user };
  }

  controlOf(operation: Operation): Control {
    const status = this.#successes.get(operation);
    if (status !== undefined) {
      return { succeeded: true, reason: "", by: { in: "rehearsal", status } };
    }
    const why = this.#failures.get(operation) ?? whyLeftOut(operation);
    return { succeeded: false, reason: `${keyOf(operation)} ${why}`, by: null };
  }

  /** Reads the lists once more, after records were made. */
  async readAgain(reads: Operation[]): Promise<void> {
    if (this.#made === 0) return;
    this.#made = 0;
    for (const one of reads) {
      const operation = this.learned.get(one);
      if (!operation) continue;
      // A record that the second identity sees too is nobody's own.
      for (const name of [...this.#options.identities.keys()].slice(0, 2)) {
        await this.#send(operation, sampleRequest(operation), name);
      }
      if (this.#first === null) await this.#send(operation, sampleRequest(operation), null);
    }
  }

  /** True when the first login no longer opens what it has opened. */
  get isLoggedOut(): boolean {
    return this.#endedBy !== null;
  }

  /** Notices that an operation has ended the first login: what follows would be refused for that. */
  async #checkLogin(operation: Operation): Promise<void> {
    const known = this.#endedBy === null && this.#first !== null
      ? [...this.learned.values()].find((one) =>
        one.method === "GET" && one.security.length > 0 && one.learned?.as === this.#first
      )
      : undefined;
    if (!known) return;
    const { status } = await this.#send(known, sampleRequest(known), this.#first);
    if (status === 401) this.#endedBy = operation;
  }

  /** Tries an operation until it succeeds, as the first identity and then as the others. */
  async learn(operation: Operation): Promise<void> {
    if (endsService(operation)) {
      const why = "was not sent with a login: it would take the service away from everybody";
      return void this.#failures.set(operation, why);
    }
    if (this.#endedBy !== null && operation.security.length > 0) {
      const why = `was not sent: ${keyOf(this.#endedBy)} had ended the login of ${this.#first}`;
      return void this.#failures.set(operation, `${why}; give a new login, and leave it out`);
    }
    await this.#learn(operation);
    const isReading = ["GET", "HEAD", "OPTIONS"].includes(operation.method);
    if (!isReading && this.has(operation)) await this.#checkLogin(operation);
  }

  async #learn(operation: Operation): Promise<void> {
    const isReading = ["GET", "HEAD", "OPTIONS"].includes(operation.method);
    if (!isReading && !this.#options.may_change) {
      return void this.#failures.set(
        operation,
        "may change data on another machine; allow it with --allow-destructive",
      );
    }
    const names = [...this.#options.identities.keys()];
    if (await this.#tryAs(operation, this.#first)) {
      // A record that the second identity sees too is nobody's own.
      const [, second] = names;
      if (isReading && second !== undefined && !operation.path.includes("{")) {
        await this.#send(operation, sampleRequest(operation), second);
      }
      return;
    }
    const failure = this.#failures.get(operation) ?? "";
    // A login or a registration may refuse a user who is logged in.
    if (operation.security.length === 0 && names.length > 0) {
      if (await this.#tryAs(operation, NOBODY)) return;
      this.#failures.set(operation, failure);
    }
    if (!/\banswered (401|403)\b/.test(failure)) return;
    for (const name of names.slice(1)) {
      if (await this.#tryAs(operation, name)) return;
    }
  }

  /** True where what was read with a login can be read without one, and nothing asked for any. */
  async isOpen(): Promise<boolean> {
    for (const operation of this.learned.values()) {
      if (this.#sawRefusal || this.#options.signal.aborted) break;
      const isRead = operation.method === "GET" && !operation.learned?.changes;
      if (isRead) await this.#send(operation, sampleRequest(operation), NOBODY);
    }
    return !this.#sawRefusal;
  }

  /** The operations that the target serves and the document does not name. */
  async findUnlisted(operations: Operation[]): Promise<Operation[]> {
    const reads = unlistedReads(operations, this.#pool.texts());
    const graphs = this.#options.may_change ? unlistedGraphs(operations) : [];
    const found: Operation[] = [];
    const nothing = { ...reads[0]!, path: "/no-such-address" };
    for (const owner of new Set([NOBODY, this.#first])) {
      // Some services answer every address in the same way.
      const { status } = await this.#send(nothing, sampleRequest(nothing), owner);
      if (owner === null || isSuccess(status)) continue;
      for (const one of [...reads, ...graphs].filter((one) => !found.includes(one))) {
        if (this.#options.signal.aborted) return found;
        const exchange = await this.#send(one, sampleRequest(one), owner);
        if (exchange.status !== 200 || !/^\s*[{[]/.test(exchange.body)) continue;
        this.#successes.set(one, 200);
        this.learned.set(one, { ...one, learned: { as: owner, owned: false, changes: false } });
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
      for (const maker of [...made, ...made]) {
        await this.#send(maker, sampleRequest(maker), maker.learned!.as);
      }
    }
    // A record may need several others, so all of them are there first.
    const gone = new Set([...this.#deleted.values()].flatMap(({ values }) => [...values]));
    const others = [...this.learned].filter(([one, learned]) =>
      one.method !== "DELETE" &&
      [...inPathOf(learned).map(({ sample }) => sample), ...Object.values(objectSample(learned))]
        .some((value) => gone.has(value))
    );
    for (const [other] of others) {
      this.learned.delete(other);
      await this.learn(other);
    }
    for (const [remove, { makers }] of this.#deleted) {
      if (this.#makersIn(makers).length > 0) this.#aimAtOlder(remove);
    }
  }

  /** The operations that had made what was deleted, as they succeeded. */
  #makersIn(paths: ReadonlySet<string>): Operation[] {
    return [...this.learned].filter(([one]) => one.method === "POST" && paths.has(one.path))
      .map(([, learned]) => learned);
  }

  /** Lets a deletion take the older one of two new records. */
  #aimAtOlder(remove: Operation): void {
    const learned = this.learned.get(remove)!;
    const parameters = learned.parameters.map((one) => {
      if (one.in !== "path" || this.#given(one.name, learned.learned!.as) !== null) return one;
      const [latest, older] = this.#pool.candidates(remove, one, learned.learned!.as);
      return { ...one, sample: older ?? latest };
    });
    this.learned.set(remove, { ...learned, parameters });
  }

  get #first(): Owner {
    return this.#options.identities.keys().next().value ?? null;
  }

  async #tryAs(operation: Operation, owner: Owner): Promise<boolean> {
    const given = (name: string) => this.#given(name, owner);
    const removed = operation.method === "DELETE" ? inPathOf(operation).at(-1) : undefined;
    const choices = operation.parameters.map((parameter) => {
      const values = given(parameter.name) ?? this.#pool.candidates(operation, parameter, owner);
      // The run needs its users.
      const kept = values.filter((one) => parameter !== removed || !this.#pool.isLogin(one));
      return { parameter, values: kept };
    });
    const isOwnUser = removed
      ? choices.some(({ parameter, values }) => parameter === removed && values.length === 0)
      : operation.method === "DELETE" && OWN_USER.test(operation.path);
    if (isOwnUser) {
      this.#failures.set(
        operation,
        "was not sent: it would delete the user of a login of this run",
      );
      return false;
    }
    const bodies = bodyVariants(operation, (name) => given(name)?.[0] ?? null, {
      known: (name) => this.#pool.named(name, owner),
      found: (name) => this.#pool.found(name, owner),
    });
    let at = 0;
    let body = 0;
    for (let n = 0; n < TRIES && this.#sent < REQUESTS; n++) {
      if (this.#options.signal.aborted) return false;
      const tried = withValues(operation, choices, at, bodies[body]);
      const exchange = await this.#send(tried, sampleRequest(tried), owner);
      if (exchange.error === null && succeeds(operation, exchange)) {
        const owned = this.#isOwned(operation, { choices, at }, owner);
        const changes = operation.changes === true || saysItChanged(operation, exchange);
        const inPath = inPathOf(operation);
        const own_name = this.#pool.ownOf(inPath.map(({ name }) => name), owner);
        const own_field = this.#pool.ownOf(bodyFields(operation).map(([name]) => name), owner);
        const learned = {
          as: owner,
          owned,
          changes,
          own_name,
          own_field,
          own_references: this.#ownReferences(tried, owner),
          others: this.#others(inPath),
          balance: operation.method === "GET" ? balanceIn(exchange.body) : undefined,
        };
        this.#successes.set(operation, exchange.status!);
        this.learned.set(operation, { ...tried, learned });
        if (operation.method === "DELETE") {
          // The record that it belonged to is still there.
          const values = new Set(inPath.slice(-1).map(({ name }) => sampleOf(tried, name)));
          this.#deleted.set(operation, { values, makers: this.#pool.drop(values) });
        }
        if (operation.method === "POST") this.#made++;
        return true;
      }
      // The first try has the best values; what is known of one is not asked for.
      const isKnown = (name: string) =>
        given(name) !== null ||
        choices.some(({ parameter, values }) => parameter.name === name && values.length > 1);
      const { status } = exchange;
      if (n === 0 || status === 401 || status === 403) {
        this.#failures.set(operation, failureOf(tried, exchange, owner, isKnown));
      }
      if (status === null || status === 401 || status === 403 || status === 405) return false;
      const hasValue = choices.some(({ values }) => values.length > at + 1);
      const hasBody = bodies.length > body + 1;
      if (!hasValue && !hasBody) return false;
      if (hasValue && (status === 404 || !hasBody)) at++;
      else body++;
    }
    return false;
  }

  #given(name: string, owner: Owner): string[] | null {
    const own = owner === null ? undefined : this.#options.own_values.get(owner)?.get(name);
    const value = own ?? this.#options.values.get(name);
    return value === undefined ? null : [value];
  }

  /** True when a record in the path is the identity's own. */
  #isOwned(
    operation: Operation,
    { choices, at }: { choices: { parameter: Parameter; values: string[] }[]; at: number },
    owner: Owner,
  ): boolean {
    const inPath = choices.filter(({ parameter }) => parameter.in === "path");
    return owner !== null && owner !== NOBODY && inPath.some(({ parameter, values }) => {
      const value = values[Math.min(at, values.length - 1)];
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

  async #send(
    operation: Operation,
    request: ReturnType<typeof sampleRequest>,
    owner: Owner,
  ): Promise<HttpExchange> {
    const { identities, interval_ms, target } = this.#options;
    this.#sent++;
    if (interval_ms > 0) await sleep(interval_ms);
    const identity = owner === null ? {} : identities.get(owner) ?? {};
    const how = { uniq: this.#options.uniq(), anonymous: owner === NOBODY };
    const ready = prepareRequest(inQuery(request) ?? request, { ...this.#options, identity }, how);
    const exchange = await sendRequest(target, ready, { ...this.#options, keep_bytes: KEEP });
    if (exchange.status === 401 || exchange.status === 403) this.#sawRefusal = true;
    if (isSuccess(exchange.status)) {
      const made = operation.method === "POST";
      const place = { path: operation.path, owner, made };
      if (made) this.#pool.harvest(ready.body ?? request.body ?? "", place);
      this.#pool.harvest(exchange.body, place);
    }
    return exchange;
  }
}

const BALANCE = /^(account_?|available_?|current_?|wallet_?)?(balance|credits?|points)$/i;

/** The member of an answer that says how much money somebody has. */
function balanceIn(body: string): string | undefined {
  for (const one of objectsOf(body)) {
    const found = Object.entries(one).find(([name, value]) =>
      BALANCE.test(name) && Number.isFinite(Number(value)) && Number(value) > 0
    );
    if (found) return found[0];
  }
  return undefined;
}

/** Why an operation is not rehearsed. */
function whyLeftOut(operation: Operation): string {
  if (endsLogin(operation)) return "ends a login, and was not sent with one that others need";
  if (rankOf(operation) === RESETS) return "changes data though it only reads, and failed";
  return "was not sent";
}

function inPathOf({ parameters }: Operation) {
  return parameters.filter((one) => one.in === "path");
}

function sampleOf({ parameters }: Operation, name: string): unknown {
  return parameters.find((one) => one.name === name && one.in === "path")?.sample;
}

/** A 2xx, the redirect that the document names, or the one that leads on from a form. */
function succeeds(operation: Operation, { status, headers }: HttpExchange): boolean {
  const isRedirect = status !== null && status >= 300 && status < 400;
  if (!isRedirect || operation.statuses.includes(status)) return isSuccess(status);
  const location = headers.find(([name]) => name.toLowerCase() === "location")?.[1];
  return location !== undefined && [302, 303].includes(status) && leadsOn(operation, location);
}

/** The address of a redirect with which a service refuses a request. */
const SENT_BACK = /error|fail|invalid|denied|forbidden|unauthori[sz]ed|expired/i;

const FORM = /^(multipart\/form-data|application\/x-www-form-urlencoded)/i;

/** True where a form was taken: the redirect leads neither back to it nor to a login or an error. */
function leadsOn({ method, path, body }: Operation, location: string): boolean {
  if (method !== "POST" || !FORM.test(body?.content_type ?? "") || SENT_BACK.test(location)) {
    return false;
  }
  const plainPath = (text: string) => text.replace(/[?#].*$/s, "").replace(/\/$/, "");
  const to = plainPath(location.replace(/^https?:\/\/[^/]*/i, ""));
  // A registration or a logout leads to the login page; other forms lead there only without a login.
  const isMeant = /(register|sign-?up|log-?out|sign-?out)\/?$/i.test(path);
  return !`/${to}`.endsWith(`/${plainPath(path).replace(/^\//, "")}`) &&
    (isMeant || !isLoginPath(to));
}

/** True for a GET whose short answer says that it changed something. */
function saysItChanged({ method }: Operation, { status, body }: HttpExchange): boolean {
  if (method !== "GET") return false;
  return status === 201 || (body.length < 300 &&
    /\b(database|data|tables?|state)\b.{0,40}\b(populated|created|deleted|reset|cleared|dropped|seeded)\b/i
      .test(body));
}

const KEEP = 256 * 1024;

/** `as alice answered 404 for server_id=sample; give --value server_id=…`. */
function failureOf(
  operation: Operation,
  { status, error, body }: HttpExchange,
  owner: Owner,
  isKnown: (name: string) => boolean,
): string {
  const who = owner === null || owner === NOBODY ? "" : `as ${owner} `;
  if (error !== null) return `${who}got no good answer: ${error}`;
  const path = inPathOf(operation);
  const values = path.map(({ name, sample }) => `${name}=${String(sample).slice(0, 40)}`).join(
    ", ",
  );
  const where = values === "" ? "" : ` for ${values}`;
  const said = messageOf(body);
  const words = said === "" ? "" : ` "${said}"`;
  if (status === 401 || status === 403) {
    const login = owner === null ? "; give a login (--as)" : "; it may need another login (--as)";
    return `${who}answered ${status}${where}${words}${login}`;
  }
  const unknown = path.find(({ name }) => !isKnown(name))?.name;
  const missing = unknown ?? (status === 400 || status === 422 ? fieldOf(operation) : null);
  const next = missing === null ? "" : `; give --value ${missing}=…`;
  return `${who}answered ${status}${where}${words}${next}`;
}

function fieldOf({ body }: Operation): string | null {
  const { required } = body?.schema ?? {};
  return Array.isArray(required) && required.length > 0 ? String(required[0]) : null;
}

/** The message of an error, for a person. */
function messageOf(body: string): string {
  try {
    const value = JSON.parse(body);
    const text = value?.message ?? value?.error ?? value?.detail ?? value?.title;
    return typeof text === "string" ? text.slice(0, 80) : "";
  } catch {
    return "";
  }
}
