import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const UI = fileURLToPath(new URL("../../ui", import.meta.url));

// The page of an audit bundle loads its own style sheet alone.
const sheets = readdirSync(UI, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".css") && !path.startsWith("evidence"));

test("no class is styled in two parts of the dashboard", () => {
  const owners = new Map<string, Set<string>>();
  for (const path of sheets) {
    const text = readFileSync(join(UI, path), "utf8");
    for (const [, name] of text.matchAll(/^\s*\.([a-z][\w-]*)(?=\s*[,{])/gm)) {
      owners.set(name!, (owners.get(name!) ?? new Set()).add(path));
    }
  }
  expect(owners.size).toBeGreaterThan(100);
  const shared = [...owners].filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => `.${name} in ${[...paths].join(" and ")}`);
  expect(shared).toEqual([]);
});
