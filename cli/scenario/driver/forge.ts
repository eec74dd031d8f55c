import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { z } from "zod";

/** A way to change a JSON Web Token that a correct service notices. */
export const Forgery = z.enum(["signature", "none", "weak_key", "expired", "audience", "endless"]);
export type Forgery = z.infer<typeof Forgery>;

const JWT = /\b(eyJ[\w-]+)\.(eyJ[\w-]+)\.([\w-]*)/;
const HASHES: Record<string, string> = { HS256: "sha256", HS384: "sha384", HS512: "sha512" };

/** Keys that guides, examples and lists of leaked keys contain. */
const WEAK_KEYS = [
  ...["secret", "secret123", "password", "123456", "12345678", "changeme", "change_me", "key"],
  ...["random", "jwt", "jwt_secret", "jwtsecret", "jwt-secret", "secretkey", "secret_key"],
  ...["secret-key", "supersecret", "super-secret", "super_secret", "mysecret", "my-secret", "test"],
  ...["your-256-bit-secret", "your_jwt_secret", "default", "admin", "qwerty", "private", "", "dev"],
];

/**
 * The headers with a forged token. Null where they hold no token that can be forged this way: no
 * JSON Web Token, or one whose key is not weak.
 */
export function forgedHeaders(
  headers: Record<string, string>,
  forgery: Forgery,
): Record<string, string> | null {
  let isForged = false;
  const changed = Object.entries(headers).map(([name, value]) => {
    const match = JWT.exec(value);
    const token = match && forgedToken([match[1]!, match[2]!, match[3]!], forgery);
    if (!token) return [name, value];
    isForged = true;
    return [name, value.replace(JWT, () => token)];
  });
  return isForged ? Object.fromEntries(changed) : null;
}

/** The weak key of the first token in the headers; null without one. */
export function weakKeyOf(headers: Record<string, string>): string | null {
  for (const value of Object.values(headers)) {
    const match = JWT.exec(value);
    const key = match && weakKey([match[1]!, match[2]!, match[3]!]);
    if (key !== null) return key;
  }
  return null;
}

type Parts = [head: string, claims: string, signature: string];

function forgedToken([head, claims, signature]: Parts, forgery: Forgery): string | null {
  if (forgery === "signature") {
    const last = signature.endsWith("AAAA") ? "BBBB" : "AAAA";
    return `${head}.${claims}.${signature.slice(0, -4)}${last}`;
  }
  if (forgery === "none") return `${encode({ alg: "none", typ: "JWT" })}.${claims}.`;
  const key = weakKey([head, claims, signature]);
  if (key === null) return null;
  const content = claimsFor(decode(claims), forgery);
  if (content === null) return null;
  const unsigned = `${head}.${encode(content)}`;
  return `${unsigned}.${sign(unsigned, key, head)}`;
}

/** The seconds of a year. */
const YEAR = 365 * 24 * 3_600;

/**
 * The claims with what the forgery changes. Null where the token names no audience to change, or
 * has an end.
 */
function claimsFor(claims: Record<string, unknown>, forgery: Forgery) {
  if (forgery === "expired") return { ...claims, exp: 1 };
  if (forgery === "weak_key") return { ...claims, forged: true };
  if (forgery === "endless") {
    const { exp, iat } = claims;
    return exp === undefined && typeof iat === "number" ? { ...claims, iat: iat - YEAR } : null;
  }
  return "aud" in claims ? { ...claims, aud: "https://another.example" } : null;
}

function weakKey([head, claims, signature]: Parts): string | null {
  if (!(decode(head).alg as string in HASHES)) return null;
  return WEAK_KEYS.find((key) => sign(`${head}.${claims}`, key, head) === signature) ?? null;
}

function sign(text: string, key: string, head: string): string {
  const hash = HASHES[String(decode(head).alg)] ?? "sha256";
  return createHmac(hash, key).update(text).digest("base64url");
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decode(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
