import { z } from "zod";

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
  as: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
  /** Must hold for the rest to mean anything: otherwise the playbook is inconclusive. */
  setup: z.boolean().optional(),
  /** Values for later steps, each from `header:<name>` or `body:<JSON pointer>`. */
  save: z.record(z.string(), z.string()).optional(),
  expect: z.array(Expected).optional(),
  /** Name of an earlier step whose body this one's must equal, or must not. */
  same_as: z.string().optional(),
  differs_from: z.string().optional(),
  /** Volley of so many identical requests, of which at most one may win. */
  race: z.number().int().min(2).max(50).optional(),
});
export type PlaybookStep = z.infer<typeof PlaybookStep>;

/** Steps that run in order without any model; a scenario's `playbook` key. */
export const Playbook = z.looseObject({
  identities: z.array(z.string()).optional(),
  steps: z.array(PlaybookStep).min(1).max(50),
});
export type Playbook = z.infer<typeof Playbook>;
