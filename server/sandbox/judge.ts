import { basename } from "node:path";
import { createGrowingCache } from "../growing_cache.ts";
import { type CompiledPolicy, layersOf, type Surroundings } from "../policy/evaluate.ts";
import { meter } from "../policy/meter.ts";
import { matchPath, namePath } from "../policy/path_match.ts";
import { isInDependencies, isProtectedName } from "../policy/protect.ts";
import { isLoaded } from "./loaded_names.ts";

/** The meaning of a rule for a file in the sandbox. */
export type Fate = "hidden" | "read_only";

/** The fate of a path on the disk; null if no rule is about it. */
export type Judge = (path: string) => Fate | null;

const PROTECTED = createGrowingCache<boolean>(20_000);

/**
 * The judge of these rules: what a rule blocks is hidden, what a rule asks about or gate protects is
 * read-only. A doubt counts as a match.
 */
export function judgeOf(compiled: CompiledPolicy, around: Surroundings): Judge {
  const layers = layersOf(compiled, around).map(({ layer, options }) => ({
    index: layer.compiled.paths,
    roots: options.roots,
  }));
  return (path) => {
    let fate: Fate | null = null;
    for (const { index, roots } of layers) {
      meter.reset();
      const names = namePath(path, roots, around.user_home);
      for (const { effect, compiled, rule } of index.candidates([names])) {
        if (effect === "allow" || (effect === "ask" && fate !== null)) continue;
        if (PUBLIC.test(path) && !rule.pattern.includes("/")) continue;
        if (matchPath(compiled, names, true) === "no") continue;
        if (effect === "deny") return "hidden";
        fate = "read_only";
      }
    }
    return fate ??
      (isProtected(path, around.roots) || isOwnLoaded(path, around.roots) ? "read_only" : null);
  };
}

/**
 * The certificates of the public authorities in a Python environment, which are no secret and without
 * which `pip` reaches nothing. A rule about names, such as `*.pem`, does not mean them.
 */
const PUBLIC = /\/(site|dist)-packages\/([^/]+\/)*certifi\/cacert\.pem$/;

/** Whether a program of a person loads the file by itself, and it is no file of a dependency. */
function isOwnLoaded(path: string, roots: readonly string[]): boolean {
  return isLoaded(path) && !isOfDependency(path, roots);
}

/** Whether gate protects the file by its name, and it is no file of a dependency. */
export function isProtected(path: string, roots: readonly string[]): boolean {
  const name = basename(path);
  let known = PROTECTED.get(name);
  if (known === undefined) PROTECTED.set(name, known = isProtectedName(name));
  // Git also takes the settings that a dependency's `.git` names, when it looks at the project.
  return known && (name === ".git" || !isOfDependency(path, roots));
}

/** Only the part below a project tells: the project itself may lie in a folder with such a name. */
function isOfDependency(path: string, roots: readonly string[]): boolean {
  const root = roots.find((one) => path.startsWith(`${one}/`));
  return isInDependencies(root === undefined ? path : path.slice(root.length));
}
