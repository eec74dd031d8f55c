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

/** One way in which operations break; answers none where it does not fit. */
export interface Family {
  name: string;
  /** Smallest `--depth` at which it is generated. */
  depth: Depth;
  generate: (operation: Operation) => Draft[];
}

export const DEPTHS = ["light", "normal", "aggressive"] as const;
export type Depth = typeof DEPTHS[number];

/** What a family says of one scenario; the rest follows from the operation. */
export interface Story {
  family: string;
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
    /** A header given as null is left out. */
    headers?: Record<string, string | null>;
    body?: string | null;
  };
  expected_status?: number;
  /** A correct service refuses it with any 4xx; beside `expected_status`, with 400 or 422. */
  refused?: boolean;
  concurrency?: number;
  /** Sent without the credentials of the run. */
  anonymous?: boolean;
  /** What no answer may show. */
  forbidden?: Exec["forbidden"];
}

/** The draft of one story about one operation. */
export function draft(operation: Operation, story: Story): Draft {
  const exec: Exec = { mode: "http", ...requestOf(operation, story) };
  if (story.expected_status) exec.expected_status = story.expected_status;
  if (story.refused) exec.expected_end = "refused";
  if (story.concurrency) exec.concurrency = story.concurrency;
  if (story.anonymous) exec.anonymous = true;
  const presumes = presumptions(operation, story);
  if (presumes.length > 0) exec.presumes = presumes;
  if (story.forbidden) exec.forbidden = story.forbidden;
  return {
    title: story.title,
    user_perspective: story.who,
    preconditions: story.preconditions ?? [`${operation.method} ${operation.path} is served`],
    steps: story.steps,
    chaos_factors: story.chaos,
    expected_behavior: story.expected,
    failure_modes: story.failures,
    priority: story.priority,
    confidence_area: operation.area,
    is_edge_case: story.is_edge_case ?? true,
    exec,
    family: story.family,
    operation,
  };
}

/** The first of these statuses that the document names, else none is expected. */
export function documented(operation: Operation, ...statuses: number[]): number | undefined {
  return statuses.find((status) => operation.statuses.includes(status));
}

/**
 * True where the document itself says that bad input is refused. Which status refuses it is not
 * bound by that: of a service that names only 422 most answer broken JSON with 400.
 */
export function refuses({ statuses }: Operation): boolean {
  return statuses.includes(400) || statuses.includes(422);
}

/** The documented statuses that refuse an id outside the rules of its schema; else none. */
export function refusalsOf({ statuses }: Operation, schema: Schema, id: string): number[] {
  return isRuledOut(schema, id) ? statuses.filter((one) => one === 400 || one === 422) : [];
}

/** `GET /pets/{petId}`, as titles and steps say it. */
export function nameOf({ method, path }: Operation): string {
  return `${method} ${path}`;
}

/** True where a request of this operation means to change something. */
export function changes({ method }: Operation): boolean {
  return !["GET", "HEAD", "OPTIONS", "TRACE"].includes(method);
}

/** What has to be there for the request to come as far as its story. */
function presumptions(operation: Operation, { anonymous, expected_status, refused }: Story) {
  const login = operation.security.length > 0 && !anonymous;
  const isBound = expected_status === undefined ? refused === true : expected_status !== 404;
  const record = operation.path.includes("{") && isBound && !anonymous;
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
