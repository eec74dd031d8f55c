import { type Draft, nameOf } from "../family.ts";
import { bodyFields, isJson, objectSample, type Operation, sampleRequest } from "../operation.ts";
import { QUERY_TYPE } from "../query_body.ts";
import { tell } from "./resource.ts";

const AMOUNT = /^amount$|_amount$|Amount$/;
const EARNS = /deposit|top-?up|request|loan|invoice|refund|fund/i;

/**
 * Spends everything that the login has ten times at once. A small amount may be paid many times; all
 * of it only once, so one request more afterwards is the control.
 */
export function spendRace(operation: Operation, operations: Operation[]): Draft[] {
  const { learned, method, path } = operation;
  if (method !== "POST" || !learned?.as || !isJson(operation) || EARNS.test(path)) return [];
  const sample = objectSample(operation);
  const [amount] =
    bodyFields(operation).find(([name]) =>
      AMOUNT.test(name) && Number.isFinite(Number(sample[name]))
    ) ?? [];
  const read = operations.find((one) =>
    one.method === "GET" && one.learned?.as === learned.as && one.learned.balance !== undefined
  );
  if (amount === undefined || !read) return [];
  const as = learned.as;
  const isText = typeof sample[amount] === "string" || operation.body!.content_type === QUERY_TYPE;
  const whole = isText ? '"{{money}}"' : "{{money}}";
  const body = JSON.stringify({ ...sample, [amount]: MARK }).replace(`"${MARK}"`, whole);
  return [tell(operation, {
    family: "spend_race",
    title: `Spending everything ten times at once with ${nameOf(operation)}`,
    who: "A user presses Pay in ten tabs at the same moment.",
    steps: [
      `Read the ${read.learned!.balance} with ${nameOf(read)}`,
      `Send ten identical ${nameOf(operation)} with all of it`,
      "Send one more",
    ],
    chaos: ["All ten read the balance before the first has changed it"],
    expected: "One request succeeds; for the others there is no money left.",
    failures: ["More is spent than was there"],
    priority: "critical",
  }, {
    late: true,
    steps: [
      {
        ...sampleRequest(read),
        name: "read the balance",
        setup: true,
        expect: ["2xx"],
        save: { money: `find:${read.learned!.balance}` },
        as,
      },
      { ...sampleRequest(operation), body, name: "ten at once", race: 10, needs_winner: true, as },
    ],
  })];
}

const MARK = "all of it";
