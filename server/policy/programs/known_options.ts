import { none, ROWS } from "./rows.ts";
import { isDescribed } from "./described.ts";
import {
  GENERIC,
  has,
  type Parsed,
  readOptions,
  type Spec,
  spec,
  splitCommand,
} from "./options.ts";
import { GRAMMARS } from "./grammar.ts";
import { RUNNERS } from "./runners.ts";
import { SED } from "./sed.ts";

const DIFF =
  "-p,-u,--patch -s,--no-patch -U,--unified= -W,--function-context --raw --patch-with-raw --patch-with-stat " +
  "--numstat --shortstat --dirstat=? -X=? --cumulative --dirstat-by-file=? --check --summary --name-only --name-status " +
  "--stat=? --stat-width= --stat-name-width= --stat-graph-width= --stat-count= --compact-summary --binary -z " +
  "--full-index --color=? --no-color --ws-error-highlight= --abbrev=? --no-abbrev --src-prefix= --dst-prefix= " +
  "--line-prefix= --no-prefix --inter-hunk-context= --output-indicator-new= --output-indicator-old= " +
  "--output-indicator-context= -B,--break-rewrites=? -M,--find-renames=? -D,--irreversible-delete " +
  "-C,--find-copies=? --find-copies-harder --no-renames --rename-empty --no-rename-empty --follow -l= --minimal " +
  "-w,--ignore-all-space -b,--ignore-space-change --ignore-space-at-eol --ignore-cr-at-eol --ignore-blank-lines " +
  "-I,--ignore-matching-lines= --indent-heuristic --no-indent-heuristic --patience --histogram --diff-algorithm= " +
  "--anchored= --word-diff=? --word-diff-regex= --color-words=? --color-moved=? --no-color-moved --color-moved-ws= " +
  "--relative=? --no-relative -a,--text -R --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules=? " +
  "--submodule=? -S= -G= --pickaxe-all --pickaxe-regex --rotate-to= --skip-to= --find-object= --diff-filter= " +
  "--default-prefix -1 -2 -3 -0 --base --ours --theirs --cached --staged --merge-base --no-index -c --cc " +
  "--combined-all-paths -m -t --diff-merges= --no-diff-merges --remerge-diff --help";

const LOG = `${DIFF} ` +
  "-q,--quiet --source --use-mailmap --mailmap --no-mailmap --decorate=? --no-decorate --decorate-refs= " +
  "--decorate-refs-exclude= --clear-decorations -L= -n,--max-count= --skip= --since= --after= --until= --before= " +
  "--since-as-filter= --author= --committer= --grep-reflog= --grep= --all-match --invert-grep -i,--regexp-ignore-case " +
  "--basic-regexp -E,--extended-regexp -F,--fixed-strings -P,--perl-regexp --remove-empty --merges --no-merges " +
  "--min-parents= --max-parents= --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --not " +
  "--all --branches=? --tags=? --remotes=? --glob= --exclude= --exclude-hidden= --reflog --alternate-refs " +
  "--single-worktree --ignore-missing --bisect --cherry-mark --cherry-pick --left-only --right-only --cherry " +
  "-g,--walk-reflogs --merge --boundary --simplify-by-decoration --show-pulls --full-history --dense --sparse " +
  "--simplify-merges --ancestry-path=? --date-order --author-date-order --topo-order --reverse --no-walk=? --do-walk " +
  "--pretty=? --format= --abbrev-commit --no-abbrev-commit --oneline --encoding= --expand-tabs=? --no-expand-tabs " +
  "--notes=? --no-notes --show-notes=? --show-signature --relative-date --date= --parents --children --left-right " +
  "--graph --no-graph --show-linear-break=? --count --timestamp -4 -5 -6 -7 -8 -9";

/** The complete lists of harmless options of git commands that policies often allow. */
const GIT: Record<string, Spec> = {
  diff: spec(DIFF),
  log: spec(LOG),
  show: spec(LOG),
  status: spec(
    "-s,--short -b,--branch --show-stash --porcelain=? --long -v,--verbose -u,--untracked-files=? " +
      "--ignore-submodules=? --ignored=? -z --column=? --no-column --ahead-behind --no-ahead-behind " +
      "--renames --no-renames --find-renames=? --help",
  ),
  add: spec(
    "-v,--verbose -n,--dry-run -f,--force --sparse -u,--update -A,--all,--no-ignore-removal --no-all " +
      "--ignore-removal -N,--intent-to-add --refresh --ignore-errors --ignore-missing --renormalize --chmod= -p,--patch --help",
  ),
  commit: spec(
    "-a,--all -p,--patch -C,--reuse-message= -c,--reedit-message= --fixup= --squash= --reset-author --short " +
      "--branch --porcelain --long -z,--null -F,--file= --author= --date= -m,--message= -s,--signoff --no-signoff " +
      "--trailer= -n,--no-verify --allow-empty --allow-empty-message --cleanup= --no-edit --amend -i,--include " +
      "-o,--only -u,--untracked-files=? -v,--verbose -q,--quiet --dry-run --status --no-status --no-gpg-sign -S,--gpg-sign=? --help",
  ),
  blame: spec(
    "-b --root --show-stats -L= -l -t -S= --reverse --first-parent -p,--porcelain --line-porcelain --incremental " +
      "--encoding= --date= --progress --no-progress -M=? -C=? -h -c --score-debug -f,--show-name -n,--show-number -s " +
      "-e,--show-email -w --abbrev=? --color-lines --color-by-age --minimal --help",
  ),
  "rev-parse": spec(
    "--abbrev-ref=? --verify -q,--quiet --sq --short=? --not --symbolic --symbolic-full-name --all --branches=? " +
      "--tags=? --remotes=? --show-toplevel --show-cdup --show-prefix --git-dir --absolute-git-dir --git-common-dir " +
      "--is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-object-format=? " +
      "--git-path= --since= --after= --until= --before= --path-format= --revs-only --no-revs --flags --no-flags --default= --help",
  ),
  "ls-files": spec(
    "-c,--cached -d,--deleted -m,--modified -o,--others -i,--ignored -s,--stage -u,--unmerged -k,--killed --directory " +
      "--no-empty-directory -z -x,--exclude= -X,--exclude-from= --exclude-per-directory= --exclude-standard --error-unmatch " +
      "--with-tree= --full-name --recurse-submodules --abbrev=? -t -v -f --deduplicate --eol --sparse --format= --help",
  ),
  "ls-tree": spec(
    "-d -r -t -l,--long -z --name-only --name-status --object-only --full-name --full-tree --abbrev=? --format= --help",
  ),
  describe: spec(
    "--dirty=? --broken=? --all --tags --contains --abbrev=? --candidates= --exact-match --debug --long --match= " +
      "--exclude= --always --first-parent --help",
  ),
  shortlog: spec(
    "-n,--numbered -s,--summary -e,--email --format= -c,--committer --group= -w=? --all --since= --until= --no-merges --help",
  ),
  "rev-list": spec(
    "-n,--max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep= --merges --no-merges " +
      "--first-parent --all --branches=? --tags=? --remotes=? --count --left-right --left-only --right-only --cherry-pick " +
      "--objects --reverse --topo-order --date-order --oneline --abbrev-commit --pretty=? --format= --parents --not --help",
  ),
  "merge-base": spec("-a,--all --octopus --independent --is-ancestor --fork-point --help"),
  "show-ref": spec(
    "--head --branches --heads --tags -d,--dereference -s,--hash=? --verify --exists --abbrev=? -q,--quiet --help",
  ),
  "for-each-ref": spec(
    "--count= --sort= --format= --points-at= --merged=? --no-merged=? --contains=? --no-contains=? --ignore-case --color=? --help",
  ),
  "check-ignore": spec("-q,--quiet -v,--verbose --stdin -z -n,--non-matching --no-index --help"),
  "count-objects": spec("-v,--verbose -H,--human-readable --help"),
  "cat-file": spec(
    "-t -s -e -p --batch=? --batch-check=? --batch-all-objects --allow-unknown-type --buffer --unordered -z --help",
  ),
  grep: spec(
    "--cached --untracked -a,--text -i,--ignore-case -I -r,--recursive --no-recursive --max-depth= -w,--word-regexp " +
      "-v,--invert-match -h -H --full-name -E,--extended-regexp -G,--basic-regexp -P,--perl-regexp -F,--fixed-strings " +
      "-n,--line-number --column -l,--files-with-matches,--name-only -L,--files-without-match -z,--null -o,--only-matching " +
      "-c,--count --color=? --no-color --break --heading -p,--show-function -A,--after-context= -B,--before-context= " +
      "-C,--context= -W,--function-context -m,--max-count= --threads= -e= --and --or --not --all-match -q,--quiet --help",
  ),
  branch: spec(
    "-a,--all -r,--remotes -v,--verbose -l,--list --show-current --contains=? --no-contains=? --merged=? --no-merged=? " +
      "--sort= --format= --points-at= --color=? --no-color --column=? --no-column -i,--ignore-case --abbrev=? --no-abbrev --help",
  ),
  tag: spec(
    "-l,--list -n=? --contains=? --no-contains=? --merged=? --no-merged=? --sort= --format= --points-at= --color=? --column=? -i --help",
  ),
};

/** The complete lists of harmless options of other programs. A row is the list of its program otherwise. */
export const COMPLETE: Record<string, Spec> = {
  ls: spec(
    "-a,--all -A,--almost-all --author -b,--escape --block-size= -B,--ignore-backups -c -C --color=? " +
      "-d,--directory -D,--dired -f -F,--classify=? --file-type --format= --full-time -g --group-directories-first " +
      "-G,--no-group -h,--human-readable --si -H,--dereference-command-line --dereference-command-line-symlink-to-dir " +
      "--hide= --hyperlink=? --indicator-style= -i,--inode -I,--ignore= -k,--kibibytes -l -L,--dereference -m " +
      "-n,--numeric-uid-gid -N,--literal -o -p -q,--hide-control-chars --show-control-chars -Q,--quote-name " +
      "--quoting-style= -r,--reverse -R,--recursive -s,--size -S --sort= --time= --time-style= -t -T,--tabsize= -u " +
      "-U -v -w,--width= -x -X -Z,--context --zero -1 -@ -e -O -W -P --help --version",
  ),
  cat: spec(
    "-A,--show-all -b,--number-nonblank -e -E,--show-ends -n,--number -s,--squeeze-blank -t -T,--show-tabs -u " +
      "-v,--show-nonprinting -l --help --version",
  ),
  head: spec(
    "-c,--bytes= -n,--lines= -q,--quiet,--silent -v,--verbose -z,--zero-terminated -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 --help --version",
  ),
  tail: spec(
    "-c,--bytes= -f,--follow=? -F -n,--lines= --max-unchanged-stats= --pid= -q,--quiet,--silent --retry " +
      "-s,--sleep-interval= -v,--verbose -z,--zero-terminated -r -b= -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 --help --version",
  ),
  wc: spec(
    "-c,--bytes -m,--chars -l,--lines -L,--max-line-length -w,--words --total= --help --version",
  ),
  // The interpreter follows each action (`-exec`, `-delete`, `-fprint`).
  find: spec(
    "-H -L -P -O -D= -amin= -anewer= -atime= -cmin= -cnewer= -ctime= -daystart -depth -d -empty -executable -false " +
      "-follow -fstype= -gid= -group= -ignore_readdir_race -ilname= -iname= -inum= -ipath= -iregex= -iwholename= -links= " +
      "-lname= -ls -maxdepth= -mindepth= -mmin= -mount -mtime= -name= -newer= -nogroup -noleaf -nouser -path= -perm= " +
      "-print -print0 -printf= -prune -quit -readable -regex= -regextype= -samefile= -size= -true -type= -uid= -used= " +
      "-user= -warn -nowarn -wholename= -writable -xdev -xtype= -o -a -or -and -not -delete -exec -execdir -fprint -fprint0 " +
      "-fprintf -fls -help -version --help --version",
    { single: true },
  ),
  tree: spec(
    "-a -d -l -f -x -L= -P= -I= --ignore-case --matchdirs --prune --info --noreport --charset= --filelimit= -q -N -Q " +
      "-p -u -g -s -h --si --du -D --timefmt= -F -v -t -c -U -r --dirsfirst --filesfirst --sort= -i -A -S -n -C --gitignore " +
      "--metafirst -X -J --help --version",
  ),
  du: spec(
    "-0,--null -a,--all --apparent-size -B,--block-size= -b,--bytes -c,--total -D,--dereference-args -d,--max-depth= -H " +
      "-h,--human-readable --inodes -k -L,--dereference -l,--count-links -m -P,--no-dereference -S,--separate-dirs --si " +
      "-s,--summarize -t,--threshold= --time=? --time-style= --exclude= -x,--one-file-system --help --version",
  ),
  jq: spec(
    "-n,--null-input -R,--raw-input -s,--slurp -c,--compact-output -r,--raw-output --raw-output0 -j,--join-output " +
      "-a,--ascii-output -S,--sort-keys -C,--color-output -M,--monochrome-output --tab --indent= --unbuffered --stream " +
      "--stream-errors --seq -f,--from-file= -e,--exit-status --arg= --argjson= --slurpfile= --rawfile= --args --jsonargs " +
      "-h,--help -V,--version",
  ),
  sed: SED,
  diff: spec(
    "--normal -q,--brief -s,--report-identical-files -c -C,--context= -u -U,--unified= -e,--ed -n,--rcs -y,--side-by-side " +
      "-W,--width= --left-column --suppress-common-lines -p,--show-c-function -F,--show-function-line= --label= -t,--expand-tabs " +
      "-T,--initial-tab --tabsize= --suppress-blank-empty -r,--recursive --no-dereference -N,--new-file " +
      "--unidirectional-new-file --ignore-file-name-case -x,--exclude= -X,--exclude-from= -S,--starting-file= -i,--ignore-case " +
      "-E,--ignore-tab-expansion -Z,--ignore-trailing-space -b,--ignore-space-change -w,--ignore-all-space " +
      "-B,--ignore-blank-lines -I,--ignore-matching-lines= -a,--text --strip-trailing-cr -d,--minimal --horizon-lines= " +
      "--speed-large-files --color=? --palette= --help -v,--version",
  ),
  sort: spec(
    "-b,--ignore-leading-blanks -d,--dictionary-order -f,--ignore-case -g,--general-numeric-sort -i,--ignore-nonprinting " +
      "-M,--month-sort -h,--human-numeric-sort -n,--numeric-sort -R,--random-sort -r,--reverse --sort= -V,--version-sort " +
      "--batch-size= -c,--check=? -C -m,--merge -k,--key= -s,--stable -S,--buffer-size= -t,--field-separator= --parallel= " +
      "-u,--unique -z,--zero-terminated -o,--output= --help --version",
  ),
  stat: spec(
    "-L,--dereference -f,--file-system -c,--format= --printf= -t,--terse -x -s -n --help --version",
  ),
  file: spec(
    "-b,--brief -i,--mime --mime-type --mime-encoding -F,--separator= -k,--keep-going -L,--dereference -h,--no-dereference -N -n -z,--uncompress -s -r --help -v,--version",
  ),
  mkdir: spec("-m,--mode= -p,--parents -v,--verbose -Z --context=? --help --version"),
  grep: spec(
    "-E,--extended-regexp -F,--fixed-strings -G,--basic-regexp -P,--perl-regexp -e,--regexp= -f,--file= " +
      "-i,-y,--ignore-case --no-ignore-case -w,--word-regexp -x,--line-regexp -z,--null-data -s,--no-messages " +
      "-v,--invert-match -V,--version -m,--max-count= -b,--byte-offset -n,--line-number --line-buffered " +
      "-H,--with-filename -h,--no-filename --label= -o,--only-matching -q,--quiet,--silent --binary-files= -a,--text -I " +
      "-d,--directories= -D,--devices= -r,--recursive -R,--dereference-recursive --include= --exclude= --exclude-from= " +
      "--exclude-dir= -L,--files-without-match -l,--files-with-matches -c,--count -T,--initial-tab -Z,--null " +
      "-A,--after-context= -B,--before-context= -C,--context= --group-separator= --no-group-separator " +
      "-0 -1 -2 -3 -4 -5 -6 -7 -8 -9 --color=? --colour=? -U,--binary --help",
  ),
  rg: spec(
    "-e,--regexp= -f,--file= -A,--after-context= -B,--before-context= -C,--context= -m,--max-count= -g,--glob= " +
      "--iglob= --glob-case-insensitive -t,--type= -T,--type-not= --type-add= --type-clear= --type-list -r,--replace= " +
      "-M,--max-columns= --max-columns-preview -j,--threads= --sort= --sortr= --color= --colors= -d,--max-depth= " +
      "-E,--encoding= --context-separator= --engine= -n,--line-number -N,--no-line-number -i,--ignore-case " +
      "-l,--files-with-matches --files-without-match --files -c,--count --count-matches -o,--only-matching -q,--quiet " +
      "-v,--invert-match -w,--word-regexp -x,--line-regexp -F,--fixed-strings -P,--pcre2 -S,--smart-case " +
      "-s,--case-sensitive -u,--unrestricted -a,--text -U,--multiline --multiline-dotall -L,--follow -H,--with-filename " +
      "-I,--no-filename -p,--pretty -0,--null --null-data -b,--byte-offset --column --heading --no-heading --hidden -. " +
      "--no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-config --no-messages --stats --json --vimgrep " +
      "--trim --passthru --max-filesize= --binary --crlf --debug --line-buffered --block-buffered --path-separator= " +
      "--one-file-system --require-git --no-require-git -h,--help -V,--version",
  ),
};

/**
 * The options of a command that the tables do not know. Only programs with a list count; an allow
 * rule for the program covers such an option only if it names the option.
 */
export function unknownOptions(program: string, args: readonly string[]): string[] {
  if (program === "git") return ofGit(args);
  const known = Object.hasOwn(COMPLETE, program)
    ? COMPLETE[program]!
    : Object.hasOwn(RUNNERS, program)
    ? RUNNERS[program]!
    : Object.hasOwn(ROWS, program) && ROWS[program] !== none
    ? ROWS[program]!.grammar
    : null;
  if (known === null) {
    return isDescribed(program) ? [] : outside(readOptions(args, GENERIC), GENERIC);
  }
  return outside(readOptions(args, known), known);
}

/** Options of git itself that change no file, program or repository that it uses. */
const GIT_ITSELF = spec(
  "-C= -c= --no-pager -P --no-optional-locks --no-lazy-fetch --no-advice --literal-pathspecs --glob-pathspecs " +
    "--noglob-pathspecs --icase-pathspecs --no-replace-objects -v,--version -h,--help",
);

function ofGit(args: readonly string[]): string[] {
  const { parsed, rest } = splitCommand(args, GRAMMARS.git!.options, 0);
  const [name = "", ...given] = rest;
  const own = outside(parsed, GIT_ITSELF);
  if (!Object.hasOwn(GIT, name)) return own;
  const read = readOptions(given, GIT[name]!);
  // Without an index the operands are any two files.
  if (has(read, "no-index")) own.push("no-index");
  return [...own, ...outside(read, GIT[name]!)];
}

function outside({ options, raw }: Parsed, known: Spec): string[] {
  const names = new Set([...known.short.values(), ...known.long.values()].map(({ name }) => name));
  const unknown = options.map(({ name }) => name).filter((name) =>
    !names.has(name) && name !== "help" && name !== "version"
  );
  // An abbreviation may mean another option in another version of the program.
  for (const word of raw) {
    const long = known.single ? null : /^--([^=]+)/.exec(word)?.[1];
    if (long && !known.long.has(long) && !/^(help|version)$/.test(long)) unknown.push(long);
  }
  return [...new Set(unknown)];
}
