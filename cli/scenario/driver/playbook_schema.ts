import { z } from "zod";
import { Forbidden } from "../schema.ts";
import { Forgery } from "./forge.ts";

/** A status (404) or a class of statuses ("2xx"). */
const Expected = z.union([
  z.number().int().min(100).max(599),
  z.enum(["1xx", "2xx", "3xx", "4xx", "5xx"]),
]);

/** One request of a playbook. */
export const PlaybookStep = z.looseObject({
  name: z.string(),
  method: z.string(),
  path: z.string(),
  as: z.string().optional().describe('an identity; "nobody" is not logged in'),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
  /** The rest depends on this step: if it fails, the playbook is inconclusive. */
  setup: z.boolean().optional(),
  /** If this step is inconclusive, the playbook ends here and passes. */
  optional: z.boolean().optional(),
  /**
   * Values for later steps, which write `{{name}}`: from `header:<name>`, `body:<pointer>`,
   * `text:<pointer>` or `over_half:<member>`; `a | b` takes the first that exists.
   */
  save: z.record(z.string(), z.string()).optional(),
  expect: z.array(Expected).optional(),
  /** A 2xx fails; 401, 403 or 404 is right; anything else decides nothing. */
  denied: z.boolean().optional(),
  /** With `denied`: a 404 decides nothing, because only a record that exists shows the rights. */
  exists: z.boolean().optional(),
  /**
   * An earlier change that the service must refuse. An accepted one fails. It decides nothing if two
   * readings show the same members, or if this step, for a name that nobody has, succeeds too.
   */
  effect: z.object({
    of: z.string(),
    before: z.string().optional(),
    after: z.string().optional(),
    members: z.array(z.string()),
  }).optional(),
  /** The step proves that the request works for its owner: without a 2xx nothing is decided. */
  control: z.boolean().optional(),
  /**
   * With `denied`: a success fails only where something shows that the record is private: its
   * address, its members, a list that leaves it out or a parent that is refused.
   */
  guarded: z.object({
    /** The step that read the record; left out, this step. */
    record: z.string().optional(),
    /** The earlier list of the same identity. */
    list: z.string().optional(),
    /** The earlier list without a login: what it shows is no secret. */
    open_list: z.string().optional(),
    /** The earlier reading of the parent record by the same identity. */
    parent: z.string().optional(),
    /** The address names something private, such as an order. */
    by_address: z.boolean(),
  }).optional(),
  /** The earlier step whose body must be equal. */
  same_as: z.string().optional(),
  /** The earlier step whose body must differ. */
  differs_from: z.string().optional(),
  /** The earlier step whose status must be equal. */
  status_as: z.string().optional(),
  /** The id of a record that the list must not show, URL-encoded; may contain `{{name}}`. */
  hides: z.string().optional(),
  /** The id of a record that the answer must show, URL-encoded; may contain `{{name}}`. */
  keeps: z.string().optional(),
  forbidden: Forbidden.optional(),
  /** Members that must be equal to those in the answer to an earlier step. */
  unchanged: z.object({ since: z.string(), members: z.array(z.string()) }).optional(),
  /** Two earlier steps. Their lists together must contain every record of this list, none twice. */
  joins: z.array(z.string()).length(2).optional(),
  /** If the list shows fewer records, the playbook is inconclusive. */
  records: z.number().int().min(1).optional(),
  /** Sends this many identical requests at once. At most one may succeed (2xx). */
  race: z.number().int().min(2).max(50).optional(),
  /** Sent for a comparison by a later step; no answer to it is wrong. */
  probe: z.boolean().optional(),
  /** A 2xx fails; any other answer is right, because other scenarios judge crashes. */
  refuses: z.boolean().optional(),
  /** The earlier step with a doubled quote. A 5xx to this step alone is an injection. */
  breaks_unlike: z.string().optional(),
  /** The earlier step with an unknown value. Success of this step alone is an injection. */
  opens_unlike: z.string().optional(),
  /** With `opens_unlike`: the earlier step with a condition that is never true. */
  closed_unlike: z.string().optional(),
  /** The earlier refusal. A different one tells which users exist. */
  tells_apart: z.string().optional(),
  /** Sends the step this often, until it is limited. Never limited fails. */
  attempts: z.number().int().min(2).max(30).optional(),
  /**
   * The same request without the text that may make the service work for long. The step fails if it
   * is slow twice and this one is quick. `shows` says what that proves.
   */
  quick: z.object({ path: z.string(), body: z.string().optional(), shows: z.string().optional() })
    .optional(),
  /**
   * `{{listener}}` in the step is an address of this machine. A request from the target to it
   * fails; the earlier step is the same with a usual address.
   */
  calls_unlike: z.string().optional(),
  /** Changes the token of the identity in this way. */
  forge: Forgery.optional(),
  /** The values that identify records: one made as usual, others made with one more member. */
  grants: z.object({
    plain: z.string(),
    more: z.array(z.object({ name: z.string(), member: z.string(), value: z.json() })),
  }).optional(),
  /** A privilege that was sent; the earlier step without it shows another value of that member. */
  granted: z.object({ unlike: z.string(), member: z.string(), value: z.json() }).optional(),
  /** The earlier step that names nothing. A success where that was refused uses what it names. */
  accepts_unlike: z.string().optional(),
  /** The earlier step of the same kind. A reference, code or token that follows from it fails. */
  foreseen: z.string().optional(),
  /** The earlier step without a trick. Instructions of a model that only this answer shows fail. */
  instructed_unlike: z.string().optional(),
  /** With `race`: without a success it proves nothing. */
  needs_winner: z.boolean().optional(),
  /** With `race`: several may succeed if their answers are equal. */
  same_answer: z.boolean().optional(),
});
export type PlaybookStep = z.infer<typeof PlaybookStep>;

/** The `playbook` of a scenario: steps that run in order without a model. */
export const Playbook = z.looseObject({
  identities: z.array(z.string()).optional(),
  late: z.boolean().optional().describe("runs last, because it changes what its user may do"),
  steps: z.array(PlaybookStep).min(1).max(50),
});
export type Playbook = z.infer<typeof Playbook>;
