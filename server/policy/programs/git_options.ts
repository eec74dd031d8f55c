import { type Spec, spec } from "./options.ts";

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

/** The harmless options of `git log`, of which many commands have a part. */
export const LOG_OPTIONS = `${DIFF} ` +
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
export const GIT_OPTIONS: Record<string, Spec> = {
  diff: spec(DIFF),
  "diff-files": spec(`${DIFF} -r -v`),
  "diff-index": spec(`${DIFF} -r -v`),
  "diff-tree": spec(`${LOG_OPTIONS} -r --root --stdin --no-commit-id -v`),
  reflog: spec(LOG_OPTIONS),
  stash: spec(LOG_OPTIONS),
  log: spec(LOG_OPTIONS),
  show: spec(LOG_OPTIONS),
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
  cherry: spec("-v,--verbose --abbrev=? --help"),
  "name-rev": spec(
    "--tags --refs= --exclude= --all --annotate-stdin --name-only --undefined --no-undefined --always --help",
  ),
  remote: spec("-v,--verbose --push --all --help"),
  "show-branch": spec(
    "-r,--remotes -a,--all --current --topo-order --date-order --sparse --more=? --list --independent " +
      "--merge-base --no-name --sha1-name --topics --color=? --no-color --help",
  ),
  "symbolic-ref": spec("-q,--quiet --short --recurse --no-recurse --help"),
  version: spec("--build-options --help"),
  tag: spec(
    "-l,--list -n=? --contains=? --no-contains=? --merged=? --no-merged=? --sort= --format= --points-at= --color=? --column=? -i --help",
  ),
};
