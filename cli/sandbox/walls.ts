import type { OpenWall } from "../../server/sandbox/schema.ts";
import { CliError, EXIT } from "../errors.ts";

const KINDS = { host: "host", write: "writable", read: "readable" } as const;

/** The walls as a person types them, with what each of them opens. */
const WALLS = "host:<name>[:port] (a host to reach), write:<folder> (a folder to write) or " +
  "read:<file> (a file of your home to read)";

/**
 * Reads a wall as a person types it: `host:registry.example`, `write:~/data` or `read:~/.toolrc`.
 * @throws CliError, which lists the walls
 */
export function parseWall(typed: string): OpenWall {
  const [, word = "", about = ""] = /^(host|write|read):(.+)$/s.exec(typed) ?? [];
  const kind = KINDS[word as keyof typeof KINDS];
  if (kind === undefined) {
    throw new CliError(`Cannot read the wall ${JSON.stringify(typed)}: the walls are ${WALLS}`, {
      next: "gate sandbox show",
      exit: EXIT.usage,
    });
  }
  return kind === "host" ? { kind, host: about } : { kind, path: about };
}

const MOST_TYPED = 3;

/** The first walls as a person types them, without those that a shell would read in another way. */
export function typedWalls(walls: readonly OpenWall[]): string[] {
  return walls.map((wall) => {
    if (wall.kind === "host") return `host:${wall.host}`;
    return wall.kind === "writable" ? `write:${wall.path}` : `read:${wall.path}`;
  }).filter((typed) => /^[\w./:@+,~-]+$/.test(typed)).slice(0, MOST_TYPED);
}
