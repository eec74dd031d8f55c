import type { HttpExchange } from "../../execute/http.ts";
import { valueAt } from "../../json.ts";
import { deepMember } from "../compare.ts";

/**
 * The value that a `save` of a playbook names; null where the answer lacks it.
 * - `header:Location` is the last segment of that path, any other header its whole value.
 * - `body:/id` is a member of the JSON answer, encoded for a path; `text:/token` is not encoded.
 * - `find:id` is a member of the answer at any depth, `sent:id` one of the body `sent`.
 * - `over_half:balance` is the least whole number above half of that member.
 */
export function savedValue(exchange: HttpExchange, from: string, sent = ""): string | null {
  const [kind, what = ""] = from.split(/:(.*)/s);
  if (kind === "find" || kind === "sent") {
    const found = deepMember(kind === "find" ? exchange.body : sent, what);
    return found === null ? null : encodeURIComponent(found);
  }
  if (kind === "over_half") return overHalf(Number(deepMember(exchange.body, what) ?? NaN));
  if (kind === "header") {
    const sought = what.toLowerCase();
    const header = exchange.headers.find(([name]) => name.toLowerCase() === sought)?.[1];
    if (header === undefined || !/^location$/i.test(what)) return header ?? null;
    return (header.split(/[?#]/)[0] ?? "").split("/").findLast((part) => part !== "") ?? null;
  }
  try {
    const value = valueAt(JSON.parse(exchange.body), what);
    if (!["string", "number"].includes(typeof value)) return null;
    return kind === "text" ? String(value) : encodeURIComponent(String(value));
  } catch {
    return null;
  }
}

/** The least whole number above half of an amount; null where it is more than the amount. */
function overHalf(amount: number): string | null {
  const half = Math.floor(amount / 2) + 1;
  return half <= amount && Number.isSafeInteger(half) ? String(half) : null;
}
