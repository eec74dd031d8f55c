import { lstatSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isListed, parsePlace } from "../policy/listed_hosts.ts";
import { networkIn, unwritableBecause } from "../policy/sandbox.ts";
import type { OpenedWalls, SandboxPolicy } from "../policy/schema.ts";
import { isWithin } from "./bubblewrap.ts";
import type { Judge } from "./judge.ts";
import type { OpenWall } from "./schema.ts";

/** The walls as lists of hosts and absolute paths, each entry once. */
export function openedOf(walls: readonly OpenWall[], user_home: string): OpenedWalls {
  const hosts = walls.flatMap((wall) => wall.kind === "host" ? [wall.host] : []);
  const pathsOf = (kind: "writable" | "readable") =>
    walls.flatMap((wall) => wall.kind === kind ? [openedPath(wall.path, user_home)] : [])
      .filter((path) => path !== null);
  return {
    hosts: [...new Set(hosts)],
    writable: [...new Set(pathsOf("writable"))],
    readable: [...new Set(pathsOf("readable"))],
  };
}

/** The walls of both, each once. */
export function joinOpened(one: OpenedWalls, other: OpenedWalls): OpenedWalls {
  const both = (name: keyof OpenedWalls) => [...new Set([...one[name], ...other[name]])];
  return { hosts: both("hosts"), writable: both("writable"), readable: both("readable") };
}

/** The bounds of an opening: the rules, and the folders that no sandbox shows. */
export interface OpeningBounds {
  /** The name of the sandbox's engine. */
  engine: string;
  judge: Judge;
  policy: { network: SandboxPolicy["network"]; hosts: readonly string[] };
  roots: readonly string[];
  /** The folders of all projects. */
  projects: readonly string[];
  user_home: string;
  gate_home: string;
}

/** Why a person cannot open this wall; null if they can. A rule that blocks a place keeps it closed. */
export function whyNotOpenable(wall: OpenWall, bounds: OpeningBounds): string | null {
  switch (wall.kind) {
    case "host":
      return whyNotHost(wall.host, bounds);
    case "writable":
      return unwritableBecause(wall.path) ?? whyNotPath(wall.path, "folder", bounds);
    case "readable":
      return whyNotPath(wall.path, "file", bounds);
  }
}

function whyNotHost(host: string, { policy, engine }: OpeningBounds): string | null {
  if (networkIn({ network: "loopback", hosts: [host] }, engine).hosts.length === 0) {
    return `the sandbox of ${engine} opens no single host; install bubblewrap`;
  }
  const place = parsePlace(host);
  if (place === null) return 'it is no host; write it as "name", "name:port" or "[address]:port"';
  if (place.host.startsWith("*.")) return "it stands for many hosts; a rule can open them";
  const isOpen = policy.network === "all" ||
    (isListed(place, policy.hosts) && (place.port !== null || policy.hosts.includes(host)));
  return isOpen ? "the policy opens it already" : null;
}

function whyNotPath(
  path: string,
  kind: "file" | "folder",
  { judge, roots, projects, user_home, gate_home }: OpeningBounds,
): string | null {
  const full = openedPath(path, user_home);
  if (full === null) return 'it must start with "/" or "~/" and be a plain path';
  if (isWithin(full, gate_home) || isWithin(gate_home, full)) return "gate's data is there";
  if (roots.some((root) => isWithin(full, root) || isWithin(root, full))) {
    return "it is in the project, where the rules about paths decide";
  }
  if (projects.some((one) => isWithin(full, one) || isWithin(one, full))) {
    return "it is in another project";
  }
  if (!isWithin(full, user_home) && kind === "file") return "it is not in your home folder";
  if (full === user_home) return "it is your whole home folder";
  if (judge(full) === "hidden") return "a rule blocks it, and a denial stays";
  // A socket or a link would lead to more than its name says.
  const stats = lstatSync(full, { throwIfNoEntry: false });
  const isKind = kind === "file" ? stats?.isFile() : stats?.isDirectory();
  if (isKind !== true) return `there is no such ${kind}`;
  return realOf(full) === full ? null : "a link leads to it; name the real path";
}

/** The path without `~`; null if it is no plain absolute path. */
export function openedPath(path: string, user_home: string): string | null {
  if (!/^~?\//.test(path)) return null;
  const names = path.replace(/^~?\//, "").split("/");
  const isPlain = names.every((name) => name !== "" && name !== "." && name !== "..");
  if (!isPlain) return null;
  return path.startsWith("~") ? join(user_home, path.slice(2)) : path;
}

function realOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
