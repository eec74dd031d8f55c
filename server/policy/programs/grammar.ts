import { GENERIC, has, type Parsed, readOptions, type Spec, spec } from "./options.ts";

/** A program's options, and those of each of its subcommands. */
interface Grammar {
  options: Spec;
  /** Options that the arguments imply without naming them. */
  implies?: (read: Parsed) => string[];
  subcommands?: Record<string, Spec | Grammar>;
}

const posix = { posix: true };

/** `+branch` and `--mirror` overwrite the remote branch, as `--force` does. */
function forcedPush({ options, operands }: Parsed): string[] {
  const forces = operands.some((one) => /^\+./.test(one)) ||
    options.some(({ name }) => name === "mirror");
  return forces ? ["force"] : [];
}

/** `-d --force` is `-D`; so it is for moving and copying. */
function forcedBranch(read: Parsed): string[] {
  if (!has(read, "force")) return [];
  const forced = { delete: "D", move: "M", copy: "C" };
  return Object.entries(forced).flatMap(([name, short]) => has(read, name) ? [short] : []);
}

/** Only the spellings of options without a value; the others are read as for any program. */
const FORCED = spec("-f,--force");
const FETCHED = spec("-f,--force -p,--prune");
const REMOVED = spec("-f,--force -s,--stop -v,--volumes");
const PRUNED = spec("-a,--all -f,--force");

const git: Grammar = {
  options: spec(
    "-C= -c= --exec-path=? --git-dir= --work-tree= --namespace= --super-prefix= --config-env= " +
      "-p,--paginate -P,--no-pager --no-replace-objects --bare --literal-pathspecs " +
      "--glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks " +
      "--no-lazy-fetch --no-advice --attr-source= --html-path --man-path --info-path " +
      "-v,--version -h,--help --list-cmds=",
    posix,
  ),
  subcommands: {
    push: {
      options: spec(
        "-v,--verbose -q,--quiet --repo= --all --branches --mirror --tags -d,--delete -n,--dry-run " +
          "--porcelain -f,--force --force-with-lease=? --force-if-includes --recurse-submodules= " +
          "--thin --no-thin --receive-pack= --exec= -u,--set-upstream --progress --prune " +
          "--no-verify --verify --follow-tags --signed=? --atomic -o,--push-option= -4,--ipv4 -6,--ipv6",
      ),
      implies: forcedPush,
    },
    reset: spec(
      "-q,--quiet --no-refresh --refresh --mixed --soft --hard --merge --keep " +
        "--recurse-submodules=? -p,--patch -N,--intent-to-add --pathspec-from-file= " +
        "--pathspec-file-nul -U,--unified= --inter-hunk-context=",
    ),
    clean: spec(
      "-q,--quiet -n,--dry-run -f,--force -i,--interactive -d -e,--exclude= -x -X",
    ),
    commit: spec(
      "-a,--all -p,--patch -C,--reuse-message= -c,--reedit-message= --fixup= --squash= " +
        "--reset-author --short --branch --porcelain --long -z,--null -F,--file= --author= " +
        "--date= -m,--message= -t,--template= -s,--signoff --trailer= -n,--no-verify " +
        "--allow-empty --allow-empty-message --cleanup= -e,--edit --no-edit --amend " +
        "-i,--include -o,--only --pathspec-from-file= -u,--untracked-files=? -v,--verbose " +
        "-q,--quiet --dry-run -S,--gpg-sign=?",
    ),
    tag: spec(
      "-a -s -u= -f,--force -d,--delete -v,--verify -n=? -l,--list -m,--message= -F,--file=",
    ),
    checkout: spec(
      "-q,--quiet -f,--force --ours --theirs -b= -B= -t,--track=? --no-track -l -d,--detach " +
        "--orphan= -m,--merge --conflict= -p,--patch --ignore-skip-worktree-bits --pathspec-from-file=",
    ),
    rm: spec("-f,--force -n,--dry-run -r --cached --ignore-unmatch -q,--quiet --sparse"),
    switch: FORCED,
    "checkout-index": spec("-f,--force -a,--all"),
    mv: FORCED,
    add: FORCED,
    fetch: FETCHED,
    pull: FETCHED,
    rebase: spec("-i,--interactive"),
    restore: spec("-S,--staged -W,--worktree"),
    "filter-branch": FORCED,
    worktree: { options: FORCED, subcommands: {} },
    submodule: { options: FORCED, subcommands: {} },
    branch: {
      options: spec(
        "-d,--delete -D -m,--move -M -c,--copy -C -f,--force -l,--list -a,--all -r,--remotes " +
          "-u,--set-upstream-to= --contains=? --merged=? --no-merged=? --sort= --format= -q,--quiet " +
          "-v,--verbose --show-current --edit-description",
      ),
      implies: forcedBranch,
    },
    stash: { options: spec("", posix), subcommands: {} },
  },
};

const docker: Grammar = {
  options: spec(
    "--config= -c,--context= -D,--debug -H,--host= -l,--log-level= --tls --tlscacert= " +
      "--tlscert= --tlskey= --tlsverify -v,--version",
    posix,
  ),
  subcommands: {
    container: { options: REMOVED, subcommands: {} },
    compose: {
      options: spec(
        "-f,--file= -p,--project-name= --profile= --env-file= --project-directory= --ansi= " +
          "--progress= --parallel= --compatibility --dry-run",
        posix,
      ),
      subcommands: { down: spec("-v,--volumes"), rm: REMOVED },
    },
    rm: REMOVED,
    rmi: FORCED,
    image: { options: PRUNED, subcommands: {} },
    volume: { options: PRUNED, subcommands: {} },
    network: { options: PRUNED, subcommands: {} },
    system: { options: PRUNED, subcommands: {} },
  },
};

const kubectl: Grammar = {
  options: spec("-n,--namespace= --context= --kubeconfig= --cluster= --user= -s,--server= -v="),
};

const npm: Grammar = {
  options: spec("--prefix= -C= -w,--workspace= --loglevel= -g,--global -f,--force"),
  subcommands: {},
};

const rm = spec(
  "-f,--force -i -I --interactive=? --one-file-system --no-preserve-root --preserve-root=? " +
    "-r,-R,--recursive -d,--dir -v,--verbose --help --version",
);

/** The options of programs that rules often name; other programs need no row. */
export const GRAMMARS: Record<string, Grammar> = {
  git,
  docker,
  podman: docker,
  kubectl,
  oc: kubectl,
  npm,
  pnpm: {
    options: spec("-C,--dir= -F,--filter= -w,--workspace-root -r,--recursive -g,--global"),
    subcommands: {},
  },
  yarn: { options: spec("--cwd="), subcommands: {} },
  cargo: { options: spec("--color= --config= -Z= --manifest-path="), subcommands: {} },
  rm: { options: rm },
  grm: { options: rm },
  find: {
    options: spec("-delete -exec= -execdir= -ok= -okdir= -name= -type= -path=", { single: true }),
  },
  chmod: {
    options: spec("-c,--changes -f,--silent,--quiet -v,--verbose -R,--recursive --reference="),
  },
  chown: {
    options: spec(
      "-c,--changes -f,--silent,--quiet -v,--verbose -R,--recursive --from= --reference= -h -H -L -P",
    ),
  },
  terraform: { options: spec("-chdir=", { single: true }), subcommands: {} },
  systemctl: {
    options: spec(
      "-H,--host= -M,--machine= -t,--type= -p,--property= -n,--lines= -o,--output= -s,--signal=",
    ),
  },
  sudo: { options: spec("", posix) },
};

/** A command's words (`git push`, `docker container rm`), and the options and operands after them. */
export interface Read extends Parsed {
  words: string[];
  /** The subcommand is not known. */
  unknown: boolean;
}

/** Programs whose first operand is a subcommand. */
const SUBCOMMANDED = new Set(Object.keys(GRAMMARS).filter((name) => GRAMMARS[name]!.subcommands));

/** Reads a command: its words, its options under their canonical names, its operands. */
export function readCommand(program: string, args: readonly string[]): Read {
  const grammar = GRAMMARS[program];
  if (!grammar) return { words: [program], unknown: false, ...readOptions(args, GENERIC) };
  const parsed = readOptions(args, grammar.options);
  if (!SUBCOMMANDED.has(program)) return { words: [program], unknown: false, ...parsed };
  return readSub([program], grammar, parsed);
}

function readSub(words: string[], grammar: Grammar, parsed: Parsed): Read {
  const [name, ...rest] = parsed.operands;
  if (name === undefined) return { words, unknown: parsed.wild, ...parsed };
  const found = grammar.subcommands?.[name] ?? GENERIC;
  const inner: Grammar = "options" in found ? found : { options: found };
  const read = readOptions(rest, inner.options);
  const implied = (inner.implies?.(read) ?? []).map((name) => ({ name, value: null }));
  const all: Parsed = {
    options: [...parsed.options, ...read.options, ...implied],
    operands: read.operands,
    raw: parsed.raw.size === 0 ? read.raw : new Set([...parsed.raw, ...read.raw]),
    wild: parsed.wild || read.wild,
    open: parsed.open || read.open,
  };
  if (inner.subcommands) return readSub([...words, name], inner, all);
  return { words: [...words, name], unknown: false, ...all };
}

/** Shells that read the Bourne shell's language. */
export const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "yash"]);

/** The name of a program as rules use it: without folders, and without `.exe`, `.cmd` or `.bat`. */
export function baseName(program: string): string {
  const name = lastName(program);
  return name.charCodeAt(name.length - 4) === DOT && SUFFIX.test(name.slice(-4))
    ? name.slice(0, -4)
    : name;
}

const DOT = 46;
const SUFFIX = /^\.(?:exe|cmd|bat)$/i;

/** The last name of a program's path. Every rule looks up the same program, so one result is cached. */
export function lastName(program: string): string {
  if (program !== lastProgram) {
    lastProgram = program;
    const at = Math.max(program.lastIndexOf("/"), program.lastIndexOf("\\"));
    lastProgramName = at < 0 ? program : program.slice(at + 1);
  }
  return lastProgramName;
}

let [lastProgram, lastProgramName] = ["", ""];
