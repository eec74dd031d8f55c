import type { OpenWall } from "../../server/sandbox/schema.ts";
import { CliError, EXIT } from "../errors.ts";

const KINDS = { host: "host", write: "writable", read: "readable" } as const;

/** Reads a wall as a person types it: `host:registry.example`, `write:~/data` or `read:~/.toolrc`. */
export function parseWall(typed: string): OpenWall {
  const [, word = "", about = ""] = /^(host|write|read):(.+)$/s.exec(typed) ?? [];
  const kind = KINDS[word as keyof typeof KINDS];
  if (kind === undefined) {
    throw new CliError(
      `Cannot read the wall ${
        JSON.stringify(typed)
      }: write host:<name>, write:<folder> or read:<file>`,
      { next: "gate approve --help", exit: EXIT.usage },
    );
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
