import { forNames } from "./options.ts";
import { diffReach } from "./recursion.ts";
import { type Row, row } from "./record.ts";
import { SED_OPTIONS } from "./sed.ts";

/** Programs that print or transform text. */
export const TEXT: Record<string, Row> = {
  cat: row(
    "reads",
    "-A,--show-all -b,--number-nonblank -e -E,--show-ends -n,--number -s,--squeeze-blank -t " +
      "-T,--show-tabs -u -v,--show-nonprinting -l",
  ),
  tac: row("reads", "-b -r -s,--separator="),
  bat: row(
    "reads",
    "-l,--language= -p -n -A -r,--line-range= -H,--highlight-line= --style= --theme= --paging= " +
      "--pager= --color=",
  ),
  nl: row("reads", "-b= -d= -f= -h= -i= -l= -n= -s= -v= -w="),
  head: row(
    "reads",
    "-c,--bytes= -n,--lines= -q,--quiet,--silent -v,--verbose -z,--zero-terminated -0 -1 -2 -3 -4 -5 " +
      "-6 -7 -8 -9",
  ),
  tail: row(
    "reads",
    "-c,--bytes= -f,--follow=? -F -n,--lines= -q,--quiet,--silent -s,--sleep-interval= -v,--verbose " +
      "-z,--zero-terminated -r -b= -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 --max-unchanged-stats= --pid= --retry",
  ),
  ...forNames(
    "less more",
    row("reads", "-b= -h= -j= -k= -o,--log-file=> -O= -p,--pattern= -P= -t,--tag= -T= -x= -y= -z="),
  ),
  wc: row(
    "reads",
    "-c,--bytes -m,--chars -l,--lines -L,--max-line-length -w,--words --total= --files0-from=&",
    { reveals: "sizes" },
  ),
  sort: row(
    "reads",
    "-b,--ignore-leading-blanks -d,--dictionary-order -f,--ignore-case -g,--general-numeric-sort " +
      "-i,--ignore-nonprinting -M,--month-sort -h,--human-numeric-sort -n,--numeric-sort " +
      "-R,--random-sort -r,--reverse -V,--version-sort -c,--check=? -C -m,--merge -k,--key= -s,--stable " +
      "-S,--buffer-size= -t,--field-separator= -u,--unique -z,--zero-terminated -o,--output=> --sort= " +
      "--batch-size= --parallel= -T,--temporary-directory=~ --files0-from=& --compress-program=! " +
      "--random-source=~",
  ),
  uniq: row("copy", "-c -d -D -f,--skip-fields= -i -s,--skip-chars= -u -w,--check-chars= -z"),
  cut: row(
    "reads",
    "-b= -c= -d,--delimiter= -f,--fields= -s -n -z --complement --output-delimiter=",
  ),
  paste: row("reads", "-d= -s -z"),
  join: row("reads", "-a= -e= -i -j= -o= -t= -v= -1= -2="),
  comm: row("reads", "-1 -2 -3 -z --output-delimiter= --check-order --total"),
  diff: row(
    "reads",
    "-q,--brief -s,--report-identical-files -c -C,--context= -u -U,--unified= -e,--ed -n,--rcs " +
      "-y,--side-by-side -W,--width= -p,--show-c-function -F,--show-function-line= -t,--expand-tabs " +
      "-T,--initial-tab -r,--recursive -N,--new-file -x,--exclude= -X,--exclude-from= " +
      "-S,--starting-file= -i,--ignore-case -E,--ignore-tab-expansion -Z,--ignore-trailing-space " +
      "-b,--ignore-space-change -w,--ignore-all-space -B,--ignore-blank-lines " +
      "-I,--ignore-matching-lines= -a,--text -d,--minimal -v,--version --normal --left-column " +
      "--suppress-common-lines --label= --tabsize= --suppress-blank-empty --no-dereference " +
      "--unidirectional-new-file --ignore-file-name-case --strip-trailing-cr --horizon-lines= " +
      "--speed-large-files --color=? --palette= -l~ -L=~",
    { below: diffReach },
  ),
  cmp: row("reads", "-b -i= -l -n= -s"),
  column: row("reads", "-c= -s,--separator= -t -x -o= -N= -J -n= -l= -H= -R= -T="),
  fold: row("reads", "-b -s -w="),
  fmt: row("reads", "-c -p= -s -t -u -w= -g="),
  expand: row("reads", "-i -t="),
  unexpand: row("reads", "-a -t="),
  rev: row("reads"),
  sed: row("none", SED_OPTIONS),
  strings: row("reads", "@ -a -e= -n= -t= -o -f"),
  xxd: row("copy", "-r -p -c= -g= -l= -s= -o= -u -b -e -i -a -E"),
  od: row("reads", "-A= -j= -N= -S= -t= -v -w=? -c -x -d -b -o -a"),
  hexdump: row("reads", "-C -n= -s= -e= -f= -v -b -c -d -o -x"),
  base64: row("reads", "-d -D -i -w,--wrap= --decode"),
  base32: row("reads", "-d -i -w="),
  uuencode: row("reads", "-m -o="),
  uudecode: row("reads", "-o,--output-file> -c -i -p -r -s"),
  iconv: row("reads", "-f,--from-code= -t,--to-code= -l,--list -c -s -o,--output=> --verbose"),
  ...forNames("dos2unix unix2dos", row("writes")),
  plutil: row("writes", "-o= -e= -p -convert= -extract= -lint", { single: true }),
  ...forNames(
    "md5 md5sum sha1sum sha256sum sha512sum shasum cksum b2sum",
    row("reads", "-a,--algorithm= -b -c,--check -t -w -q -l,--length= --tag --status", {
      listsWith: ["check"],
    }),
  ),
  jq: row(
    "pattern",
    "-n,--null-input -R,--raw-input -s,--slurp -c,--compact-output -r,--raw-output -j,--join-output " +
      "-a,--ascii-output -S,--sort-keys -C,--color-output -M,--monochrome-output -f,--from-file= " +
      "-e,--exit-status -h,--help -V,--version --raw-output0 --tab --indent= --unbuffered --stream " +
      "--stream-errors --seq --arg=2 --argjson=2 --slurpfile=2< --rawfile=2< --args --jsonargs " +
      "-L,--library-path=~",
  ),
  yq: row("pattern", "-i,--inplace -o= -p= -I= -P -r -e -n -s= -f= -j -y --from-file=", {
    onlyWith: ["inplace"],
  }),
  xmllint: row("reads", "-o,--output=> --xpath= --format --schema= --noout"),
  patch: row(
    "writes",
    "-p= -i,--input=< -o,--output=> -d,--directory=> -R -N -f -s -b -B,--prefix=> -D= -F= " +
      "-r,--reject-file=> -V= -Y,--basename-prefix=> -z,--suffix=> --dry-run",
    { words: "code" },
  ),
  split: row(
    "copy",
    "-a= -b= -C= -d -e -l= -n= -t= -u -x --additional-suffix= --filter=! --verbose",
    { words: "code" },
  ),
  csplit: row("reads", "-b,--suffix-format=> -f,--prefix=> -k -n= -q -s -z"),
};
