import { type Draft, nameOf } from "../family.ts";
import { bodyFields, bodyWith, isJson, type Operation, sampleRequest } from "../operation.ts";
import { tell } from "./resource.ts";

/** Fields that may name what belongs to somebody else: a payment goes to another one's account. */
const MEANT = /(^|_)(to|recipient|receiver|dest|target|payee|user|member|friend|customer|owner)/i;

/** Another user names in their own request what the rehearsal has shown to be the first one's own. */
export function foreignReference(operation: Operation, identities: readonly string[]): Draft[] {
  const { learned, method, security } = operation;
  const [owner, fields] = [learned?.as, learned?.own_references ?? []];
  const other = identities.find((name) => name !== owner);
  if (!owner || other === undefined || security.length === 0 || !isJson(operation)) return [];
  if (!["POST", "PUT", "PATCH"].includes(method)) return [];
  const schemas = Object.fromEntries(bodyFields(operation));
  const own = learned!.others?.[other] ?? {};
  const request = sampleRequest(operation, own);
  return fields.filter(({ name }) => !MEANT.test(name)).slice(0, 2).map(({ name, value }) => {
    const nothing = /^\d+$/.test(value)
      ? value.replaceAll(/\d/g, "9")
      : /^[\da-f-]{36}$/i.test(value)
      ? "ffffffff-ffff-4fff-8fff-ffffffffffff"
      : "no-such-thing";
    const isNumber = ["integer", "number"].includes(String(schemas[name]?.type));
    const unknown = `${other} names a ${name} that nobody has`;
    return tell(operation, {
      family: "foreign_reference",
      title: `Using a ${name} of ${owner} in ${nameOf(operation)}`,
      who: "Bob writes the number of somebody else's card, address or order into his own request.",
      preconditions: ["Two users who share nothing (--as alice=… --as bob=…)"],
      steps: [`${owner} sends it`, unknown, `${other} names the ${name} of ${owner}`],
      chaos: ["The service looks whether there is such a record, and not whose it is"],
      expected: `A ${name} of somebody else is refused like one that nobody has.`,
      failures: ["Bob pays with the card of Alice, or sends his order to her"],
      priority: "critical",
    }, {
      identities: [owner, other],
      steps: [
        {
          ...sampleRequest(operation),
          name: `${owner} sends it`,
          setup: true,
          expect: ["2xx"],
          as: owner,
        },
        {
          ...request,
          body: bodyWith(operation, { [name]: isNumber ? Number(nothing) : nothing }),
          name: unknown,
          probe: true,
          as: other,
        },
        {
          ...request,
          name: `${other} names the ${name} of ${owner}`,
          accepts_unlike: unknown,
          as: other,
        },
      ],
    });
  });
}
