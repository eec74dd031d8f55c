import { join } from "node:path";
import { followConfigs, namedByConfig } from "../../runtime/git_named.ts";
import type { Place } from "./snapshot.ts";

/** The user's git configs, the configs that they include, and what they make git run. */
export function userGitPlaces(home: string): Place[] {
  const starts = [join(home, ".gitconfig"), join(home, ".config/git/config")];
  const named = followConfigs(starts, home).flatMap((path): Place[] => {
    const { files, folders } = namedByConfig(path, home);
    return [
      { path, deep: false },
      ...folders.map((at) => ({ path: at, deep: true })),
      ...files.map((at) => ({ path: at, deep: false })),
    ];
  });
  return [{ path: join(home, ".config/git"), deep: true }, ...named];
}
