import { z } from "zod";
import { Action } from "../schema.ts";

/** The answer of one person. */
export const Answered = z.object({
  member_id: z.string(),
  verdict: z.enum(["approve", "reject"]),
  at: z.iso.datetime(),
});
export type Answered = z.infer<typeof Answered>;

/** A held action under an approval route: who answered, who is still asked, until when. */
export const RoutedApproval = z.object({
  action: Action,
  route_id: z.string(),
  need: z.number().int(),
  have: z.number().int(),
  asked: z.array(z.string()),
  answered: z.array(Answered),
  deadline: z.iso.datetime().nullable(),
});
export type RoutedApproval = z.infer<typeof RoutedApproval>;

/** An escalation: more members may approve a held action, because its approvers have not. */
export const Escalation = z.object({
  id: z.string(),
  action_id: z.string(),
  route_id: z.string(),
  level: z.number().int(),
  raised_at: z.iso.datetime(),
  to: z.array(z.string()),
});
export type Escalation = z.infer<typeof Escalation>;
