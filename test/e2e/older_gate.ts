import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "../../server/constants.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The version that the older gate reports, and that of the newer one. */
export const OLDER_VERSION = "4.99.0";
export const NEWER_VERSION = "99.0.0";

/** Writes this program into `folder` with an older version number. Returns its command line. */
export function olderGate(folder: string): string[] {
  return otherGate(folder, [numbered(OLDER_VERSION)]);
}

/** Writes this program into `folder` as a later release, which adds a version to the ledger's schema. */
export function newerGate(folder: string, schema: { is_additive: boolean; sql: string }): string[] {
  const { is_additive, sql } = schema;
  const added = `{ version: LEDGER_MIGRATIONS.at(-1).version + 1, is_additive: ${is_additive},
    statements: [${JSON.stringify(sql)}] }`;
  return otherGate(folder, [numbered(NEWER_VERSION), {
    from: "function countsAsDone(",
    to: `LEDGER_MIGRATIONS.push(${added});\nfunction countsAsDone(`,
  }]);
}

interface Edit {
  from: string;
  to: string;
}

function numbered(version: string): Edit {
  return { from: JSON.stringify(VERSION), to: JSON.stringify(version) };
}

/** Writes this program into `folder` with the edits, each of which must fit exactly one place. */
function otherGate(folder: string, edits: Edit[]): string[] {
  const built = join(ROOT, "dist/node");
  cpSync(built, folder, { recursive: true, filter: (path) => !path.endsWith(".map") });
  for (const { from, to } of edits) {
    const changed = readdirSync(folder).flatMap((name) => {
      const path = join(folder, name);
      const parts = readFileSync(path, "utf8").split(from);
      if (parts.length > 1) writeFileSync(path, parts.join(to));
      return Array.from(parts.slice(1), () => name);
    });
    if (changed.length !== 1) throw new Error(`${from} stands in ${changed.join(", ") || "none"}`);
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return ["node", join(folder, "gate.mjs")];
}
