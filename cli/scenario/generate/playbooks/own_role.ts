import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import { bodyFields, isJson, objectSample, type Operation, sampleRequest } from "../operation.ts";
import { QUERY_TYPE } from "../query_body.ts";
import { typeOf } from "../sample.ts";
import { tell } from "./resource.ts";

const ROLE = /^(user_?)?(role|rights|privileges?|access_?level|user_?type)$/i;
const USER = /^(user_?name|login|user|e_?mail)$/i;
/** The same as a switch. */
const SWITCH = /^(is_?)?(admin|staff|super_?user|root)$/i;
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
  const fields = bodyFields(operation);
  const [role, schema] =
    fields.find(([name, one]) =>
      typeOf(one) === "boolean" ? SWITCH.test(name) : ROLE.test(name) && typeOf(one) === "string"
    ) ?? [];
  if (security.length === 0 && !learned?.own_name) return [];
  const read = operations.find((one) =>
    one.method === "GET" && one.learned &&
    (one.path === path || (!path.includes("{") && OWN.test(one.path)))
  );
  const user = fields.find(([name]) => USER.test(name))?.[0];
  const isOwn = learned?.owned || learned?.own_name || OWN.test(path) ||
    (user !== undefined && operation.known_user);
  if (role === undefined || !read || !isOwn) return [];
  const own = user !== undefined && operation.known_user ? { [user]: operation.known_user } : {};
  // A query holds what changes, and no more.
  const isQuery = operation.body!.content_type === QUERY_TYPE;
  const rest = isQuery ? {} : { ...objectSample(operation), ...own };
  const own_path = learned?.own_name;
  const self = own_path ? { [own_path.name]: encodeURIComponent(own_path.value) } : {};
  const as = read.learned!.as === null ? {} : { as: read.learned!.as };
  const allowed = Array.isArray(schema?.enum) ? schema.enum : ROLES;
  const isSwitch = typeOf(schema ?? {}) === "boolean";
  const roles = isSwitch ? [true] : ROLES.filter((one) => allowed.includes(one));
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
          ...sampleRequest(operation, self),
          body: JSON.stringify({ ...rest, [role]: value }),
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
