import { z } from "zod";

const headers = z.record(z.string(), z.string()).optional();
const request = {
  method: z.string().min(1).max(64),
  path: z.string().min(1).max(8_000).describe('begins with "/", on the target'),
  headers,
  body: z.string().max(200_000).optional(),
  as: z.string().optional().describe("name of a given identity"),
};

/** Every tool that a player may call. */
export const TOOLS = {
  http_request: {
    description: "Send one request to the target and see the answer. Recorded in the ledger.",
    input: z.object(request),
  },
  race: {
    description: "Send n identical requests at the same moment. Recorded in the ledger.",
    input: z.object({ ...request, n: z.number().int().min(2).max(50) }),
  },
  wait: {
    description: "Wait.",
    input: z.object({ ms: z.number().int().min(0).max(5_000) }),
  },
  get_ledger: {
    description: "List the requests so far with the ids that evidence refers to.",
    input: z.object({}),
  },
  submit_verdict: {
    description: "End the scenario. Each claim is checked against the ledger by the tool.",
    input: z.object({
      verdict: z.enum(["pass", "fail", "inconclusive"]),
      evidence: z.array(z.string()).max(100).describe("ledger ids: r1, r2 …"),
      claims: z.array(z.object({
        id: z.string(),
        status: z.number().int().optional(),
        body_contains: z.string().optional(),
      })).max(100),
      reason: z.string().max(2_000),
    }),
  },
} as const;

export type ToolName = keyof typeof TOOLS;
/** The arguments of every tool but `submit_verdict`, together. */
export type Arguments = z.infer<typeof TOOLS.race.input> & z.infer<typeof TOOLS.wait.input>;
export type SubmittedVerdict = z.infer<typeof TOOLS.submit_verdict.input>;

/** The tools as model APIs expect them: name, description and JSON Schema. */
export function toolSchemas(): { name: string; description: string; schema: unknown }[] {
  return Object.entries(TOOLS).map(([name, { description, input }]) => ({
    name,
    description,
    schema: z.toJSONSchema(input),
  }));
}
