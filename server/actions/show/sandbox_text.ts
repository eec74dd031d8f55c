import type { Sandbox } from "../../policy/schema.ts";
import { maskedNames } from "../../shown/masked_names.ts";
import type { OpenWall } from "../../sandbox/schema.ts";

/** Explains a sandbox to a person who reads the word for the first time. */
export const SANDBOX_MEANS =
  "A sandbox is a closed room for one command: the system itself keeps it from everything else, " +
  "whatever the command does.";

/** Tells what a sandbox takes from its command: `no network; .env, 12 other names and … are hidden`. */
export function describeSandbox(sandbox: Sandbox): string {
  const beside = Object.hasOwn(BESIDE, sandbox.engine) ? `; ${BESIDE[sandbox.engine]}` : "";
  const walls = describeWalls(sandbox) + beside;
  return sandbox.held_back
    ? `${walls}; it works on a copy of the project, and a person approves its changes`
    : walls;
}

/** The walls that an engine without mounts replaces by other means. */
const BESIDE: Record<string, string> = {
  landlock: "Landlock holds it: it sees the list of this machine's processes, and gate itself " +
    "restores git's settings and guarded files of the project",
  seatbelt: "Seatbelt holds it",
};

function describeWalls({ network, hosts = [], masked, readable = [] }: Sandbox): string {
  const listed = maskedNames(masked);
  const names = listed.names.filter((one) => one !== "~");
  const [first] = names;
  const more = names.length - 1 + listed.more;
  const hidden = [
    ...first === undefined ? [] : [first],
    ...more > 0 ? [more === 1 ? "1 other name" : `${more} other names`] : [],
    ...masked.includes("~") ? ["your home folder"] : [],
  ];
  const last = hidden.pop();
  const list = hidden.length > 0 ? `${hidden.join(", ")} and ${last}` : last;
  const reach = network === "all"
    ? "with the network"
    : hosts.length > 0
    ? `no network but ${hosts.join(", ")}`
    : "no network";
  const shown = readable.length > 0 ? `; it can read ${readable.join(" and ")}` : "";
  if (list === undefined) return `${reach}${shown}`;
  return `${reach}; ${list} ${hidden.length === 0 && more <= 0 ? "is" : "are"} hidden${shown}`;
}

/** A wall that a person opens: `the host a.test`, `writing below ~/data` or `reading ~/.toolrc`. */
export function describeWall(wall: OpenWall): string {
  if (wall.kind === "host") return `the host ${wall.host}`;
  return wall.kind === "writable" ? `writing below ${wall.path}` : `reading ${wall.path}`;
}
