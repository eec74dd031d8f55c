import { useLocation } from "preact-iso/router";

/** The values of the address that pages read; a value of null takes one out. */
export type Query = Record<string, string | undefined>;

/** The page's address as state: what is selected and filtered lives there and nowhere else. */
export function useAddress() {
  const { path, query, route } = useLocation();
  return {
    path,
    query: query as Query,
    /** Changes parts of the query in place, or as a new step of the history. */
    set(changes: Record<string, string | null>, options: { push?: boolean } = {}) {
      route(withQuery(path, query, changes), !options.push);
    },
    go(target: string, changes: Record<string, string | null> = {}) {
      route(withQuery(target, keep(query), changes));
    },
    /** An address on another page that keeps the project and the workspace. */
    href(target: string, changes: Record<string, string | null> = {}) {
      return withQuery(target, keep(query), changes);
    },
  };
}

/** The path with the query changed. */
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
