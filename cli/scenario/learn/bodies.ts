import { bodyFields, type Operation, type Parameter, type Schema } from "../generate/operation.ts";
import { QUERY_TYPE } from "../generate/query_body.ts";
import { isObject } from "../json.ts";
import { typeOf } from "../generate/sample.ts";

type Body = Record<string, unknown>;

/**
 * The bodies to try, the likeliest first: the sample with new and known values, the required fields
 * alone, the sample as it is documented. One `undefined` stands for an operation without a body.
 */
export function bodyVariants(
  operation: Operation,
  given: (name: string) => string | null,
  { known, found }: Record<"known" | "found", (name: string) => string | null>,
): (unknown | undefined)[] {
  const sample = operation.body?.sample;
  if (!operation.body) return [undefined];
  if (!isObject(sample)) return [sample];
  const schemas = Object.fromEntries(bodyFields(operation));
  const isCreate = makesRecord(operation);
  const filled = (body: Body, unique: boolean, reference = known): Body =>
    Object.fromEntries(
      Object.entries(body).map(([name, value]) => {
        const schema = schemas[name] ?? {};
        const own = given(name);
        const isPlain = typeof value !== "object" || value === null;
        if (own !== null && isPlain) return [name, typed(own, schema, value)];
        const other = REFERENCE.test(name) && !schema.enum ? reference(name) : null;
        if (other !== null) return [name, typed(other, schema, value)];
        const user = !isCreate && USER.test(name) ? known(name) : null;
        if (user !== null && unique) return [name, typed(user, schema, value)];
        if (unique && AMOUNT.test(name)) return [name, smallAmount(value, schema)];
        const inside = withGiven(value, given);
        return [name, unique && isCreate ? uniqueValue(name, inside, schema) : inside];
      }),
    );
  const { required } = operation.body.schema;
  const names = new Set(Array.isArray(required) ? required : []);
  const least = Object.fromEntries(Object.entries(sample).filter(([name]) => names.has(name)));
  const all = filled(sample, true);
  const some = names.size > 0 && names.size < Object.keys(sample).length
    ? [filled(least, true)]
    : [];
  // A query often holds one of several switches; a body is one form.
  const isQuery = operation.body.content_type === QUERY_TYPE;
  // A product that was just made has no stock, and an account no money.
  const older = filled(sample, true, found);
  const variants = isQuery ? [...some, all, older, sample] : [all, ...some, older, sample];
  const texts = variants.map((one) => JSON.stringify(one));
  return variants.filter((_one, n) => texts.indexOf(texts[n]!) === n);
}

/** A value in which the members that a person gave have that value, however deep. */
function withGiven(value: unknown, given: (name: string) => string | null): unknown {
  if (Array.isArray(value)) return value.map((one) => withGiven(one, given));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const own = given(name);
      const isPlain = typeof inner === "string" || typeof inner === "number";
      return [name, own !== null && isPlain ? typed(own, {}, inner) : withGiven(inner, given)];
    }),
  );
}

/** The operation with the n-th value of each parameter and a body. */
export function withValues(
  operation: Operation,
  choices: { parameter: Parameter; values: string[] }[],
  at: number,
  body: unknown,
): Operation {
  const parameters = choices.map(({ parameter, values }) => {
    const value = values[Math.min(at, values.length - 1)];
    return value === undefined ? parameter : { ...parameter, sample: value };
  });
  if (!operation.body || body === undefined) return { ...operation, parameters };
  return { ...operation, parameters, body: { ...operation.body, sample: body } };
}

/** Fields that name another record, whose value the document cannot know. */
const REFERENCE = /((_id|Id|_ref|_uuid)(_\d)?|_number|Number)$|^(account|owner|user)$/;
/** True for a field that names another record. */
export function isReference(name: string): boolean {
  return REFERENCE.test(name);
}

/** Fields that name the user, who must exist unless the request makes one. */
const USER = /^(user_?name|email|e_?mail|phone_?number)$/i;
const AMOUNT = /^(amount|quantity|qty|units)$|_(amount|quantity)$|(Amount|Quantity)$/;

/** One, or the least allowed: a sample of the whole balance would work only once. */
function smallAmount(value: unknown, { minimum }: Schema): unknown {
  const least = Math.max(1, Number(minimum) || 1);
  return typeof value === "number" && value > least ? least : value;
}

/** Fields that a second record may not share. */
const UNIQUE =
  /^(e?_?mail|email_?address|user_?name|login|handle|slug|code|sku|isbn|nick_?name|name|title|label)$|([a-z]_|[a-z](?=[NT]))(name|title|Name|Title)$/;
const NOT_MADE = /(log-?in|sign-?in|token|auth|password|reset|verify|search|logout)/i;

/** True for a POST that makes a record, so that its values must be new. */
function makesRecord({ method, path }: Operation): boolean {
  return method === "POST" && !NOT_MADE.test(path);
}

function uniqueValue(name: string, value: unknown, schema: Schema): unknown {
  if (typeof value !== "string" || schema.enum || schema.pattern || !UNIQUE.test(name)) {
    return value;
  }
  if (/first|last|full|real/i.test(name)) return value;
  const isMail = schema.format === "email" || /mail/i.test(name);
  if (!isMail && schema.format !== undefined) return value;
  const made = isMail ? "u{{uniq}}@example.com" : "u{{uniq}}";
  return Number(schema.maxLength ?? Infinity) < 30 ? value : made;
}

/** A text as the type that the schema or the sample has. */
function typed(text: string, schema: Schema, sample: unknown): unknown {
  const type = schema.type === undefined ? typeof sample : typeOf(schema);
  const number = Number(text);
  if (["integer", "number"].includes(type) && Number.isFinite(number)) return number;
  if (type === "boolean") return text === "true";
  return text;
}
