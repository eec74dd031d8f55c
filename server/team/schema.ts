import { z } from "zod";

/** The rights of a member: a viewer reads, a reviewer decides, an admin also changes the team. */
export const Role = z.enum(["viewer", "reviewer", "admin"]);
export type Role = z.infer<typeof Role>;

/** The id of a member, in `decided_by`, in audit events and on the command line. */
export const MemberId = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  "expected 1 to 64 letters, digits, dots, dashes or underscores, the first a letter or digit",
);

/** A name that people read on one line. */
export const Name = z.string().regex(
  /^[^\p{C}\p{Z}][^\p{C}]{0,199}$/u,
  "expected 1 to 200 visible characters",
);

const email = z.email("expected an e-mail address").max(254).nullable();

/** How to reach a member: a kind such as `slack`, and the address of that kind. */
const Channel = z.object({ kind: z.string().min(1).max(32), address: z.string().min(1).max(512) });
const channels = z.array(Channel).max(16);

/** A person of the team. */
export const Member = z.object({
  id: MemberId,
  name: Name,
  role: Role,
  email: email.default(null),
  channels: channels.default([]),
});
export type Member = z.infer<typeof Member>;

/** Answer of `GET /api/team/members`. */
export const MemberList = z.object({ items: z.array(Member) });

/** Body of `POST /api/team/members`. */
export const AddMemberInput = z.strictObject({
  id: MemberId.optional().describe("default: the name in lowercase letters, with dashes"),
  name: Name,
  role: Role.default("reviewer"),
  email: email.optional(),
  channels: channels.optional(),
});
export type AddMemberInput = z.infer<typeof AddMemberInput>;

/** Body of `PATCH /api/team/members/:id`: at least one field. */
export const ChangeMemberInput = z.strictObject({
  name: Name.optional(),
  role: Role.optional(),
  email: email.optional(),
  channels: channels.optional(),
}).refine((changes) => Object.keys(changes).length > 0, { error: "give at least one field" });
export type ChangeMemberInput = z.infer<typeof ChangeMemberInput>;

/** Body of `POST /api/team/members/:id/login-code`. */
export const LoginCodeInput = z.strictObject({
  role: Role.exclude(["viewer"]).optional().describe("the member's role, which the proof covers"),
  invitation: z.string().regex(/^[A-Za-z0-9_-]{43}$/).optional()
    .describe("the link's own Ed25519 key: with it the member sets a key of their own"),
}).refine(({ role, invitation }) => (role === undefined) === (invitation === undefined), {
  error: 'give "role" and "invitation" together',
});
export type LoginCodeInput = z.infer<typeof LoginCodeInput>;

/** `GET /api/team/whoami`: the person behind the credential of the request. */
export const Whoami = z.object({
  id: z.string(),
  name: z.string(),
  role: Role,
  is_member: z.boolean().describe("false for the owner of this machine who is not in team.json"),
});
export type Whoami = z.infer<typeof Whoami>;

/** A change of a list by hand that is not in force until a person accepts it. */
export const WaitingList = z.object({
  items_sha256: z.string().describe("of the list in the file"),
  number: z.number().int().describe("the number that its acceptance gets"),
  differences: z.array(z.object({
    kind: z.enum(["added", "changed", "removed"]),
    id: z.string(),
    text: z.string().describe("the new entry, or each field that differs"),
  })),
});
export type WaitingList = z.infer<typeof WaitingList>;

/** Body of an acceptance: the version of the list that the person has seen. */
export const AcceptListInput = WaitingList.omit({ differences: true }).strict().extend({
  items_sha256: z.string().regex(/^[0-9a-f]{64}$/, "expected the items_sha256 of the change"),
  number: z.number().int().min(1),
});
export type AcceptListInput = z.infer<typeof AcceptListInput>;

/** `GET /api/team`: whether the team in force is the one in the file. */
export const TeamStatus = z.object({
  path: z.string(),
  members: z.number().int(),
  problem: z.string().nullable()
    .describe("why the file is not in force, and what a person must do; null if it is"),
  waiting: WaitingList.nullable().describe("the change by hand that a person can accept"),
});
export type TeamStatus = z.infer<typeof TeamStatus>;
