import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import { bodyFields, isJson, objectSample, type Operation, sampleRequest } from "../operation.ts";
import { typeOf } from "../sample.ts";
import { tell } from "./resource.ts";

const ROLE = /^(user_?)?(role|rights|privileges?|access_?level|user_?type)$/i;
const USER = /^(user_?name|login|user|e_?mail)$/i;
/** An address at which a user reads their own record. */
const OWN = /\/(me|profile|account|user|whoami)\/?$/i;
/** Roles of those who may do more than a customer, as services write them. */
const ROLES = [
  "admin",
  "Admin",
  "ADMIN",
  "administrator",
  "employee",
  "Employee",
  "staff",
  "manager",
];

/** A user who gives themselves a role, where the document offers a field for it. */
export function ownRole(operation: Operation, operations: Operation[]): Draft[] {
  const { method, path, security, learned } = operation;
  if (!["PUT", "PATCH", "POST"].includes(method) || !isJson(operation)) return [];
  if (security.length === 0) return [];
  const fields = bodyFields(operation);
  const [role, schema] =
    fields.find(([name, one]) => ROLE.test(name) && typeOf(one) === "string") ??
      [];
  const read = operations.find((one) =>
    one.method === "GET" && one.learned &&
    (one.path === path || (!path.includes("{") && OWN.test(one.path)))
  );
  const user = fields.find(([name]) => USER.test(name))?.[0];
  const isOwn = learned?.owned || learned?.own_name || OWN.test(path) ||
    (user !== undefined && operation.known_user);
  if (role === undefined || !read || !isOwn) return [];
  const own = user !== undefined && operation.known_user ? { [user]: operation.known_user } : {};
  const as = read.learned!.as === null ? {} : { as: read.learned!.as };
  const allowed = Array.isArray(schema?.enum) ? schema.enum : ROLES;
  const roles = ROLES.filter((one) => allowed.includes(one));
  const before = "read it";
  return [tell(operation, {
    family: "own_role",
    title: `Giving oneself a role through ${nameOf(operation)}`,
    who: "A user sends the form of the administrators with their own name in it.",
    steps: [
      `Send ${nameOf(read)}`,
      `Send ${nameOf(operation)} with a higher ${role}`,
      "Read it again",
    ],
    chaos: ["The service asks whether somebody is logged in, and not who it is"],
    expected: "Nobody gives themselves more rights.",
    failures: ["Every user can become an administrator"],
    priority: "critical",
  }, {
    late: true,
    steps: [
      { ...sampleRequest(read), name: before, setup: true, expect: ["2xx"], ...as },
      ...roles.flatMap((value): PlaybookStep[] => [
        {
          ...sampleRequest(operation),
          body: JSON.stringify({ ...objectSample(operation), ...own, [role]: value }),
          name: `become "${value}"`,
          probe: true,
          ...as,
        },
        {
          ...sampleRequest(read),
          name: `read it after "${value}"`,
          granted: { unlike: before, member: role, value },
          ...as,
        },
      ]),
    ],
  })];
}
