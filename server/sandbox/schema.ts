import { z } from "zod";
import { Sandbox, SandboxPolicy } from "../policy/schema.ts";

/** A folder or file of the sandbox, in the order in which they are mounted. */
export const Mount = z.object({
  at: z.string().describe("its absolute path in the sandbox"),
  as: z.enum([
    "read_only",
    "writable",
    "new_folder",
    "folder",
    "hidden_file",
    "hidden_folder",
    "link",
  ])
    .describe(
      "`new_folder` is empty, writable and gone after the command; `folder` is empty and read-only; " +
        "`hidden_…` is unreadable",
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
  engine: z.object({
    name: z.enum(["bubblewrap", "landlock", "seatbelt"]),
    path: z.string(),
    version: z.string(),
  }),
  network: z.enum(["none", "loopback", "all"]),
  hosts: z.array(z.string()).describe("hosts that it reaches through the proxy of the claimer"),
  mounts: z.array(Mount).max(2_000),
  tools_at: z.number().int()
    .describe("the place in `mounts` of the folders in PATH that nothing else shows"),
  user_home: z.string(),
  never_shown: z.array(z.string()).describe("blocked places that no folder of PATH may show"),
  closed_ports: z.array(z.number().int()).default([])
    .describe("ports of this machine that no host of the list opens"),
  cwd: z.string(),
  blank: z.string().describe("the file that covers a hidden one; no command can open it"),
  limits: SandboxLimits,
});
export type Walls = z.infer<typeof Walls>;

/** One wall of the sandbox that a person opens. */
export const OpenWall = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("host"),
    host: z.string().min(1).max(260).describe("with its port, if that is not 80 or 443"),
  }),
  z.strictObject({
    kind: z.literal("writable"),
    path: z.string().min(1).max(1024).describe("a folder, absolute or below ~/"),
  }),
  z.strictObject({
    kind: z.literal("readable"),
    path: z.string().min(1).max(1024).describe("a file of the home folder, absolute or below ~/"),
  }),
]);
export type OpenWall = z.infer<typeof OpenWall>;

/** The walls that an approval opens: the command then runs in the sandbox instead of outside it. */
export const OpenWalls = z.strictObject({
  walls: z.array(OpenWall).min(1).max(10),
  for: z.enum(["once", "session"]).describe("for this run, or for each command of the session"),
}).meta({
  examples: [{ walls: [{ kind: "host", host: "registry.example" }], for: "once" }],
});
export type OpenWalls = z.infer<typeof OpenWalls>;

/** Walls that a person has opened for a session. */
export const SessionOpening = z.object({
  id: z.string(),
  session_id: z.string(),
  action_id: z.string().describe("the action whose approval opened them"),
  walls: OpenWalls.shape.walls,
  opened_by: z.string(),
  opened_at: z.iso.datetime(),
});
export type SessionOpening = z.infer<typeof SessionOpening>;

/** `GET /api/sandbox`: the sandbox of commands on this machine and in this project. */
export const SandboxView = z.object({
  engine: z.object({ name: z.string(), version: z.string() }).nullable()
    .describe("null if this machine cannot make a sandbox"),
  mode: SandboxPolicy.shape.mode,
  answers: z.boolean().describe("whether a question may be answered by the sandbox"),
  sandbox: Sandbox.nullable().describe("what commands get; null without an engine or in mode off"),
  openings: z.array(SessionOpening).describe("of sessions that have not ended"),
});
export type SandboxView = z.infer<typeof SandboxView>;

/** A host that a command in the sandbox asked for. */
export const AskedHost = z.object({
  host: z.string().max(253),
  port: z.number().int(),
  times: z.number().int(),
  answer: z.enum(["connected", "refused", "failed"]),
  why: z.string().max(1_000).nullable().describe("why it was refused or failed"),
});
export type AskedHost = z.infer<typeof AskedHost>;
