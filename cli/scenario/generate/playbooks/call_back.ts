import { type Draft, nameOf } from "../family.ts";
import {
  bodyFields,
  bodyWith,
  hasFields,
  objectSample,
  type Operation,
  sampleRequest,
} from "../operation.ts";
import { tell } from "./resource.ts";

/** Fields and parameters that hold an address. */
const ADDRESS =
  /(^|_|-)(url|uri|link|href|webhook|callback|feed|endpoint)$|(Url|Uri|URL|URI|Webhook|Callback)$/;
/** The most places of one operation that are tried. */
const PLACES = 2;

/** Names an address of the server's own machine where an address is asked for. */
export function callBack(operation: Operation): Draft[] {
  const request = sampleRequest(operation);
  return placesOf(operation, request).slice(0, PLACES).map(({ name, ...changed }) =>
    tell(operation, {
      family: "call_back",
      title: `Making the server call its own machine through ${name} of ${nameOf(operation)}`,
      who: "A user types an address that only the server can reach.",
      preconditions: ["The target runs on the machine of this tool"],
      steps: [
        `Send ${nameOf(operation)} as usual`,
        `Send it with an address of the loopback interface as ${name}`,
      ],
      chaos: ["The server opens every address that it is given"],
      expected: "Addresses of the own machine and network are refused.",
      failures: ["Services behind the firewall answer strangers", "Keys of the cloud are read"],
      priority: "critical",
    }, {
      steps: [
        { ...request, name: "as usual", probe: true },
        { ...request, ...changed, name: `an own address as ${name}`, calls_unlike: "as usual" },
      ],
    })
  );
}

function placesOf(operation: Operation, { path }: { path: string }) {
  const inQuery = operation.parameters.filter((one) =>
    one.in === "query" && isAddress(one.name, one.schema, one.sample)
  ).map((parameter) => {
    const parameters = operation.parameters.filter((one) => one !== parameter);
    const without = sampleRequest({ ...operation, parameters }).path;
    const mark = without.includes("?") ? "&" : "?";
    const whole = `${without}${mark}${encodeURIComponent(parameter.name)}={{listener}}`;
    return { name: parameter.name, path: whole };
  });
  if (!hasFields(operation)) return inQuery;
  const sample = objectSample(operation);
  const inBody = bodyFields(operation).filter(([name, schema]) =>
    isAddress(name, schema, sample[name])
  ).map(([name]) => ({ name, path, body: bodyWith(operation, { [name]: "{{listener}}" }) }));
  return [...inQuery, ...inBody];
}

function isAddress(name: string, { format }: { format?: unknown }, sample: unknown): boolean {
  if (sample !== undefined && typeof sample !== "string") return false;
  return format === "uri" || format === "url" || ADDRESS.test(name) ||
    /^https?:\/\//.test(sample ?? "");
}
