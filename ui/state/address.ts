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
      // A late answer to a request must not bring back the address of its time.
      const now = Object.fromEntries(new URLSearchParams(location.search));
      route(withQuery(location.pathname, now, changes), !options.push);
    },
    /** Changes query parameters of this history entry, without drawing the page again. */
    note(changes: Record<string, string>) {
      history.replaceState(null, "", withQuery(path, query, changes));
    },
    go(target: string, changes: Record<string, string | null> = {}) {
      route(withQuery(target, keep(query), changes));
    },
    /** The URL of another page with the same project, workspace and scope. */
    href(target: string, changes: Record<string, string | null> = {}) {
      return withQuery(target, keep(query), changes);
    },
  };
}

/** The part of an address that selects a held action without leaving the chosen project. */
export function cardOf(
  { id, project_id }: { id: string; project_id: string },
  { project }: Query,
): Record<string, string | null> {
  return { id, scope: project && project !== project_id ? "all" : null };
}

/** The address of the list that holds this record; a list's own address stays. */
export function listPath(path: string): string {
  return /^\/(?:actions|sessions)(?=\/)/.exec(path)?.[0] ?? path;
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
  return { project: query["project"], workspace: query["workspace"], scope: query["scope"] };
}
