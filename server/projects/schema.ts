import { z } from "zod";

/** A registered project, with the number of its pending actions. */
export const HubProject = z.object({
  id: z.string(),
  name: z.string(),
  roots: z.array(z.string()),
  pending_count: z.number().int(),
  last_activity_at: z.string().nullable(),
  reachable: z.boolean(),
  unread: z.boolean().describe("its ledger cannot be read now, so lists over all projects lack it"),
  workspace_ids: z.array(z.string()),
});
export type HubProject = z.infer<typeof HubProject>;

/** Answer of `POST /api/hub/projects`. */
export const RegisteredProject = HubProject.extend({
  warnings: z.array(z.string()).describe("what a person should know about the config"),
});
export type RegisteredProject = z.infer<typeof RegisteredProject>;

/** Body of `POST /api/hub/projects`: registers the project with a config in `root`. */
export const RegisterProjectInput = z.strictObject({ root: z.string().min(1).max(4096) });
export type RegisterProjectInput = z.infer<typeof RegisterProjectInput>;

/** A machine that shares a ledger. */
export const SharingMachine = z.object({
  id: z.string(),
  name: z.string(),
  version: z.string().describe("the release of gate that opened the ledger there last"),
  joined_at: z.string(),
  is_this: z.boolean(),
  is_connected: z.boolean().describe("whether it was seen within the last 15 seconds"),
  lag: z.number().int().describe("events that it had not heard of when it was last seen"),
});
export type SharingMachine = z.infer<typeof SharingMachine>;

/** Where the ledger of a project is. */
export const LedgerPlace = z.object({
  project_id: z.string(),
  place: z.enum(["here", "server"]),
  url: z.string().nullable().describe("on the server"),
  problem: z.string().nullable().describe("why it cannot be opened now"),
  machines: z.array(SharingMachine).nullable()
    .describe("the machines that use it; null for a ledger that is here or not open"),
});
export type LedgerPlace = z.infer<typeof LedgerPlace>;

/** Answer of `GET /api/hub/storage`: `storage` of the accepted global config, and every ledger. */
export const StorageView = z.object({
  url: z.string().nullable(),
  waiting_url: z.string().nullable().describe("in the config file, until a person accepts it"),
  token_env: z.string().nullable(),
  token_is_set: z.boolean().nullable().describe("null when no token is asked for"),
  ledgers: z.array(LedgerPlace),
});
export type StorageView = z.infer<typeof StorageView>;

/** Query of a join: with `shared` the ledger that other machines have on the server is used. */
export const JoinQuery = z.object({ shared: z.enum(["true", "false"]).optional() });

/** Query of a leave: with `whole` the ledger comes here although other machines share it. */
export const LeaveQuery = z.object({ whole: z.enum(["true", "false"]).optional() });

/** Answer of a move: the place of the ledger now, and the check of its chain there. */
export const MovedLedger = z.object({
  project_id: z.string(),
  place: z.enum(["here", "server"]),
  url: z.string().describe("on the server, which keeps a copy of a ledger that left it"),
  rows: z.number().int().describe("rows that were copied and compared"),
  events: z.number().int(),
  ok: z.boolean(),
  problem: z.string().nullable(),
  shared_with: z.array(z.string()).describe("the names of the other machines that use the ledger"),
});
export type MovedLedger = z.infer<typeof MovedLedger>;

/** Whether a person trusts the project's `overrideGlobal` on this machine. */
export const OverrideTrust = z.object({ id: z.string(), trusted: z.boolean() });
