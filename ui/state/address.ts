import { useLocation } from "preact-iso/router";

/** The query parameters that pages read. */
type Query = Record<string, string | undefined>;

/** The page's URL as state: it is the only place for selection and filters. */
export function useAddress() {
  const { path, query, route } = useLocation();
  return {
    path,
    query: query as Query,
    /** Changes query parameters; null removes one. `push` adds a history entry. */
    set(changes: Record<string, string | null>, options: { push?: boolean } = {}) {
      route(withQuery(path, query, changes), !options.push);
    },
    go(target: string, changes: Record<string, string | null> = {}) {
      route(withQuery(target, keep(query), changes));
    },
    /** The URL of another page with the same project and workspace. */
    href(target: string, changes: Record<string, string | null> = {}) {
      return withQuery(target, keep(query), changes);
    },
  };
}

function withQuery(path: string, query: Query, changes: Record<string, string | null>) {
  const merged = { ...query, ...changes };
  const entries = Object.entries(merged).filter((entry): entry is [string, string] =>
    typeof entry[1] === "string" && entry[1] !== ""
  );
  const text = new URLSearchParams(entries).toString();
  return text === "" ? path : `${path}?${text}`;
}

function keep(query: Query): Query {
  return { project: query["project"], workspace: query["workspace"] };
}
