import { z } from "zod";

/** What a credential may do: agent submits, viewer reads, reviewer does everything. */
export const Scope = z.enum(["agent", "viewer", "reviewer"]);
export type Scope = z.infer<typeof Scope>;

/** Who is calling, as the guard established it. */
export interface Caller {
  scope: Scope;
  /** The name that stands in `decided_by` and in the audit rows. */
  id: string;
  /** How the credential came: a token file, the dashboard's page key, or `--auth none`. */
  via: "token" | "page" | "none";
}

/** Answer of `POST /api/auth/login-code`. */
export const LoginCode = z.object({
  code: z.string(),
  expires_at: z.iso.datetime(),
  path: z.string().describe("what to open in a browser, after the daemon's address"),
});
export type LoginCode = z.infer<typeof LoginCode>;
