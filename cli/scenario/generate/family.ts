import type { Playbook } from "../driver/playbook_schema.ts";
import type { Exec, Priority } from "../schema.ts";
import { type Operation, sampleRequest, type Schema } from "./operation.ts";
import { isRuledOut } from "./sample.ts";

/** A scenario without its id, which depends on all the others. */
export interface Draft {
  title: string;
  user_perspective: string;
  preconditions: string[];
  steps: string[];
  chaos_factors: string[];
  expected_behavior: string;
  failure_modes: string[];
  priority: Priority;
  confidence_area: string;
  is_edge_case: boolean;
  exec?: Exec;
  playbook?: Playbook;
  family: string;
  operation: Operation;
}

/** One way in which operations break. */
export interface Family {
  name: string;
  /** The smallest `--depth` that generates it. */
  depth: Depth;
  /** Returns its scenarios for an operation; null where it does not fit. */
  tell: (operation: Operation) => Story | Story[] | null;
}

export const DEPTHS = ["light", "normal", "aggressive"] as const;
export type Depth = typeof DEPTHS[number];

/** The text and the request of one scenario. The rest follows from the operation. */
export interface Story {
  title: string;
  who: string;
  steps: string[];
  preconditions?: string[];
  chaos: string[];
  expected: string;
  failures: string[];
  priority: Priority;
  is_edge_case?: boolean;
  /** Replaces parts of the operation's sample request. */
  request?: {
    method?: string;
    path?: string;
    /** A header that is null is removed. */
    headers?: Record<string, string | null>;
    body?: string | null;
  };
  expected_status?: number;
  /** A correct service refuses it with any 4xx; beside `expected_status`, with 400 or 422. */
  refused?: boolean;
  /** A correct service denies it with 401 or 403, whichever of the two is documented. */
  denied?: boolean;
  concurrency?: number;
  /** Sent without the credentials of the run. */
  anonymous?: boolean;
  /** Content that no answer may show. */
  forbidden?: Exec["forbidden"];
}

/** The drafts of one family for one operation. */
export function draftsOf(operation: Operation, { name, tell }: Family): Draft[] {
  return [tell(operation) ?? []].flat().map((story) => draft(operation, name, story));
}

/** The draft of one story about one operation. */
export function draft(operation: Operation, family: string, story: Story): Draft {
  const exec: Exec = { mode: "http", ...requestOf(operation, story) };
  if (story.expected_status) exec.expected_status = story.expected_status;
  if (story.refused) exec.expected_end = "refused";
  if (story.denied) exec.expected_end = "denied";
  if (story.concurrency) Object.assign(exec, { concurrency: story.concurrency, sequence: true });
  if (story.anonymous || operation.learned?.as === "nobody") exec.anonymous = true;
  const presumes = presumptions(operation, story);
  if (presumes.length > 0) exec.presumes = presumes;
  // A leaking message alone is no critical failure.
  const traces = story.priority !== "critical" && story.concurrency === undefined;
  if (story.forbidden || traces) {
    exec.forbidden = { ...(traces ? { traces } : {}), ...story.forbidden };
  }
  return {
    title: story.title,
    user_perspective: story.who,
    preconditions: story.preconditions ?? [`${nameOf(operation)} is served`],
    steps: story.steps,
    chaos_factors: story.chaos,
    expected_behavior: story.expected,
    failure_modes: story.failures,
    priority: story.priority,
    confidence_area: operation.area,
    is_edge_case: story.is_edge_case ?? true,
    exec,
    family,
    operation,
  };
}

/** The first of these statuses that the document names; undefined without one. */
export function documented(operation: Operation, ...statuses: number[]): number | undefined {
  return statuses.find((status) => operation.statuses.includes(status));
}

/**
 * True when the document says that bad input is refused. The status itself is left open: most
 * services that name only 422 answer broken JSON with 400.
 */
export function refuses({ statuses }: Operation): boolean {
  return statuses.includes(400) || statuses.includes(422);
}

/** The documented statuses (400, 422) that may refuse this id; none if its schema allows it. */
export function refusalsOf({ statuses }: Operation, schema: Schema, id: string): number[] {
  return isRuledOut(schema, id) ? statuses.filter((one) => one === 400 || one === 422) : [];
}

/** `GET /pets/{petId}`, the name of an operation in titles and steps. */
export function nameOf({ method, path }: Operation): string {
  return `${method} ${path}`;
}

/** True for an operation that changes data. */
export function changes({ method }: Operation): boolean {
  return !["GET", "HEAD", "OPTIONS", "TRACE"].includes(method);
}

/** The login and the record that the target needs before it looks at the request. */
function presumptions(operation: Operation, { anonymous, expected_status, refused }: Story) {
  const login = operation.security.length > 0 && !anonymous;
  const isBound = expected_status === undefined ? refused === true : expected_status !== 404;
  // A lookup by a word finds nothing for a word that nobody chose.
  const isLookup = operation.statuses.includes(404) && operation.method === "GET" &&
    operation.parameters.some((one) => one.in === "query" && one.required);
  const record = (operation.path.includes("{") || isLookup) && isBound && !anonymous;
  return [...(login ? ["login" as const] : []), ...(record ? ["record" as const] : [])];
}

function requestOf(operation: Operation, { request = {} }: Story) {
  const sample = sampleRequest(operation);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...sample.headers, ...request.headers })) {
    if (value !== null) headers[name] = value;
  }
  const body = request.body === null ? undefined : request.body ?? sample.body;
  return {
    method: request.method ?? sample.method,
    path: request.path ?? sample.path,
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(body === undefined ? {} : { body }),
  };
}
