import { ToolError } from "../errors.ts";
import { sendRequest } from "../execute/http.ts";
import { parseTarget } from "../execute/target.ts";

const TIMEOUT_MS = 15_000;
const DOCUMENT_BYTES = 8 * 1024 * 1024;

/** What the fetch of a document needs of the run. */
export interface FetchOptions {
  target?: string;
  header?: Record<string, string>;
  insecure?: true;
  /** Fills in secrets. */
  fill?: (text: string) => string;
}

/**
 * The document that the target serves about itself. Only the target is asked: a run sends nothing to
 * any other host. @throws ToolError
 */
export async function fetchSpec(url: string, options: FetchOptions): Promise<string> {
  const { origin, pathname, search } = new URL(url);
  const target = options.target === undefined ? null : parseTarget(options.target);
  if (!target || new URL(target.url).origin !== origin) {
    throw new ToolError(`Cannot fetch "${url}": it is not on the target`, {
      next: "save the document and give the file, or name the same host as --target",
    });
  }
  const { fill = (text) => text } = options;
  const filled = Object.entries(options.header ?? {}).map(([name, value]) => [name, fill(value)]);
  const headers: Record<string, string> = Object.fromEntries(filled);
  const request = { method: "GET", path: pathname + search, headers };
  const place = { ...target, base: "" };
  const insecure = options.insecure ?? false;
  const limits = { timeout_ms: TIMEOUT_MS, keep_bytes: DOCUMENT_BYTES, insecure };
  const exchange = await sendRequest(place, request, limits);
  if (exchange.error === null && exchange.status === 200) return exchange.body;
  const why = exchange.error ?? `it answered ${exchange.status}`;
  throw new ToolError(`Cannot fetch "${url}": ${why}`);
}
