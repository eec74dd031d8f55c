import type { Scenario } from "../schema.ts";
import { mergeHeaders, withoutCredentials } from "./headers.ts";
import type { HttpRequest } from "./http.ts";
import { fillUniq } from "./uniq.ts";

/** What turns a request of a scenario into the one that is sent. */
export interface RequestOptions {
  /** Sent with every request; a scenario's own header of the same name wins. */
  headers: Record<string, string>;
  /** Who sends what names nobody else: the headers of the first `--as`. */
  identity: Record<string, string>;
  /** Fills in what only the target may see. */
  fill: (text: string) => string;
  /** A new value for `{{uniq}}`. */
  uniq: () => string;
}

/** A request whose headers may be missing. */
export type RequestDraft = Omit<HttpRequest, "headers"> & Partial<Pick<HttpRequest, "headers">>;

/** The request that a scenario in http mode sends. */
export function requestOf(
  { exec }: Scenario,
  options: RequestOptions,
  uniq = options.uniq(),
): HttpRequest {
  const { method = "GET", path = "", headers = {}, body, anonymous } = exec!;
  return prepareRequest({ method, path, headers, body }, options, { uniq, anonymous });
}

/** A request with everything filled in; `anonymous` leaves the credentials of the run out. */
export function prepareRequest(
  { method, path, headers = {}, body }: RequestDraft,
  options: Omit<RequestOptions, "uniq">,
  { uniq, anonymous = false }: { uniq: string; anonymous?: boolean },
): HttpRequest {
  const fill = (text: string) => options.fill(fillUniq(text, uniq));
  const base = anonymous
    ? withoutCredentials(options.headers)
    : mergeHeaders(options.identity, options.headers);
  const filled = Object.entries(mergeHeaders(base, headers)).map((
    [name, value],
  ) => [name, fill(value)]);
  return {
    method,
    path: fill(path),
    headers: Object.fromEntries(filled),
    body: body === undefined ? undefined : fill(body),
  };
}
