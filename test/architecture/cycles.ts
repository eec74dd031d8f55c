import type { Source } from "./source.ts";

type Graph = Map<string, string[]>;

/** Each ring of files that import one another, types included. */
export function findCycles(sources: readonly Source[]): string[] {
  return ringsOf(new Map(sources.map((source) => [source.path, filesOf(source)])));
}

/**
 * Each ring of features that import one another, types included. A feature is a folder of server/,
 * cli/, ui/ or dist/, or a file at their top.
 */
export function findFeatureCycles(sources: readonly Source[]): string[] {
  const graph: Graph = new Map();
  for (const source of sources.filter(({ path }) => !path.startsWith("test/"))) {
    const from = featureOf(source.path);
    const others = filesOf(source).map(featureOf).filter((to) => to !== from);
    graph.set(from, [...new Set([...graph.get(from) ?? [], ...others])]);
  }
  return ringsOf(graph);
}

function filesOf({ imports }: Source): string[] {
  return imports.flatMap(({ file }) => file ?? []);
}

function featureOf(path: string): string {
  return path.split("/").slice(0, 2).join("/");
}

/** The rings that a depth-first search finds, each as a line for a person. */
function ringsOf(graph: Graph): string[] {
  const done = new Set<string>();
  const rings: string[] = [];
  const visit = (node: string, trail: string[]) => {
    const seenAt = trail.indexOf(node);
    if (seenAt >= 0) rings.push([...trail.slice(seenAt), node].join(" → "));
    if (seenAt >= 0 || done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...trail, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return rings;
}
