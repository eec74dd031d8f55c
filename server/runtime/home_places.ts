/** A socket's path may be no longer. */
const LONGEST_SOCKET = 100;

/** The daemon's unix socket; null where its path would be too long for one. Nothing is imported: `gate hook` waits. */
export function socketIn(home: string): string | null {
  const path = `${home}/run/gate.sock`;
  return new TextEncoder().encode(path).length <= LONGEST_SOCKET ? path : null;
}

/** The folder that holds a token for each scope, in a file of that name. */
export function tokensIn(home: string): string {
  return `${home}/tokens`;
}
