import type { Source } from "./source.ts";

/** Each ring of files that import one another at run time, named once. */
export function findCycles(sources: readonly Source[]): string[] {
  const graph = new Map(sources.map((source) => [source.path, edgesOf(source)]));
  const done = new Set<string>();
  const rings: string[] = [];
  const visit = (path: string, trail: string[]) => {
    const seenAt = trail.indexOf(path);
    if (seenAt >= 0) rings.push([...trail.slice(seenAt), path].join(" → "));
    if (seenAt >= 0 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return rings;
}

// Types may look at one another in a ring: nothing of that is left at run time.
function edgesOf(source: Source): string[] {
  return source.imports.flatMap(({ file, isType }) => file && !isType ? [file] : []);
}
