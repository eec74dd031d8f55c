import { compileSegment, matchSegment } from "./glob.ts";
import { BRACKET, DEEP, isStatic, isWild, QUESTION, show, STAR, TAME } from "./holes.ts";
import { meter } from "./meter.ts";
import type { Surroundings } from "./request.ts";
import { baseName } from "./shell/grammar.ts";
import type { Effect, Unit } from "./shell/unit.ts";
import { analyse } from "./shell/analyse.ts";

/** Something that a command will write or delete. */
export interface Touched {
  /** Absolute, as the command sees it. */
  folder: string;
  /** Names below the folder, one test for each step; none where it is the folder itself. */
  names: NameTest[];
  /** Everything below it is touched too. */
  deep: boolean;
}

/** Whether a name is among those that a command means. */
export type NameTest = (name: string) => boolean;

/** What can be told beforehand of what a command does. */
export interface Foreseen {
  touched: Touched[];
  /** What it may do besides, in words; none where the files are all. */
  gaps: string[];
}

/** Programs of which the files that they are given tell everything that they do. */
const PLAIN = new Set(
  ("cat tac nl head tail wc sort uniq cut paste join comm diff cmp column fold fmt expand unexpand rev strings " +
    "xxd od hexdump base64 base32 file stat readlink realpath md5sum sha1sum sha256sum sha512sum shasum cksum b2sum " +
    "grep egrep fgrep ggrep rg jq yq ls tree du echo printf date sleep true false : test [ [[ pwd basename dirname seq " +
    "tr expr tee sponge truncate touch mkdir rm rmdir unlink rimraf mv cp gcp chmod sed gsed dd find gfind xargs gxargs " +
    "env nice ionice timeout gtimeout time nohup stdbuf command builtin exec cd pushd popd dirs export declare typeset " +
    "local readonly read mapfile readarray set shift unset alias unalias let eval trap exit return break continue wait " +
    "umask shopt getopts hash which type whoami id hostname uname nproc arch printenv factor numfmt shuf")
    .split(" "),
);

const SHELLS = /^(ba|da|z|k|mk|a)?sh$/;
const NETWORK =
  /^(curl|wget|nc|ncat|netcat|socat|ssh|scp|sftp|rsync|ftp|telnet|gh|aws|gcloud|kubectl|helm)$/;
const PROCESSES = /^(kill|pkill|killall|systemctl|launchctl|service|docker|podman|at|crontab)$/;
const MOST_GAPS = 20;

/**
 * The files that a command will change, as far as its text tells, and what it may do besides. Errs
 * towards more: of a file that is not touched after all, nothing but a copy was kept.
 */
export function foresee(command: string, cwd: string, around: Surroundings): Foreseen {
  const { user_home, script } = around;
  const analysed = analyse(command, { cwd, user_home, script });
  const units = analysed.units.filter(({ supposed }) => !supposed);
  const changes = analysed.effects.filter((effect) => effect.op !== "read" && !isSink(effect));
  const gaps = [
    ...analysed.doubts.map(({ reason }) => reason),
    ...analysed.unresolved.map((text) => `it cannot be told what "${text}" would be`),
    ...units.flatMap(gapOf),
    ...changes.flatMap(({ path }) =>
      isWild(path) ? [`it cannot be told what "${show(path)}" is`] : []
    ),
    ...(analysed.goes_on ? ["a part of it goes on in the background"] : []),
  ];
  const spreads = units.some(isSpreading);
  const touched = changes.filter(({ path }) => !isWild(path)).map(({ op, path }) =>
    touchedOf(path, op === "delete" || spreads)
  );
  return { touched, gaps: [...new Set(gaps)].slice(0, MOST_GAPS) };
}

function gapOf({ argv }: Unit): string[] {
  const name = baseName(argv[0] ?? "");
  if (name === "" || /^\w+=/.test(argv[0]!) || PLAIN.has(name)) return [];
  if (SHELLS.test(name) && argv.some((arg) => /^-[a-z]*c$/.test(arg))) return [];
  const shown = show(name).slice(0, 100);
  if (NETWORK.test(name)) return [`"${shown}" speaks to the network`];
  if (PROCESSES.test(name)) return [`"${shown}" acts on other processes`];
  return [`it cannot be told what else "${shown}" does`];
}

/** Given a folder, it writes what is below. */
function isSpreading({ argv: [program, ...args] }: Unit): boolean {
  return /^g?cp$|^chmod$/.test(baseName(program ?? "")) &&
    args.some((arg) => /^-[a-zA-Z]*[rRa]|^--(recursive|archive)$/.test(arg));
}

/** What keeps nothing of what is written to it. */
function isSink({ path }: Effect): boolean {
  return /^\/dev\/(null|zero|full|stdin|stdout|stderr|tty|fd\/\d+)$/.test(path);
}

function touchedOf(path: string, deep: boolean): Touched {
  if (isStatic(path)) return { folder: path, names: [], deep };
  const names = path.split("/").slice(1);
  const first = names.findIndex((name) => !isStatic(name));
  const folder = `/${names.slice(0, first).join("/")}`;
  if (path.includes(DEEP)) return { folder, names: [], deep: true };
  return { folder, names: names.slice(first).map(patternOf), deep };
}

const PATTERNS: Record<string, string> = {
  [STAR]: "*",
  [TAME]: "*",
  [QUESTION]: "?",
  [BRACKET]: "?",
};

/** Not a regular expression: of one with many stars a single name could hold the daemon for hours. */
function patternOf(name: string): NameTest {
  const text = [...name].map((char) => PATTERNS[char] ?? char.replace(/[\\*?[\]]/, "\\$&"))
    .join("");
  const segment = compileSegment(text.replace(/\*{2,}/g, "*"));
  return (one) => {
    meter.reset();
    return matchSegment(segment, one) !== "no";
  };
}
