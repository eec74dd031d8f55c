import { BUILTINS } from "../policy/interpret/builtins.ts";
import { isInterpreter } from "../policy/programs/languages.ts";
import { ROWS } from "../policy/programs/rows.ts";
import { SHELLS } from "../policy/programs/grammar.ts";
import { SPECIALS } from "../policy/programs/specials.ts";
import { SUBWRAPPERS, WRAPPERS } from "../policy/programs/wrappers.ts";

/** A possible allow rule, before it is scored. */
export interface Draft {
  list: "allowedPaths" | "allowedCommands";
  pattern: string;
}

const MOST_BYTES = 200;

/** Rules that allow a path: its folders, the narrowest first, with and without its file type. */
export function draftPaths(path: string): Draft[] {
  // No rule for paths outside the project, hidden paths, or paths that look like patterns.
  if (path.startsWith("/") || !/^[\w@+=,~ -][\w@+=,.~ /-]*$/.test(path)) return [];
  const names = path.split("/");
  if (names.length < 2 || names.some((name) => name.startsWith(".") || name === "")) return [];
  const ending = /\.[A-Za-z0-9]{1,8}$/.exec(names.at(-1)!)?.[0];
  const folders = names.slice(0, -1).map((_, at) => names.slice(0, at + 1).join("/")).reverse();
  const patterns = folders.flatMap((folder, at) => [
    ...(ending !== undefined && at === 0 ? [`${folder}/*${ending}`] : []),
    ...(ending !== undefined ? [`${folder}/**/*${ending}`] : []),
    `${folder}/**`,
  ]);
  return patterns.filter(fits).map((pattern) => ({ list: "allowedPaths", pattern }));
}

/** Rules that allow a command: for each of its programs, with its arguments or with any. */
export function draftCommands(commands: readonly (readonly string[])[]): Draft[] {
  const patterns = commands.flatMap((argv) => isHarmless(argv) ? draftCommand(argv) : []);
  return [...new Set(patterns)].filter(fits)
    .map((pattern) => ({ list: "allowedCommands", pattern }));
}

function draftCommand(argv: readonly string[]): string[] {
  if (!argv.every((word) => /^[\w@%+=:,./-]+$/.test(word))) return [];
  const words = wideWords(argv);
  return words ? [argv.join(" "), `${words.join(" ")} *`] : [argv.join(" ")];
}

/** The words of a command that any arguments may follow; null if none may. */
function wideWords(argv: readonly string[]): readonly string[] | null {
  const wide = WIDE.find((words) => words.every((word, at) => argv[at] === word));
  const isTask = /^(npm|pnpm|yarn|bun|deno)$/.test(argv[0]!) && /^(run|task)$/.test(argv[1] ?? "");
  return wide ?? (isTask && /^[\w:.-]+$/.test(argv[2] ?? "") ? argv.slice(0, 3) : null);
}

/** Commands that are safe with any arguments: they read, build, test and format. */
const WIDE: string[][] = (
  "git status, git log, git diff, git show, git add, git commit, git blame, cargo build, " +
  "cargo test, cargo check, cargo clippy, cargo fmt, go build, go test, go vet, deno test, " +
  "deno lint, deno fmt, deno check, npm test, pnpm test, yarn test, bun test, pytest, jest, " +
  "vitest, tsc, eslint, prettier, biome, ruff, black, mypy, rubocop, rspec, phpunit, " +
  "mvn test, gradle test"
).split(", ").map((words) => words.split(" "));

/** Programs that affect machines, clouds, data and other people's work. */
const FAR_REACHING =
  /^(sudo|doas|su|docker|podman|kubectl|oc|helm|terraform|tofu|pulumi|aws|gcloud|az|heroku|fly|flyctl|vercel|netlify|firebase|gh|glab|systemctl|service|launchctl|shutdown|reboot|halt|poweroff|mkfs.*|fdisk|parted|mount|umount|iptables|ufw|crontab|at|psql|mysql|sqlite3|redis-cli|mongo|mongosh|ssh|scp|rsync|curl|wget|nc|ncat|socat|npx|bunx|pnpx|uvx|pipx|make|just|task|gate|kill|pkill|killall|brew|apt|apt-get|dnf|yum|pacman|apk|snap|pip|pip3|gem|ansible.*)$/;
const CHANGING =
  /^-{0,2}(delete|destroy|drop|remove|rm|prune|purge|reset|clean|publish|unpublish|deploy|release|push|force|f|uninstall|kill|truncate|apply|rollback|revert|hard|prod|production|no-verify|overwrite|nuke|wipe|erase|format|install|exec|eval)$/i;

/** Whether a rule may allow a command: it deletes nothing, stays local and runs no other code. */
function isHarmless(argv: readonly string[]): boolean {
  const [program = "", ...rest] = argv;
  if (!/^[a-z][\w.+-]*$/.test(program) || FAR_REACHING.test(program)) return false;
  if (rest.some((word) => CHANGING.test(word.split("=")[0]!))) return false;
  if (SHELLS.has(program) || isInterpreter(program)) return false;
  const tables: Record<string, unknown>[] = [SPECIALS, WRAPPERS, SUBWRAPPERS, BUILTINS, ROWS];
  return wideWords(argv) !== null || !tables.some((table) => Object.hasOwn(table, program));
}

function fits(pattern: string): boolean {
  return pattern.length > 0 && pattern.length <= MOST_BYTES;
}
