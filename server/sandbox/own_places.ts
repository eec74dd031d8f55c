import { join } from "node:path";
import type { Walls } from "./schema.ts";

/**
 * Variables that lead to the session's own folders. Where an engine has no mounts, they take the
 * place of the private `/tmp` and `~/.cache`.
 */
export function ownPlaces({ mounts, user_home }: Pick<Walls, "mounts" | "user_home">) {
  const fromOf = (place: string) =>
    mounts.find(({ at, as }) => at === place && as === "writable")?.from;
  const tmp = fromOf("/tmp");
  const cache = fromOf(join(user_home, ".cache"));
  return {
    ...tmp !== undefined && { TMPDIR: tmp, TMP: tmp, TEMP: tmp },
    ...cache !== undefined && {
      XDG_CACHE_HOME: cache,
      XDG_CONFIG_HOME: join(cache, "config"),
      XDG_DATA_HOME: join(cache, "data"),
      npm_config_cache: join(cache, "npm"),
      GIT_CONFIG_GLOBAL: join(cache, "gitconfig"),
    },
  };
}
