import { describe, expect, test } from "vitest";
import type { Mount, Walls } from "../../../server/sandbox/schema.ts";
import {
  macMounts,
  quoted,
  SANDBOX_EXEC,
  seatbeltProfile,
  startByProfile,
} from "../../../server/sandbox/seatbelt.ts";

const HOME = "/Users/me";
const PROJECT = `${HOME}/work/shop`;
const OWN = `${HOME}/.gate/sandbox/s`;

const WALLS: Walls = {
  engine: { name: "seatbelt", path: SANDBOX_EXEC, version: "24.1.0" },
  network: "none",
  hosts: [],
  tools_at: 0,
  user_home: HOME,
  never_shown: [],
  closed_ports: [47_000],
  cwd: PROJECT,
  blank: `${OWN}/blank`,
  limits: { processes: 10, memory_bytes: 1e9, file_bytes: 1e9 },
  mounts: [
    ...macMounts(),
    { at: "/tmp", as: "writable", from: `${OWN}/tmp` },
    { at: HOME, as: "new_folder" },
    { at: `${HOME}/.cargo`, as: "read_only" },
    { at: `${HOME}/.cache`, as: "writable", from: `${OWN}/cache` },
    { at: `${HOME}/.npm`, as: "link", from: ".cache/npm" },
    { at: `${HOME}/.cargo/credentials`, as: "hidden_file" },
    { at: PROJECT, as: "writable" },
    { at: `${PROJECT}/api`, as: "writable" },
    { at: `${PROJECT}/.env`, as: "hidden_file" },
    { at: `${PROJECT}/.git/hooks`, as: "read_only" },
    { at: `${PROJECT}/api/secrets`, as: "hidden_folder" },
  ],
};

type Operation = "file-read-data" | "file-write-data" | "file-write-unlink" | "file-read-metadata";

/** What a profile of such rules answers: the last rule that matches counts. */
function answer(profile: string, operation: Operation, path: string): "allow" | "deny" {
  let found: "allow" | "deny" = "deny";
  for (const line of profile.split("\n")) {
    const [, effect, rest] = /^\((allow|deny) ([^)].*)\)$/.exec(line) ?? [];
    if (!effect) continue;
    const operations = rest!.slice(0, rest!.indexOf("(") < 0 ? undefined : rest!.indexOf("("))
      .trim().split(" ");
    const isMeant = operations.some((one) =>
      one === "default" || one === operation ||
      (one.endsWith("*") && operation.startsWith(one.slice(0, -1)))
    );
    const filters = [...rest!.matchAll(/\((literal|subpath) "((?:[^"\\]|\\.)*)"\)/g)];
    const hits = filters.length === 0 ? !rest!.includes("(") : filters.some(([, kind, text]) => {
      const named = text!.replace(/\\(.)/g, "$1");
      return path === named || (kind === "subpath" && path.startsWith(`${named}/`));
    });
    if (isMeant && hits) found = effect as "allow" | "deny";
  }
  return found;
}

describe("the profile of macOS", () => {
  const profile = seatbeltProfile(WALLS);

  test.each<[string, Operation, string, "allow" | "deny"]>([
    ["a file of the project", "file-read-data", `${PROJECT}/src/a.ts`, "allow"],
    ["a file of the project", "file-write-data", `${PROJECT}/src/a.ts`, "allow"],
    ["a new file at its top", "file-write-data", `${PROJECT}/new`, "allow"],
    ["a hidden file", "file-read-data", `${PROJECT}/.env`, "deny"],
    ["a hidden file", "file-write-data", `${PROJECT}/.env`, "deny"],
    ["a hidden file", "file-write-unlink", `${PROJECT}/.env`, "deny"],
    ["a hidden folder", "file-read-data", `${PROJECT}/api/secrets/deep/key`, "deny"],
    ["the folder around one", "file-write-unlink", `${PROJECT}/api`, "deny"],
    ["the project itself", "file-write-unlink", PROJECT, "deny"],
    ["beside one", "file-write-unlink", `${PROJECT}/api/other`, "allow"],
    ["a kept folder", "file-read-data", `${PROJECT}/.git/hooks/x`, "allow"],
    ["a kept folder", "file-write-data", `${PROJECT}/.git/hooks/x`, "deny"],
    ["the folder around it", "file-write-unlink", `${PROJECT}/.git`, "deny"],
    ["a name that only begins alike", "file-read-data", `${PROJECT}/.env.example`, "allow"],
    ["a folder that only begins alike", "file-read-data", `${PROJECT}-other/a`, "deny"],
    ["a key of the home", "file-read-data", `${HOME}/.ssh/id`, "deny"],
    ["the home", "file-read-data", HOME, "deny"],
    ["the home, to look paths up", "file-read-metadata", HOME, "allow"],
    ["a login script", "file-write-data", `${HOME}/.zshrc`, "deny"],
    ["a tool of the home", "file-read-data", `${HOME}/.cargo/bin/x`, "allow"],
    ["a tool of the home", "file-write-data", `${HOME}/.cargo/bin/x`, "deny"],
    ["a token in it", "file-read-data", `${HOME}/.cargo/credentials`, "deny"],
    ["gate's data", "file-read-data", `${HOME}/.gate/tokens/agent`, "deny"],
    ["the session's own folder", "file-write-data", `${OWN}/tmp/x`, "allow"],
    ["the machine's temporary files", "file-read-data", "/private/tmp/x", "deny"],
    ["a program of the system", "file-read-data", "/usr/bin/env", "allow"],
    ["a program of the system", "file-write-data", "/usr/bin/env", "deny"],
    ["the keychain", "file-read-data", "/Library/Keychains/System.keychain", "deny"],
    ["another user", "file-read-data", "/Users/other/x", "deny"],
    ["the disk by its other name", "file-read-data", `/System/Volumes/Data${HOME}/.ssh/id`, "deny"],
  ])("%s: %s of %s: %s", (_, operation, path, expected) => {
    expect(answer(profile, operation, path)).toBe(expected);
  });

  test("it denies by default and closes the network, or all but gate's port", () => {
    expect(profile.split("\n").slice(0, 2)).toEqual(["(version 1)", "(deny default)"]);
    expect(profile).toContain("\n(deny network*)\n");
    expect(seatbeltProfile({ ...WALLS, network: "loopback" })).toContain("\n(deny network*)\n");
    const open = seatbeltProfile({ ...WALLS, network: "all" });
    expect(open).toContain("\n(allow network*)\n");
    expect(open.indexOf('(deny network-outbound (remote ip "localhost:47000"))'))
      .toBeGreaterThan(open.indexOf("(allow network*)"));
    expect(open).toContain("(deny network-outbound (remote unix-socket))");
  });

  test("it is the same text for the same walls", () => {
    expect(seatbeltProfile(structuredClone(WALLS))).toBe(profile);
  });
});

describe("names in a profile", () => {
  test.each([
    ["/a b", '"/a b"'],
    ['/a"b', '"/a\\"b"'],
    ["/a\\b", '"/a\\\\b"'],
    ['/a\\"', '"/a\\\\\\""'],
    ['/x")) (allow default) ((', '"/x\\")) (allow default) (("'],
    ["/;comment", '"/;comment"'],
    ["/ünïcode/漢", '"/ünïcode/漢"'],
    ["/$(id)`id`#t", '"/$(id)`id`#t"'],
  ])("%j becomes %s", (path, text) => {
    expect(quoted(path)).toBe(text);
  });

  test.each(["/a\nb", "/a\0b", "/a\x7f", "/a\u2028b", "/a\ud800"])("%j is refused", (path) => {
    expect(() => quoted(path)).toThrow("no profile can name");
  });

  test("a project that looks like a rule stays a name, wherever it stands", () => {
    const evil = `${HOME}/work/x")) (allow file-read* (subpath "`;
    const mounts = WALLS.mounts.map((mount): Mount => (
      { ...mount, at: mount.at.replace(PROJECT, evil) }
    ));
    const profile = seatbeltProfile({ ...WALLS, mounts });
    expect(answer(profile, "file-read-data", `${HOME}/.ssh/id`)).toBe("deny");
    expect(answer(profile, "file-read-data", `${evil}/a`)).toBe("allow");
    expect(answer(profile, "file-read-data", `${evil}/.env`)).toBe("deny");
    const rules = profile.split("\n").filter((line) => /^\((allow|deny)/.test(line));
    const plain = seatbeltProfile(WALLS).split("\n").filter((line) => /^\((allow|deny)/.test(line));
    expect(rules.length).toBe(plain.length);
  });
});

test("the command starts by the system's program, with variables for its own folders", () => {
  const start = startByProfile(WALLS, {});
  expect(start.argv.slice(0, 2)).toEqual([SANDBOX_EXEC, "-p"]);
  expect(start.argv).toHaveLength(3);
  expect(start.env({ PATH: "/bin", SSH_AUTH_SOCK: "/x", GATE_PORT: "1" })).toEqual({
    ...{ PATH: "/bin", HOME, PWD: PROJECT, TMPDIR: `${OWN}/tmp`, TMP: `${OWN}/tmp` },
    ...{ TEMP: `${OWN}/tmp`, XDG_CACHE_HOME: `${OWN}/cache` },
    ...{ XDG_CONFIG_HOME: `${OWN}/cache/config`, XDG_DATA_HOME: `${OWN}/cache/data` },
    ...{ npm_config_cache: `${OWN}/cache/npm`, GIT_CONFIG_GLOBAL: `${OWN}/cache/gitconfig` },
  });
});
