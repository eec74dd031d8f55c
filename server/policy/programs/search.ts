import { forNames } from "./options.ts";
import { grepReach, ripgrepReach, searchReach } from "./recursion.ts";
import { type Row, row } from "./record.ts";

const GREP =
  "-e,--regexp= -f,--file=< -A,--after-context= -B,--before-context= -C,--context= -m,--max-count= " +
  "-d= -D= -r,--recursive -R,--dereference-recursive -n -i -l -L -c -o -q -s -v -w -x -E -F -G -P " +
  "-H -h -z -Z -a -I -U -b -T --include= --exclude= --exclude-dir= --exclude-from=< --directories= " +
  "--label= --color=? --binary-files=";

/** Programs that list files or search in them. */
export const SEARCH: Record<string, Row> = {
  file: row(
    "reads",
    "-b,--brief -i,--mime -F,--separator= -k,--keep-going -L,--dereference -h,--no-dereference -N -n " +
      "-z,--uncompress -s -r -v,--version --mime-type --mime-encoding -f,--files-from=& " +
      "-m,--magic-file=< -e=~ -P=~",
  ),
  stat: row(
    "reads",
    "-L,--dereference -f,--file-system -c,--format= -t,--terse -x -s -n --printf=",
    { reveals: "names" },
  ),
  readlink: row("reads", "-f -e -m -n -q -s -v -z", { reveals: "names" }),
  realpath: row("reads", "-e -m -L -P -q -s -z --relative-to= --relative-base=", {
    reveals: "names",
  }),
  grep: row(
    "pattern",
    "-E,--extended-regexp -F,--fixed-strings -G,--basic-regexp -P,--perl-regexp -e,--regexp= " +
      "-f,--file=< -i,-y,--ignore-case -w,--word-regexp -x,--line-regexp -z,--null-data " +
      "-s,--no-messages -v,--invert-match -V,--version -m,--max-count= -b,--byte-offset " +
      "-n,--line-number -H,--with-filename -h,--no-filename -o,--only-matching -q,--quiet,--silent " +
      "-a,--text -I -d,--directories= -D,--devices= -r,--recursive -R,--dereference-recursive " +
      "-L,--files-without-match -l,--files-with-matches -c,--count -T,--initial-tab -Z,--null " +
      "-A,--after-context= -B,--before-context= -C,--context= -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -U,--binary " +
      "--no-ignore-case --line-buffered --label= --binary-files= --include= --exclude= --exclude-from=< " +
      "--exclude-dir= --group-separator= --no-group-separator --color=? --colour=?",
    { below: grepReach },
  ),
  ...forNames("egrep fgrep ggrep", row("pattern", GREP, { below: grepReach })),
  // It gives each file to a grep without an operand.
  zgrep: row("pattern", GREP, { below: grepReach, here: true }),
  rg: row(
    "pattern",
    "-e,--regexp= -f,--file=< -A,--after-context= -B,--before-context= -C,--context= -m,--max-count= " +
      "-g,--glob= -t,--type= -T,--type-not= -r,--replace= -M,--max-columns= -j,--threads= " +
      "-d,--max-depth= -E,--encoding= -n,--line-number -N,--no-line-number -i,--ignore-case " +
      "-l,--files-with-matches -c,--count -o,--only-matching -q,--quiet -v,--invert-match " +
      "-w,--word-regexp -x,--line-regexp -F,--fixed-strings -P,--pcre2 -S,--smart-case " +
      "-s,--case-sensitive -u,--unrestricted -a,--text -U,--multiline -L,--follow -H,--with-filename " +
      "-I,--no-filename -p,--pretty -0,--null -b,--byte-offset -. -h,--help -V,--version --iglob= " +
      "--glob-case-insensitive --type-add= --type-clear= --type-list --max-columns-preview --sort= " +
      "--sortr= --color= --colors= --context-separator= --engine= --files-without-match --files " +
      "--count-matches --multiline-dotall --null-data --column --heading --no-heading --hidden " +
      "--no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-config --no-messages --stats " +
      "--json --vimgrep --trim --passthru --max-filesize= --binary --crlf --debug --line-buffered " +
      "--block-buffered --path-separator= --one-file-system --require-git --no-require-git -z~ --pre=! " +
      "--pre-glob=~ --hostname-bin=! --ignore-file=~",
    { below: ripgrepReach },
  ),
  look: row("pattern", "-a,--alternative -b -d,--alphanum -f,--ignore-case -t,--terminate="),
  ag: row("pattern", "-A= -B= -C= -G= -m= -p= -W= --ignore= --depth= --pager=!", {
    below: searchReach,
  }),
  ack: row("pattern", "-A= -B= -C= -g= -m= --type= --ignore-dir= --pager=! --output=", {
    below: searchReach,
  }),
  ls: row(
    "reads",
    "-a,--all -A,--almost-all -b,--escape -B,--ignore-backups -c -C -d,--directory -D,--dired -f " +
      "-F,--classify=? -g -G,--no-group -h,--human-readable -H,--dereference-command-line -i,--inode " +
      "-I,--ignore= -k,--kibibytes -l -L,--dereference -m -n,--numeric-uid-gid -N,--literal -o -p " +
      "-q,--hide-control-chars -Q,--quote-name -r,--reverse -R,--recursive -s,--size -S -t " +
      "-T,--tabsize= -u -U -v -w,--width= -x -X -Z,--context -1 -@ -e -O -W -P --author --block-size= " +
      "--color=? --file-type --format= --full-time --group-directories-first --si " +
      "--dereference-command-line-symlink-to-dir --hide= --hyperlink=? --indicator-style= " +
      "--show-control-chars --quoting-style= --sort= --time= --time-style= --zero",
    { reveals: "names" },
  ),
  tree: row(
    "reads",
    "-a -d -l -f -x -L= -P= -I= -q -N -Q -p -u -g -s -h -D -F -v -t -c -U -r -i -A -S -n -C -X -J " +
      "--ignore-case --matchdirs --prune --info~ --noreport --charset= --filelimit= --si --du --timefmt= " +
      "--dirsfirst --filesfirst --sort= --gitignore --metafirst -o=>",
    { reveals: "names" },
  ),
  du: row(
    "reads",
    "-0,--null -a,--all -B,--block-size= -b,--bytes -c,--total -D,--dereference-args -d,--max-depth= " +
      "-H -h,--human-readable -k -L,--dereference -l,--count-links -m -P,--no-dereference " +
      "-S,--separate-dirs -s,--summarize -t,--threshold= -x,--one-file-system --apparent-size --inodes " +
      "--si --time=? --time-style= --exclude= -X,--exclude-from=< --files0-from=&",
    { reveals: "names" },
  ),
  find: row(
    "none",
    "-H -L -P -O -D= -d -o -a -amin= -anewer= -atime= -cmin= -cnewer= -ctime= -daystart -depth -empty " +
      "-executable -false -follow -fstype= -gid= -group= -ignore_readdir_race -ilname= -iname= -inum= " +
      "-ipath= -iregex= -iwholename= -links= -lname= -ls -maxdepth= -mindepth= -mmin= -mount -mtime= " +
      "-name= -newer= -nogroup -noleaf -nouser -path= -perm= -print -print0 -printf= -prune -quit " +
      "-readable -regex= -regextype= -samefile= -size= -true -type= -uid= -used= -user= -warn -nowarn " +
      "-wholename= -writable -xdev -xtype= -or -and -not -delete -exec -execdir -fprint -fprint0 " +
      "-fprintf -fls",
    { single: true },
  ),
};
