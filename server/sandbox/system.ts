import { accessSync, constants, lstatSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import { ownUid } from "../runtime/self.ts";
import { kernelSwitches } from "./kernel_switches.ts";
import type { Mount } from "./schema.ts";

/** Folders of the system at the top of the disk; every other folder there is hidden. */
const SYSTEM = /^(bin|sbin|lib\w*|usr|etc|opt|nix|gnu|snap)$/;

/** Files of `/etc` for the system's own programs. Each user may read them anyway. */
const SECRETS_OF_ETC = [
  ...["shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "krb5.keytab"],
  ...["ssl/private", "wireguard", "NetworkManager/system-connections"],
  ...["ssh/ssh_host_rsa_key", "ssh/ssh_host_ecdsa_key", "ssh/ssh_host_ed25519_key"],
];

/** The names in `/etc` that programs need to start, when a rule blocks the folder. */
const NEEDED_OF_ETC = [
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "passwd", "group", "nsswitch.conf", "hosts"],
  ...["host.conf", "resolv.conf", "gai.conf", "services", "protocols", "localtime", "timezone"],
  ...["os-release", "debian_version", "alternatives", "mime.types", "magic", "locale.alias"],
  ...["ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "pki/ca-trust/extracted"],
  ...["crypto-policies", "fonts", "terminfo", "inputrc", "bash.bashrc", "profile", "gitconfig"],
  ...["java-17-openjdk", "java-21-openjdk", "perl", "python3", "pulse", "login.defs", "shells"],
];

/** The folders in `/var` that programs need. Each mount costs time, so the list is short. */
const NEEDED_OF_VAR = ["lib/gems", "lib/ghc", "lib/ca-certificates", "lib/texmf"];

/** Only root changes these folders, so they are looked up again after this time. */
const KEPT_MS = 2_000;
const KEPT = new LRUCache<string, Mount[]>({ max: 2, ttl: KEPT_MS });

/** The system of the machine, read-only, with a new `/proc`, `/dev`, `/run` and `/tmp`. */
export function systemMounts({ hides_etc = false } = {}): Mount[] {
  const known = KEPT.get(`${hides_etc}`);
  if (known) return known;
  const mounts = readSystem(hides_etc);
  KEPT.set(`${hides_etc}`, mounts);
  return mounts;
}

function readSystem(hides_etc: boolean): Mount[] {
  const mounts: Mount[] = [];
  for (const { name, isLink, isFolder } of topOf("/")) {
    const at = `/${name}`;
    if (isLink && SYSTEM.test(name)) mounts.push({ at, as: "link", from: readlinkSync(at) });
    else if (isFolder && SYSTEM.test(name) && !isEmpty(at)) {
      if (name === "etc" && hides_etc) mounts.push(...partOf(at, NEEDED_OF_ETC));
      else mounts.push({ at, as: "read_only" });
    }
  }
  return [
    ...mounts,
    ...partOf("/var", NEEDED_OF_VAR),
    ...(hides_etc ? [] : SECRETS_OF_ETC.flatMap((name) => hidden(`/etc/${name}`))),
    ...hidden(BUILDERS_OF_NIX),
    ...partOf("/sys", NEEDED_OF_SYS),
    ...partOf("/run", NEEDED_OF_RUN),
    ...["/proc", "/dev", "/tmp"].map((at) => ({ at, as: "new_folder" as const })),
    { at: "/proc/sys", as: "read_only" },
    ...(ownUid() === 0 ? kernelSwitches() : []).map((at): Mount => ({ at, as: "read_only" })),
    { at: "/var/run", as: "link", from: "/run" },
    { at: "/var/tmp", as: "link", from: "/tmp" },
  ];
}

/** A folder with only these parts of the real one. */
function partOf(folder: string, names: readonly string[]): Mount[] {
  const there = names.map((name) => join(folder, name)).filter((at) => exists(at));
  return [
    { at: folder, as: "folder" },
    ...there.map((at): Mount => ({ at, as: "read_only" })),
  ];
}

/** The place, if this user could read it and something is in it. */
function hidden(at: string): Mount[] {
  if (!exists(at)) return [];
  try {
    accessSync(at, constants.R_OK);
    if (!statSync(at).isDirectory()) return [{ at, as: "hidden_file" }];
    return isEmpty(at) ? [] : [{ at, as: "hidden_folder" }];
  } catch {
    return []; // the kernel refuses it anyway
  }
}

/** Without the sockets beside them: files that `/etc` links to, and the system of NixOS. */
const NEEDED_OF_RUN = [
  ...["systemd/resolve/stub-resolv.conf", "systemd/resolve/resolv.conf"],
  ...["resolvconf/resolv.conf", "NetworkManager/resolv.conf", "current-system"],
];

/** The socket of a service that builds with a network, outside the sandbox. */
const BUILDERS_OF_NIX = "/nix/var/nix/daemon-socket";

/** Programs count processors with this folder of `/sys`. */
const NEEDED_OF_SYS = ["devices/system/cpu"];

function topOf(folder: string) {
  return readdirSync(folder, { withFileTypes: true }).map((entry) => ({
    name: entry.name,
    isLink: entry.isSymbolicLink(),
    isFolder: entry.isDirectory(),
  }));
}

/** Whether nothing is in the folder. One that cannot be read is not taken for empty. */
function isEmpty(folder: string): boolean {
  // Every entry of a full one need not be read.
  if (statSync(folder).nlink > 2) return false;
  try {
    return readdirSync(folder).length === 0;
  } catch {
    return false;
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
