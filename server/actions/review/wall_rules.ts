import type { Policies, SandboxPolicy } from "../../policy/schema.ts";
import type { OpenWall } from "../../sandbox/schema.ts";

/**
 * The sandbox of a project's policies with these walls open for every command; null if one of them is
 * a hidden file, which only an approval opens.
 */
export function withWalls(
  known: Policies["sandbox"] = {},
  walls: readonly OpenWall[],
): Pick<Policies, "sandbox"> | null {
  const lists: Pick<SandboxPolicy, "hosts" | "writable"> = { hosts: [], writable: [] };
  for (const wall of walls) {
    if (wall.kind === "readable") return null;
    const [list, entry] = entryOf(wall);
    lists[list].push(entry);
  }
  const joined = (list: "hosts" | "writable") =>
    lists[list].length === 0
      ? {}
      : { [list]: [...new Set([...known[list] ?? [], ...lists[list]])] };
  return { sandbox: { ...known, ...joined("hosts"), ...joined("writable") } };
}

/** Whether the sandbox in force opens this wall for every command. */
export function isOpenIn(
  sandbox: Pick<SandboxPolicy, "hosts" | "writable">,
  wall: OpenWall,
): boolean {
  if (wall.kind === "readable") return false;
  const [list, entry] = entryOf(wall);
  return sandbox[list].includes(entry);
}

/** The list of the policies that opens a wall, and its entry there. */
function entryOf(wall: Exclude<OpenWall, { kind: "readable" }>): ["hosts" | "writable", string] {
  return wall.kind === "host" ? ["hosts", wall.host] : ["writable", wall.path];
}
