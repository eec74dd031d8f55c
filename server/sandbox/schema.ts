import { z } from "zod";

/** A folder or file of the sandbox, in the order in which they are mounted. */
export const Mount = z.object({
  at: z.string().describe("its absolute path in the sandbox"),
  as: z.enum(["read_only", "writable", "new_folder", "hidden_file", "hidden_folder", "link"])
    .describe(
      "`new_folder` is empty, writable and gone after the command; `hidden_…` is unreadable",
    ),
  from: z.string().optional().describe("the path on the machine, or the target of a link"),
});
export type Mount = z.infer<typeof Mount>;

/** Limits of one command in the sandbox. */
export const SandboxLimits = z.object({
  processes: z.number().int(),
  memory_bytes: z.number().int().describe("of all its processes together"),
  file_bytes: z.number().int().describe("the largest file that it may write"),
});
export type SandboxLimits = z.infer<typeof SandboxLimits>;

/** The sandbox of one command: what the kernel lets it see and change. */
export const Walls = z.object({
  engine: z.object({ name: z.literal("bubblewrap"), path: z.string(), version: z.string() }),
  network: z.enum(["none", "loopback", "all"]),
  hosts: z.array(z.string()).describe("hosts that it reaches through the proxy of the claimer"),
  mounts: z.array(Mount).max(2_000),
  tools_at: z.number().int()
    .describe("the place in `mounts` of the folders in PATH that nothing else shows"),
  user_home: z.string(),
  never_shown: z.array(z.string()).describe("blocked places that no folder of PATH may show"),
  cwd: z.string(),
  blank: z.string().describe("an unreadable empty file on the machine"),
  limits: SandboxLimits,
});
export type Walls = z.infer<typeof Walls>;
