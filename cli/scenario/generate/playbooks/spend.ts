import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import { bodyFields, isJson, objectSample, type Operation, sampleRequest } from "../operation.ts";
import { QUERY_TYPE } from "../query_body.ts";
import { tell } from "./resource.ts";

const AMOUNT = /^amount$|_amount$|Amount$/;
const EARNS = /deposit|top-?up|request|loan|invoice|refund|fund/i;

/** One volley may miss the window. Each one that misses it leaves almost half of the balance. */
const VOLLEYS = 10;

/**
 * Spends just over half of the balance ten times at once, and the same with what is left. A small
 * amount may be paid many times; more than half only once, so one request more is the control.
 */
export function spendRace(
  operation: Operation,
  operations: Operation[],
  identities: readonly string[],
): Draft[] {
  const spends = operations.filter((one) => amountOf(one) !== undefined);
  const amount = amountOf(operation);
  const payer = payerOf(operation, spends.indexOf(operation), operations, identities);
  if (amount === undefined || payer === null) return [];
  const { as, balance, read, inPath } = payer;
  const sample = objectSample(operation);
  const isText = typeof sample[amount] === "string" || operation.body!.content_type === QUERY_TYPE;
  const stake = isText ? '"{{stake}}"' : "{{stake}}";
  const body = JSON.stringify({ ...sample, [amount]: MARK }).replace(`"${MARK}"`, stake);
  const look: PlaybookStep = {
    ...sampleRequest(read, inPath),
    name: "read the balance",
    setup: true,
    expect: ["2xx"],
    save: { stake: `over_half:${balance}` },
    as,
  };
  const spend: PlaybookStep = {
    ...sampleRequest(operation),
    body,
    name: "ten at once",
    race: 10,
    as,
  };
  return [tell(operation, {
    family: "spend_race",
    title: `Spending more than half of the balance ten times at once with ${nameOf(operation)}`,
    who: "A user presses Pay in ten tabs at the same moment.",
    steps: [
      `Read the ${balance} with ${nameOf(read)}`,
      `Send ten identical ${nameOf(operation)} with just over half of it`,
      "Where several succeed, send one more",
      "Else do the same with what is left",
    ],
    chaos: ["All ten read the balance before the first has changed it"],
    expected: "One request succeeds; for the others there is too little left.",
    failures: ["More is spent than was there"],
    priority: "critical",
  }, {
    late: true,
    steps: [
      look,
      { ...spend, needs_winner: true },
      ...Array.from({ length: VOLLEYS - 1 }, () => [{ ...look, optional: true }, spend]).flat(),
    ],
  })];
}

const MARK = "the stake";

/** The field that says how much a login pays; undefined for an operation that pays nothing. */
function amountOf(operation: Operation): string | undefined {
  const { learned, method, path } = operation;
  if (method !== "POST" || !learned?.as || !isJson(operation) || EARNS.test(path)) return undefined;
  const sample = objectSample(operation);
  return bodyFields(operation).find(([name]) =>
    AMOUNT.test(name) && Number.isFinite(Number(sample[name]))
  )?.[0];
}

interface Payer {
  as: string;
  /** The member of the answer to `read` that says how much there is. */
  balance: string;
  read: Operation;
  /** The values in the path of `read`, where they are another login's. */
  inPath: Record<string, string>;
}

/**
 * The login that pays in the n-th race: a race that shows leaves nothing for the next one, so that
 * one is paid by another login whose balance can be read. Null where no balance can be read.
 */
function payerOf(
  { learned }: Operation,
  n: number,
  operations: Operation[],
  identities: readonly string[],
): Payer | null {
  const own = learned?.as;
  const read = operations.find((one) =>
    one.method === "GET" && one.learned?.as === own && one.learned?.balance !== undefined
  );
  if (!own || !read) return null;
  const { balance = "", others = {} } = read.learned!;
  const other = [own, ...identities.filter((name) => name !== own)][n] ?? own;
  const inPath = others[other] ?? {};
  const isReadable = !read.path.includes("{") || Object.keys(inPath).length > 0;
  return other === own || !isReadable
    ? { as: own, balance, read, inPath: {} }
    : { as: other, balance, read, inPath };
}
