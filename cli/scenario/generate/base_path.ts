import type { Operation } from "./operation.ts";

/**
 * Operations below the target's own base path: a recording has whole paths, and the base would
 * stand in them twice.
 */
export function belowBase(operations: Operation[], base: string): Operation[] {
  const isWhole = base !== "" && operations.every(({ path }) => path.startsWith(`${base}/`));
  return isWhole
    ? operations.map((one) => ({ ...one, path: one.path.slice(base.length) }))
    : operations;
}

/** What to tell whoever left out the path below which the document says that all is served. */
export function baseAdvice(operations: Operation[], target: string, base: string): string | null {
  const named = operations.find((one) => one.base)?.base;
  if (named === undefined || base.endsWith(named)) return null;
  const { source } = operations[0]!;
  return `${source} says that all is served below ${named}: ` +
    `if it is so here too, use --target ${target}${named}`;
}
