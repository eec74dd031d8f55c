import { z } from "zod";
import { Approved, ApproveInput, RejectInput } from "../actions/schema.ts";
import { MOST_TOGETHER } from "../proof/schema.ts";

const id = z.string().min(1).max(64);
const expected_digest = z.string().min(1).max(64)
  .describe("of the plan that the person saw; another plan stays held");

/** Several actions, each of them once. */
function several<Item extends z.ZodType<{ id: string }>>(item: Item) {
  return z.array(item).min(1).max(MOST_TOGETHER).refine(
    (items) => new Set(items.map((one) => one.id)).size === items.length,
    { error: "an action is named twice; name each one once" },
  );
}

/** Body of `POST /api/approvals/approve`. */
export const ApproveSeveralInput = z.strictObject({
  items: several(z.strictObject({
    id,
    expected_digest,
    confirm: ApproveInput.shape.confirm,
  })),
  reason: ApproveInput.shape.reason,
});
export type ApproveSeveralInput = z.infer<typeof ApproveSeveralInput>;

/** Body of `POST /api/approvals/reject`. */
export const RejectSeveralInput = z.strictObject({
  items: several(z.strictObject({ id, expected_digest })),
  reason: RejectInput.shape.reason,
});
export type RejectSeveralInput = z.infer<typeof RejectSeveralInput>;

/** The outcome of one of several actions. */
export const ReviewOutcome = z.object({
  id: z.string(),
  outcome: z.enum(["approved", "voted", "rejected", "refused"]).describe(
    "voted: the approval is recorded and the route asks more people; refused: nothing changed, " +
      "and `problem` says why",
  ),
  action: Approved.nullable(),
  problem: z.looseObject({ status: z.number().int(), code: z.string(), detail: z.string() })
    .nullable().describe("the problem document of this action"),
});
export type ReviewOutcome = z.infer<typeof ReviewOutcome>;

/** Answer of both: one outcome for each item, in their order. */
export const ReviewOutcomes = z.object({ outcomes: z.array(ReviewOutcome) });
export type ReviewOutcomes = z.infer<typeof ReviewOutcomes>;
