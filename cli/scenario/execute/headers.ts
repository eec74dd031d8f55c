/** Names of headers that say who somebody is. */
const CREDENTIAL = /^(authorization|proxy-authorization|cookie|x-.*(key|token|auth).*)$/i;

/** Both sets of headers; of one name, whatever its case, the second set's value wins. */
export function mergeHeaders(
  base: Record<string, string>,
  own: Record<string, string>,
): Record<string, string> {
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const kept = Object.entries(base).filter(([name]) => !taken.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...own };
}

/** True for a header whose value is nobody else's business. */
export function isCredential(name: string): boolean {
  return CREDENTIAL.test(name);
}

/** The headers without those that log somebody in. */
export function withoutCredentials(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIAL.test(name)));
}
