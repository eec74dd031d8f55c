import { z } from "zod";
import { Forbidden } from "../schema.ts";

/** A status, or a class of them: 404, "2xx". */
const Expected = z.union([
  z.number().int().min(100).max(599),
  z.enum(["1xx", "2xx", "3xx", "4xx", "5xx"]),
]);

/** One request of a playbook. */
export const PlaybookStep = z.looseObject({
  name: z.string(),
  method: z.string(),
  path: z.string(),
  as: z.string().optional().describe('an identity; "nobody" is somebody who is not logged in'),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
  /** Must hold for the rest to mean anything: otherwise the playbook is inconclusive. */
  setup: z.boolean().optional(),
  /** Where it cannot be set up, the playbook ends there, and what was seen before it counts. */
  optional: z.boolean().optional(),
  /** Values for later steps, each from `header:<name>`, `body:<pointer>` or `text:<pointer>`. */
  save: z.record(z.string(), z.string()).optional(),
  expect: z.array(Expected).optional(),
  /** Name of an earlier step whose body this one's must equal, or must not. */
  same_as: z.string().optional(),
  differs_from: z.string().optional(),
  /** Name of an earlier step that was answered with the same status. */
  status_as: z.string().optional(),
  /** Id of a record that its list must not show, values of earlier steps filled in. */
  hides: z.string().optional(),
  forbidden: Forbidden.optional(),
  /** Members that must be what they were in an earlier step's answer. */
  unchanged: z.object({ since: z.string(), members: z.array(z.string()) }).optional(),
  /** Two earlier steps whose lists together must hold what this one's list holds. */
  joins: z.array(z.string()).length(2).optional(),
  /** Least number of records that its list must show for the rest to mean anything. */
  records: z.number().int().min(1).optional(),
  /** Volley of so many identical requests, of which at most one may win. */
  race: z.number().int().min(2).max(50).optional(),
  /** In place of that: all of those that win must be answered alike. */
  same_answer: z.boolean().optional(),
});
export type PlaybookStep = z.infer<typeof PlaybookStep>;

/** Steps that run in order without any model; a scenario's `playbook` key. */
export const Playbook = z.looseObject({
  identities: z.array(z.string()).optional(),
  steps: z.array(PlaybookStep).min(1).max(50),
});
export type Playbook = z.infer<typeof Playbook>;
