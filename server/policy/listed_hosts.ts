/** A host and the port that a command wants to reach. */
export interface Place {
  /** A name in lower case without a dot at its end, or an address. */
  host: string;
  /** Null if the port is unknown. */
  port: number | null;
}

/** Ports of a host that is listed without one. */
const USUAL = [80, 443];
const NAME =
  /^(\*\.)?[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/**
 * Reads `host`, `host:port` or `[address]:port`. Null for anything else. Only a list may have
 * `*.name`, which stands for the names below it.
 */
export function parsePlace(text: string): Place | null {
  const found = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(text);
  if (!found) {
    return text.includes("::") && /^[0-9a-f:.]+$/i.test(text)
      ? { host: text.toLowerCase(), port: null }
      : null;
  }
  const [, address, name, digits] = found;
  const host = (address ?? name ?? "").toLowerCase().replace(/\.$/, "");
  const port = digits === undefined ? null : Number(digits);
  if (port !== null && (port < 1 || port > 65_535)) return null;
  return address !== undefined || (host.length <= 253 && NAME.test(host)) ? { host, port } : null;
}

/** Whether a list of hosts names this place. With an unknown port, one of its ports suffices. */
export function isListed({ host, port }: Place, listed: readonly string[]): boolean {
  return listed.map(parsePlace).some((one) => {
    if (one === null) return false;
    const isHost = one.host.startsWith("*.") ? host.endsWith(one.host.slice(1)) : host === one.host;
    return isHost &&
      (port === null || (one.port === null ? USUAL.includes(port) : one.port === port));
  });
}
