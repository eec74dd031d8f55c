import { builtin, type Finding } from "./finding.ts";
import { isStatic, isWild } from "./holes.ts";
import type { Surroundings } from "./request.ts";
import { readOptions, spec } from "./programs/options.ts";
import { baseName } from "./programs/grammar.ts";
import { absolutePath, leavesFolder } from "./interpret/state.ts";
import type { Unit } from "./interpret/unit.ts";

/** The `gate` commands that an agent may run; all others decide or configure. */
const HARMLESS = new Set([
  "status",
  "pending",
  "show",
  "log",
  "prompt",
  "doctor",
  "completion",
  "complete",
  "man",
  "help",
  "version",
  "demo",
  "hook",
  "mcp",
  "scenario",
  "audit",
]);
const HARMLESS_VERBS: Record<string, Set<string>> = {
  daemon: new Set(["status", "logs"]),
  service: new Set(["status", "logs"]),
  config: new Set(["show"]),
  project: new Set(["list"]),
  proof: new Set(["status"]),
  workspace: new Set(["list", "show"]),
  team: new Set(["list", "whoami"]),
  route: new Set(["list"]),
  sandbox: new Set(["show"]),
  "global-config": new Set(["show"]),
  policy: new Set(["help", "test", "explain", "replay", "bench"]),
};

const GATE = /^gate(-(linux|darwin|win32)[\w-]*)?(\.exe)?$/;
/** The gate's source or bundle, started by a runtime. */
const SOURCE = /(^|\/)(cli\/main\.ts|gate\.mjs)$/;
const RUNTIMES = /^(node|nodejs|deno|bun|tsx)$/;
const DECIDES =
  /^(-\S+ )*(approve|reject|token|proof|grant|cleanup-mcp|gc|global-config|config accept|project trust|sandbox (open|close))/;
const LAUNCHERS = new Set(["npx", "bunx", "pnpx"]);

/**
 * Denies, or asks about, commands against the gate itself, whatever the policy allows. `may_be_gate`
 * is what `mayBeGate` says about words that include all of the unit's.
 */
export function protectGate(unit: Unit, around: Surroundings, may_be_gate = true): Finding[] {
  const name = baseName(unit.argv[0] ?? "");
  const found: Finding[] = [];
  const text = unit.spelled;
  if (may_be_gate && NAMES_GATE.test(text)) {
    found.push(...gateCommand(name, unit), ...scenarios(name, unit));
  }
  if (ENDS.has(name)) {
    found.push(
      ...killing(name, unit, around),
      ...endingAll(name, unit.argv.slice(1)),
      ...service(name, unit),
    );
  }
  if (may_be_gate) {
    if (around.daemon_pid !== undefined && text.includes(String(around.daemon_pid))) {
      found.push(...namingDaemon(name, unit, around.daemon_pid));
    }
    if (text.includes(String(around.port)) || text.includes(".sock")) {
      found.push(...calling(name, unit, around));
    }
    const folders = [around.gate_home, `${around.user_home}/.gate`];
    if (folders.some((folder) => text.includes(folder))) found.push(...data(name, unit, folders));
  }
  found.push(...readingAbove(name, unit, around));
  return unit.supposed ? found.map((one) => ({ ...one, effect: "ask" as const })) : found;
}

/**
 * Whether a word names the gate, its process, its port, a socket or its data. One look at all words
 * of a command shows that most commands do not.
 */
export function mayBeGate(
  words: readonly string[],
  { daemon_pid, port, gate_home, user_home }: Surroundings,
): boolean {
  const text = words.join("\0");
  return NAMES_GATE.test(text) || text.includes(String(port)) || text.includes(".sock") ||
    (daemon_pid !== undefined && text.includes(String(daemon_pid))) ||
    text.includes(gate_home) || text.includes(`${user_home}/.gate`);
}

/** A text without one of these has nothing to do with `GATE`, `SOURCE` or the scenario tool. */
const NAMES_GATE = /gate|cli\/main\.ts|scenario-tool/;

/** The programs that end others, or control services. */
const ENDS = new Set(
  ("kill fuser pkill killall killall5 skill pgrep-kill taskkill xkill shutdown reboot halt poweroff telinit " +
    "init loginctl systemctl launchctl service sc sc.exe schtasks").split(" "),
);

function deny(pattern: string, reason: string): Finding {
  return builtin("deny", "self-protection", pattern, reason);
}

function ask(pattern: string, reason: string): Finding {
  return builtin("ask", "self-protection", pattern, reason);
}

function gateCommand(name: string, unit: Unit): Finding[] {
  if (LAUNCHERS.has(name)) return [];
  const given = givenToGate(name, unit.argv);
  if (given === null) return [];
  const words = given.filter((word) => !word.startsWith("-"));
  const [verb = "help", next = "help"] = words;
  // It starts the servers in the config files of agent hosts.
  const starts = verb === "doctor" && unit.argv.includes("--prove");
  // Without --json it decides in a terminal, and an agent can create a terminal.
  if (verb === "watch" && unit.argv.includes("--json")) return [];
  if (!starts && (HARMLESS.has(verb) || HARMLESS_VERBS[verb]?.has(next))) return [];
  if (isWild(unit.argv.join(" "))) {
    return [ask("gate *", "This may decide for you")];
  }
  return [deny(`gate ${verb}`, `"gate ${verb}" decides or configures: only a person may run it`)];
}

/** The gate's arguments, however it is started; null for another program. */
function givenToGate(name: string, argv: readonly string[]): string[] | null {
  if (GATE.test(name)) return argv.slice(1);
  if (!RUNTIMES.test(name)) return null;
  const at = argv.findIndex((word) => SOURCE.test(word));
  if (at < 0) return null;
  // Other projects have a `cli/main.ts` too, so only commands that are clearly the gate's count.
  const given = argv.slice(at + 1);
  return argv[at]!.endsWith("gate.mjs") || DECIDES.test(given.join(" ")) ? given : null;
}

function scenarios(name: string, { argv }: Unit): Finding[] {
  const isGate = GATE.test(name) || argv.some((word) => SOURCE.test(word));
  return isGate || /^scenario-tool(\.exe)?$/.test(name) ? protectScenarios(name, argv) : [];
}

function killing(name: string, unit: Unit, around: Surroundings): Finding[] {
  const args = unit.argv.slice(1);
  if (name === "kill") return killByPid(args, around);
  if (name === "fuser" && args.some((arg) => arg.includes(String(around.port)))) {
    return [deny("fuser", "The daemon's port is off limits")];
  }
  if (!/^(pkill|killall|killall5|skill|pgrep-kill|taskkill|xkill)$/.test(name)) return [];
  const patterns = args.filter((arg) => !/^-(\d+|[A-Z]{3,}|[a-z]{1,2})$/.test(arg));
  if (patterns.some((arg) => namesDaemon(arg))) {
    return [deny(`${name} gate`, "Ending the gate's daemon is off limits")];
  }
  const unsure = name === "killall5" ||
    patterns.some((arg) => isWild(arg) || /^[.*^$?\[\]\\+]+$/.test(arg));
  return unsure ? [ask(name, "This may end the gate's daemon")] : [];
}

/** Programs whose numbers are no processes, or that only look at one. */
const COUNTS =
  /^(head|tail|seq|sleep|expr|test|\[|echo|printf|ps|pgrep|lsof|grep|rg|sed|awk|cut|kill|git|date)$/;

/** Asks about other programs that name the daemon's process: `prlimit --pid 4711 --cpu=1`. */
function namingDaemon(name: string, unit: Unit, daemon_pid: number): Finding[] {
  if (COUNTS.test(name)) return [];
  const pid = String(daemon_pid);
  const numbers = unit.argv.slice(1).filter((arg) => arg.includes(pid));
  return numbers.some((arg) => new RegExp(`(^|[^0-9.])${pid}([^0-9.]|$)`).test(arg))
    ? [ask(pid, "This names the process of the gate's daemon")]
    : [];
}

const WHO = spec(
  "-u,--euid= -U,--uid= -g,--pgroup= -G,--group= -P,--parent= -s,--session= -t,--terminal= " +
    "-F,--pidfile= --user= -f -x -n -o -i -v -e -a -c -q -I -w -l",
);

/** Commands that end every process of a user or of the machine, and so the daemon. */
function endingAll(name: string, args: readonly string[]): Finding[] {
  const ends = /^(shutdown|reboot|halt|poweroff|telinit)$/.test(name)
    ? !args.some((arg) => /^(-c|--help|--show)$/.test(arg))
    : name === "init"
    ? /^[06]$/.test(args[0] ?? "")
    : name === "loginctl"
    ? args.some((arg) => /^(terminate|kill)-/.test(arg))
    : name === "systemctl"
    ? args.some((arg) => /^(poweroff|reboot|halt|kexec|exit|rescue|emergency)$/.test(arg))
    : /^(pkill|killall)$/.test(name) && everyone(args);
  return ends ? [ask(name, "This ends the gate's daemon too")] : [];
}

/** Whether `pkill` selects by user only (`pkill -u me`), so every program of that user. */
function everyone(args: readonly string[]): boolean {
  const signal = /^-(\d+|[A-Z]{3,}\w*)$/;
  const { options, operands } = readOptions(args.filter((arg) => !signal.test(arg)), WHO);
  return operands.length === 0 && options.some(({ value }) => value !== null);
}

function killByPid(args: readonly string[], around: Surroundings): Finding[] {
  const pids = args.filter((arg, at) => !(at === 0 && /^-[A-Za-z0-9]+$/.test(arg)) && arg !== "--");
  if (args.includes("-l") || args.includes("-L")) return [];
  if (
    around.daemon_pid !== undefined &&
    pids.some((pid) => Math.abs(Number(pid)) === around.daemon_pid)
  ) {
    return [deny("kill", "Ending the gate's daemon is off limits")];
  }
  const unsure = pids.some((pid) => isWild(pid) || pid === "-1" || pid === "0");
  return unsure ? [ask("kill $…", "This may end the gate's daemon")] : [];
}

/** Whether a pattern of `pkill` matches the daemon's command line. */
function namesDaemon(pattern: string): boolean {
  const letters = pattern.toLowerCase().replace(/\[(\w)\]/g, "$1").replace(/[\\^$]/g, "");
  return letters !== "" && (DAEMON.includes(letters) || /\bgate\b/.test(letters) ||
    letters.split(/\.\*|\s+/).some((part) => part.length > 2 && part.startsWith("gate")) ||
    letters.split("|").some(findsDaemon));
}

const DAEMON = "gate daemon start --foreground";

/** Whether the daemon's command line contains the literal parts of a pattern, in order. */
function findsDaemon(pattern: string): boolean {
  let at = 0;
  const fixed = pattern.split(/[^a-z -]+/).filter(Boolean);
  return /[^a-z -]/.test(pattern) && fixed.length > 0 && fixed.every((part) => {
    const found = DAEMON.indexOf(part, at);
    at = found + part.length;
    return found >= 0;
  });
}

function service(name: string, unit: Unit): Finding[] {
  if (!/^(systemctl|launchctl|service|sc|sc\.exe|schtasks)$/.test(name)) return [];
  const about = unit.argv.slice(1).some((arg) => /(^|[./])gate([.@-]|$)/.test(arg));
  const looks = unit.argv.some((arg) =>
    /^(status|show|is-active|is-enabled|list|print|cat)$/.test(arg)
  );
  return about && !looks ? [deny(name, "The gate's service is off limits")] : [];
}

/** Programs that only print or search their arguments. */
const TALKS =
  /^(echo|printf|grep|egrep|fgrep|rg|ag|sed|awk|git|gh|logger|cat|head|tail|test|\[|export|set)$/;

function calling(name: string, unit: Unit, around: Surroundings): Finding[] {
  if (TALKS.test(name)) return [];
  const port = String(around.port);
  for (const arg of unit.argv.slice(1)) {
    if (!arg.includes(port) && !arg.includes(".sock")) continue;
    if (mentions(arg, port)) return [deny(`*:${port}`, "The daemon's API is not for commands")];
    if (new RegExp(`(^|[^0-9])${port}([^0-9]|$)`).test(arg)) {
      return [ask(port, "This names the daemon's port")];
    }
    if (/run\/[\w.-]*\.sock/.test(arg) && arg.includes(around.gate_home)) {
      return [deny("*.sock", "The daemon's socket is not for commands")];
    }
  }
  return [];
}

/** Denies the gate's data folder in any argument. */
function data(name: string, unit: Unit, folders: readonly string[]): Finding[] {
  if (TALKS.test(name)) return [];
  const about = unit.argv.slice(1).some((arg) =>
    folders.some((folder) => {
      const at = arg.indexOf(folder);
      return at >= 0 && /^(\/|$|[^\w.-])/.test(arg.slice(at + folder.length));
    })
  );
  return about ? [deny("GATE_HOME/**", "The gate's own data is off limits")] : [];
}

/** Programs that read no file below a folder in their arguments, or whose words are text. */
const NAMES_ONLY = new Set(
  ("ls dir vdir cd pushd popd stat du df tree test [ [[ find gfind fd fdfind pwd realpath readlink " +
    "basename dirname echo printf mkdir touch export declare local set which file namei mountpoint " +
    "sed awk tr cut git ssh sh bash zsh dash").split(" "),
);

/** Programs that read everything below each folder in their arguments. */
const RECURSES = new Set("rg ag ack ugrep tar bsdtar gtar rsync zip 7z 7za cpio pax".split(" "));

/** Asks about programs that read everything below a folder which holds the gate's own data. */
function readingAbove(name: string, unit: Unit, around: Surroundings): Finding[] {
  const recurses = RECURSES.has(name) || (MAY_RECURSE.has(name) && isRecursive(name, unit.argv));
  if (!recurses && (NAMES_ONLY.has(name) || unit.passive)) return [];
  const isNear = recurses || unit.folders.some((from) => isAbove(from, around, true));
  if (!isNear && !unit.argv.some(mayLead)) return [];
  // Links are followed only for programs that surely read folders, because that costs time.
  const holds = (word: string) =>
    unit.folders.some((from) => {
      if (!isStatic(`${from}${word}`)) return false;
      const folder = recurses
        ? around.resolve(word.startsWith("/") ? word : `${from}/${word}`).real
        : absolutePath(word, from);
      return isAbove(folder, around, recurses);
    });
  const named = new Set<string>();
  for (const arg of unit.argv.slice(1)) {
    for (const word of PARTED.test(arg) ? arg.split(PARTED) : [arg]) {
      // Only such words lead from a folder beside the data to one above it.
      if (!isNear && !leavesFolder(word)) continue;
      if (/^[/.~\w]/.test(word) && word.length <= LONGEST_PATH) named.add(word);
    }
  }
  if (recurses && SEARCHES.test(name)) named.add(".");
  for (const word of named) {
    if (!holds(word)) continue;
    const reason = "This reads everything below a folder that holds the gate's own data";
    return [ask("GATE_HOME/**", reason)];
  }
  return [];
}

/** The signs between several names in one word. */
const PARTED = /[=:,]/;

/** Whether a word may lead to a folder that is not below the current one. */
function mayLead(word: string): boolean {
  return word.includes("/") || word.includes("..") || word.includes("~");
}

/** The system opens no longer path. */
const LONGEST_PATH = 4_096;

/** Without a folder in their arguments they search the current one. */
const SEARCHES = /^(rg|ag|ack|ugrep|[efz]?grep|ggrep|git)$/;

/** The programs that `isRecursive` knows. */
const MAY_RECURSE = new Set("git grep egrep fgrep zgrep ggrep cp gcp scp diff zip".split(" "));

function isRecursive(name: string, args: readonly string[]): boolean {
  if (name === "git") return args.some((arg) => arg.startsWith("--no-in"));
  if (/^([efz]|g)?grep$/.test(name)) {
    return args.some((arg) =>
      /^-[a-zA-Z]*[rR]|^--(deref|recu|directories=rec)|^-?recurse$/.test(arg)
    );
  }
  return /^(cp|gcp|scp|diff|zip)$/.test(name) &&
    args.some((arg) => /^-[a-zA-Z]*[rRa]|^--(rec|archive)/.test(arg));
}

/** The root of the disk is also a usual separator, so it counts only for a recursive program. */
function isAbove(folder: string, { gate_home }: Surroundings, recurses: boolean): boolean {
  if (folder === "/") return recurses;
  return gate_home === folder || gate_home.startsWith(`${folder}/`);
}

/** Whether the text has a spelling of the loopback address before the port. */
export function mentions(arg: string, port: string): boolean {
  return new RegExp(
    `(localhost|ip6-localhost|127\\.[\\d.]+|\\[?::1\\]?|0\\.0\\.0\\.0|2130706433|0x7f[0-9a-f]*|0177[\\d.]*|\\b0)\\.?:${port}([^0-9]|$)`,
    "i",
  ).test(arg);
}

const LOOPBACK = /^https?:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?(\/|$)/i;

/**
 * Asks about everything that the scenario tool does except sending requests to this machine. Its
 * scenario files and settings can name programs to run and files to write.
 */
function protectScenarios(name: string, argv: readonly string[]): Finding[] {
  const words = name.startsWith("scenario-tool") ? argv.slice(1) : wordsAfter(argv, "scenario");
  if (words === null || !words.some((word) => word === "run" || word === "list")) return [];
  if (words.includes("run") && !words.some((_, at) => isFlag(words, at, "--only-requests"))) {
    const reason =
      "Scenarios may run programs that no policy has checked (--only-requests runs none)";
    return [ask("scenario run", reason)];
  }
  if (words.some((word) => word.startsWith("--from-help"))) {
    return [ask("scenario list --from-help", "It runs a program to read its help")];
  }
  if (!words.includes("run") || staysHere(words)) return [];
  return [ask("scenario run --target", "It may send test requests to another machine")];
}

function wordsAfter(argv: readonly string[], word: string): readonly string[] | null {
  const at = argv.indexOf(word);
  return at === -1 ? null : argv.slice(at + 1);
}

/** Whether every target is this machine. Without `--target` a settings file may name another. */
function staysHere(words: readonly string[]): boolean {
  const named = words.flatMap((word, at) => {
    if (word === "--target") return [words[at + 1] ?? ""];
    return word.startsWith("--target=") ? [word.slice("--target=".length)] : [];
  });
  return words.some((_, at) => isFlag(words, at, "--target")) &&
    named.every((target) => LOOPBACK.test(target));
}

/** Options without a value. */
const FLAGS = new Set(["--only-requests", "--insecure", "--bail"]);

/** Whether the word is that option, and neither another option's value nor after `--`. */
function isFlag(words: readonly string[], at: number, flag: string): boolean {
  const word = words[at]!;
  if (word !== flag && !word.startsWith(`${flag}=`)) return false;
  const before = words[at - 1] ?? "";
  const isFree = !before.startsWith("-") || /^--[\w-]+=/.test(before) || FLAGS.has(before);
  return isFree && isStatic(before) && !words.slice(0, at).includes("--");
}
