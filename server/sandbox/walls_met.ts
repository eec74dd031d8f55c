import type { AskedHost } from "./schema.ts";

/** The part of an output which tells that a command met a wall of the sandbox. */
const SIGNS: { sign: RegExp; says: (about: string) => string }[] = [
  {
    // Only Landlock refuses it: bubblewrap gives each command a /dev/shm of its own.
    sign: /_multiprocessing\.SemLock\(|\/dev\/shm\b.*(denied|EACCES)|(denied|EACCES).*\/dev\/shm\b/,
    says: () =>
      "/dev/shm holds the shared memory of other programs, so locks and queues between processes " +
      "do not work in this sandbox; where bubblewrap is installed, they do",
  },
  {
    sign: /Permission denied|\bEACCES\b|PermissionError|not permitted|\bEPERM\b/i,
    says: (about) => `${about} is hidden, or the sandbox does not allow the call`,
  },
  {
    // A hidden file is a device to git.
    sign: /can only add regular files|unsupported file type/,
    says: (about) => `${about} is hidden`,
  },
  {
    sign: /Read-only file system|\bEROFS\b/i,
    says: (about) => `${about} is read-only in the sandbox`,
  },
  {
    sign: /Device or resource busy|\bEBUSY\b/i,
    says: (about) =>
      `${about} holds a file that is hidden or read-only, so it cannot be moved away`,
  },
  {
    sign: /Invalid cross-device link|\bEXDEV\b/i,
    says: (about) =>
      `${about} lies beside a hidden file; copy it instead of renaming or linking it`,
  },
  {
    sign:
      /Network is unreachable|Could not resolve|Temporary failure in name resolution|Name or service not known|\b(ENETUNREACH|ENOTFOUND|EAI_AGAIN)\b|failed to lookup address|Address family not supported|\bEAFNOSUPPORT\b/i,
    says: (about) => `the sandbox has no network, so ${about} is out of reach`,
  },
  {
    sign: /Connection refused|\bECONNREFUSED\b/i,
    says: (about) =>
      `the sandbox has a network of its own: only servers of the same command answer, not ${about}`,
  },
];

/** A line of an error that Node prints with its fields; the message above it tells more. */
const CODE = /^\s*code: 'E[A-Z]+',?$/;

const MAX_LINES = 2_000;
const MAX_MET = 5;

/**
 * The walls that a command met, one sentence each, as far as its output tells. `writable` are the
 * folders that it could write; what is missing there is missing outside too.
 */
export function wallsMet(output: string, writable: readonly string[]): string[] {
  const met = new Set<string>();
  for (const line of output.split("\n", MAX_LINES)) {
    const found = CODE.test(line) ? undefined : SIGNS.find(({ sign }) => sign.test(line));
    if (found) met.add(found.says(aboutOf(line)));
    else {
      const absent = absentIn(line, writable);
      if (absent !== null) met.add(`${JSON.stringify(absent)} is hidden, or is not there at all`);
    }
    if (met.size === MAX_MET) break;
  }
  return [...met];
}

/** The hosts that the proxy of the sandbox kept closed, one sentence each. */
export function closedHosts(asked: readonly AskedHost[] = []): string[] {
  return asked.flatMap(({ answer, why }) => answer === "refused" && why !== null ? [why] : [])
    .slice(0, MAX_MET);
}

/** The absolute paths and those below `~/` of which an output tells that the command did not get them. */
export function pathsMet(output: string): string[] {
  const met = new Set<string>();
  for (const line of output.split("\n", MAX_LINES)) {
    if (!ABSENT.test(line) && !SIGNS.some(({ sign }) => sign.test(line))) continue;
    const path = namedIn(line);
    if (path !== null && /^~?\//.test(path)) met.add(path);
    if (met.size === MAX_MET) break;
  }
  return [...met];
}

/** The path that a line calls missing, if the sandbox shows nothing of its place. */
function absentIn(line: string, writable: readonly string[]): string | null {
  const path = ABSENT.test(line) ? namedIn(line) : null;
  if (path === null || !/^~?\//.test(path) || SHOWN.test(path)) return null;
  return writable.some((folder) => path === folder || path.startsWith(`${folder}/`)) ? null : path;
}

/** Places that the sandbox shows as they are, and those that it makes anew. */
const SHOWN = /^\/(bin|sbin|lib\w*|usr|etc|opt|nix|gnu|snap|proc|sys|dev|run)(\/|$)/;

/** A hidden file looks absent. */
const ABSENT = /No such file or directory|\bENOENT\b|FileNotFoundError/i;

function aboutOf(line: string): string {
  const about = namedIn(line);
  return about === null ? "what it needs" : JSON.stringify(about);
}

/** The path or the host that a line of output is about. */
function namedIn(line: string): string | null {
  const quoted = /['"`‘]([^'"`’]{1,200})['"`’]/.exec(line)?.[1];
  const path = /(?:^|[\s:(])((?:\.{0,2}\/|~\/|\.)[^\s:'",()]{1,200})/.exec(line)?.[1];
  const host = /\b(?:host:?\s+|ENOTFOUND\s+|EAI_AGAIN\s+)([\w.-]{1,200})/i.exec(line)?.[1];
  return host ?? quoted ?? path ?? null;
}
