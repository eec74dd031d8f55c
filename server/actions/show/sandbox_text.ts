import type { Sandbox } from "../../policy/schema.ts";

/** What a sandbox is, for a person who reads the word for the first time. */
export const SANDBOX_MEANS =
  "A sandbox is a closed room for one command: the system itself keeps it from everything else, " +
  "whatever the command does.";

/** What a sandbox takes from its command: `no network; .env, 12 other names and … are hidden`. */
export function describeSandbox({ network, hosts = [], masked }: Sandbox): string {
  const names = masked.filter((one) => one !== "~" && !COUNT.test(one));
  const counted = Number(masked.map((one) => COUNT.exec(one)?.[1]).find(Boolean) ?? 0);
  const [first] = names;
  const more = names.length - 1 + counted;
  const hidden = [
    ...first === undefined ? [] : [first],
    ...more > 0 ? [more === 1 ? "1 other name" : `${more} other names`] : [],
    ...masked.includes("~") ? ["your home folder"] : [],
  ];
  const last = hidden.pop();
  const list = hidden.length > 0 ? `${hidden.join(", ")} and ${last}` : last;
  const reach = network === "all"
    ? "with the network"
    : hosts.length > 0
    ? `no network but ${hosts.join(", ")}`
    : "no network";
  if (list === undefined) return reach;
  return `${reach}; ${list} ${hidden.length === 0 && more <= 0 ? "is" : "are"} hidden`;
}

const COUNT = /^and (\d+) more$/;
