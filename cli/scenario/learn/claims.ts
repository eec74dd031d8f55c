import { Buffer } from "node:buffer";
import { isObject } from "../json.ts";

const JWT = /\b(eyJ[\w-]+)\.(eyJ[\w-]+)\.[\w-]*/;
/** Claims about the token, not about its owner. */
const OF_TOKEN = new Set(["exp", "iat", "nbf", "jti", "aud", "iss", "alg", "typ"]);

/** The claims of the first JSON Web Token in a text that name its owner. `sub` is a user name too. */
export function claimsOf(text: string): Record<string, string> {
  const payload = JWT.exec(text)?.[2];
  if (payload === undefined) return {};
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    if (!isObject(claims)) return {};
    const own = Object.entries(claims).filter(([name, value]) =>
      !OF_TOKEN.has(name) && ["string", "number"].includes(typeof value)
    );
    const named = own.map(([name, value]) => [name, String(value)]);
    const { sub } = Object.fromEntries(named);
    if (sub === undefined) return Object.fromEntries(named);
    const role = /^\d+$|^[0-9a-f-]{36}$/i.test(sub) ? "user_id" : "username";
    return { [role]: sub, ...Object.fromEntries(named) };
  } catch {
    return {};
  }
}
