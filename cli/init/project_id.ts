import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename } from "node:path";

/** The id of a folder that names none: its name and 8 hex digits of its real path. */
export function defaultProjectId(root: string): string {
  const real = realpathSync(root);
  const digits = createHash("sha256").update(real).digest("hex").slice(0, 8);
  const name = basename(real).replaceAll(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
  return `${name.slice(0, 48) || "project"}-${digits}`;
}
