import { sha256 } from "../db/chain.ts";
import { canonical } from "../evidence/canonical.ts";

/** The digest that a person signs to accept a config. It covers the number, so no older text returns. */
export function acceptDigest(path: string, text_sha256: string, number: number): string {
  return sha256(canonical({ path, sha256: text_sha256, ...number > 0 && { number } }));
}

/** The request that a person signs to add a folder to a project that has others. */
export function rootAsked(project_id: string, root: string) {
  return { project_id, root };
}

/** The digest that a person signs to trust a project's `overrideGlobal`. */
export function trustDigest(project_id: string): string {
  return sha256(canonical({ overrideGlobal: true, project_id }));
}
