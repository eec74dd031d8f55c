import { join } from "node:path";
import { isWithin } from "../bubblewrap.ts";
import type { Mount } from "../schema.ts";
import type { CopiedRoot, ProjectCopy } from "./copy_project.ts";

/**
 * The mounts of a sandbox with the copy in the place of the project. Git's folders are read-only, in
 * the project and outside it.
 */
export function onCopy(
  mounts: readonly Mount[],
  { roots }: ProjectCopy,
  outer_git: readonly string[],
): Mount[] {
  const git = [...roots.flatMap((root) => root.git), ...outer_git];
  const placed = mounts.flatMap((mount): Mount[] => {
    const { at, as } = mount;
    if (as !== "writable" || mount.from !== undefined) return [mount];
    const own = git.find((folder) => isWithin(at, folder));
    if (own !== undefined) return at === own ? [{ at, as: "read_only" }] : [];
    const root = roots.find((one) => isWithin(at, one.root));
    return root ? [{ at, as, from: join(root.at, at.slice(root.root.length)) }] : [mount];
  });
  for (const root of roots) placeOver(placed, root);
  const named = new Set(placed.map(({ at }) => at));
  const inside = git.filter((folder) => !named.has(folder))
    .map((at): Mount => ({ at, as: "read_only" }));
  // A hidden part of git's folder must come after the folder.
  const isBelow = ({ at }: Mount) => inside.some((one) => isWithin(at, one.at));
  return [...placed.filter((one) => !isBelow(one)), ...inside, ...placed.filter(isBelow)];
}

/** Puts the copy over a project that only a writable folder around it shows. */
function placeOver(placed: Mount[], { root, at: from }: CopiedRoot): void {
  if (placed.some(({ at }) => at === root)) return;
  const around = placed.findLastIndex(({ at }) => isWithin(root, at));
  placed.splice(around + 1, 0, { at: root, as: "writable", from });
}
