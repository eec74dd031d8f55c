/** The last part of a path that makes a record, or lists records, without naming any. */
const VERB = /\/(create|new|add|register|sign-?up|list|all|mine|my|search)$/i;

/**
 * The collection of a path: `/cards` for `/cards`, for `/cards/create` and for `/cards/{id}/pay`
 * where the parameter is `id`.
 */
export function collectionOf(path: string, parameter?: string): string {
  const at = parameter === undefined ? -1 : path.indexOf(`/{${parameter}}`);
  const base = at === -1 ? path.split("/{")[0]! : path.slice(0, at);
  return base.replace(/\/$/, "").replace(VERB, "");
}

/** True for names that differ in their case, dashes and underscores only. */
export function sameName(one: string, other: string): boolean {
  return plainName(one) === plainName(other);
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}

/** True for the path of a login. */
export function isLoginPath(path: string): boolean {
  return LOGIN.test(path);
}

const LOGIN = /\/(log-?in|sign-?in|sessions?|tokens?|auth|authenticate|session)\/?$/i;
