import type { Schema } from "./operation.ts";

/** Follows local `$ref`s; a reference that leads nowhere, or in a circle, is an empty object. */
export function createResolver(document: unknown): (value: unknown) => Schema {
  return (value) => {
    const seen = new Set<string>();
    let current = value;
    while (isObject(current) && typeof current.$ref === "string") {
      if (seen.has(current.$ref)) return {};
      seen.add(current.$ref);
      current = lookUp(document, current.$ref);
    }
    return isObject(current) ? current : {};
  };
}

/** True for an object that is no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function lookUp(document: unknown, reference: string): unknown {
  if (!reference.startsWith("#/")) return {};
  let current = document;
  for (const token of reference.slice(2).split("/")) {
    const key = decode(token).replaceAll("~1", "/").replaceAll("~0", "~");
    const children: unknown = current;
    current = isObject(children) && Object.hasOwn(children, key) ? children[key] : undefined;
  }
  return current;
}

function decode(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
