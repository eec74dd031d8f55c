import { forNames, type Spec, spec } from "./options.ts";
import {
  copyReach,
  diffReach,
  grepReach,
  type Reach,
  ripgrepReach,
  rsyncReach,
  searchReach,
  zipReach,
} from "./recursion.ts";

/** How a program uses its operands. */
export type Operands =
  | "none"
  | "reads"
  | "writes"
  | "deletes"
  | "copy"
  | "move"
  | "link"
  /** The first operand is a pattern (or mode); the program reads (or writes) the others. */
  | "pattern"
  | "mode";

/** The effects of one program: its options, its operands, and the options that name files or code. */
export interface Row {
  grammar: Spec;
  operands: Operands;
  /** Options whose value is a file to read. */
  reads: string[];
  /** Options whose value is a file to write. */
  writes: string[];
  /** Options whose value is shell code. */
  code: string[];
  /** Options that make a `pattern` program write its operands. */
  onlyWith: string[];
  /** The files then contain its input. */
  keeps: boolean;
  /** It builds its output from local sources, so the output is not unknown code. */
  builds: boolean;
  /** Options that make it only read the files in `writes`. */
  looks: string[];
  /** The files below its operands that it reads. */
  below: Reach | null;
  /** What it shows of its operands, if not their content. */
  reveals: "names" | "sizes" | null;
}

/** One row of the tables: the use of the operands, the options as in `spec`, the differences. */
export function row(
  operands: Operands,
  options = "",
  { single = false, ...how }: Partial<Row> & { single?: boolean } = {},
): Row {
  const none = {
    reads: [],
    writes: [],
    code: [],
    onlyWith: [],
    looks: [],
    keeps: false,
    builds: false,
    below: null,
    reveals: null,
  };
  return { ...none, ...how, operands, grammar: spec(options, { single }) };
}

/** A program that neither runs nor opens its operands. */
export const none = row("none");
const reads = row("reads");
const copyOptions =
  "-a,--archive -b --backup=? -d -f,--force -H -i,--interactive -l,--link -L -n,--no-clobber -p -P --preserve=? " +
  "-r,-R,--recursive --reflink=? --remove-destination --sparse= -s,--symbolic-link -S,--suffix= " +
  "-t,--target-directory= -T,--no-target-directory -u,--update=? -v,--verbose -x -Z -g -o -m,--mode= -O";
const hash = row("reads", "-a,--algorithm= -b -c,--check -t -w -q -l,--length= --tag --status");
const pager = row(
  "reads",
  "-b= -h= -j= -k= -o,--log-file= -O= -p,--pattern= -P= -t,--tag= -T= -x= -y= -z=",
  { writes: ["log-file"] },
);
const view = (options: string) => row("reads", options);
const names = (options: string, how: Partial<Row> = {}) =>
  row("reads", options, { ...how, reveals: "names" });
const grep = row(
  "pattern",
  "-e,--regexp= -f,--file= -A,--after-context= -B,--before-context= -C,--context= -m,--max-count= -d= -D= " +
    "--include= --exclude= --exclude-dir= --exclude-from= --directories= --label= --color=? --binary-files= -r,--recursive -R,--dereference-recursive -n -i -l -L -c -o -q -s -v -w -x -E -F -G -P -H -h -z -Z -a -I -U -b -T",
  { reads: ["file", "exclude-from"], below: grepReach },
);

/** Programs that work on files, one row each. */
const FILE_ROWS: Record<string, Row> = {
  // Files
  ...forNames("cp gcp", row("copy", copyOptions, { below: copyReach("recursive", "archive") })),
  install: row(
    "copy",
    "-b -c -C -d,--directory -D -g,--group= -m,--mode= -o,--owner= -p -s -S= -t,--target-directory= -T -v --backup=? --strip-program=",
    { code: ["strip-program"] },
  ),
  mv: row("move", copyOptions, { below: copyReach() }),
  ln: row(
    "link",
    "-b -d -f,--force -i -L -n -P -r,--relative -s,--symbolic -S= -t,--target-directory= -T -v",
  ),
  link: row("link"),
  rm: row(
    "deletes",
    "-f,--force -i -I --interactive=? -r,-R,--recursive -d,--dir -v,--verbose --no-preserve-root --preserve-root=? --one-file-system",
  ),
  rmdir: row("deletes", "-p,--parents -v,--verbose --ignore-fail-on-non-empty"),
  ...forNames("unlink trash trash-put", row("deletes")),
  shred: row("deletes", "-f -n,--iterations= -s,--size= -u -v -x -z --random-source= --remove=?"),
  srm: row("deletes", "-d -f -i -r,-R -s -m -v -n -z"),
  rimraf: row("deletes", "-G,--glob -v --preserve-root --no-preserve-root --impl="),
  "del-cli": row("deletes", "-f -d"),
  "gio": none,
  touch: row("writes", "-a -c,--no-create -d,--date= -f -h -m -r,--reference= -t= --time="),
  mkdir: row("writes", "-m,--mode= -p,--parents -v,--verbose -Z"),
  mkfifo: row("writes", "-m,--mode="),
  mknod: row("writes", "-m,--mode="),
  tee: row("writes", "-a,--append -i,--ignore-interrupts -p --output-error=?", { keeps: true }),
  sponge: row("writes", "-a,--append", { keeps: true }),
  truncate: row("writes", "-c,--no-create -o -r,--reference= -s,--size="),
  fallocate: row("writes", "-l,--length= -o,--offset= -n -p -d -c -z -v -x"),
  chmod: row(
    "mode",
    "-c -f,--silent,--quiet -v -R,--recursive --reference= --preserve-root --no-preserve-root",
  ),
  chown: row("mode", "-c -f,--silent,--quiet -v -R,--recursive --from= --reference= -h -H -L -P"),
  chgrp: row("mode", "-c -f -v -R,--recursive --reference= -h -H -L -P"),
  chattr: row("mode", "-R -V -f -v= -p="),
  chflags: row("mode", "-f -h -v -x -R -H -L -P"),
  setcap: row("mode", "-q -v -n= -f -r"),
  SetFile: row("writes", "-P -a= -c= -d= -m= -t="),
  screencapture: row(
    "writes",
    "-c -C -d -i -m -M -o -P -p -r -s -S -t= -T= -w -W -x -a -v -V= -D= -R= -l= -B= -u -U",
  ),
  ditto: row(
    "copy",
    "-h -v -V -X -c -k -x -z -j --rsrc --norsrc --extattr --noextattr --qtn --noqtn --acl --noacl --sequesterRsrc --keepParent --arch= --bom= --password --hfsCompression --zlibCompressionLevel= --nocache --clone",
  ),
  "update-alternatives": row(
    "none",
    "--install= --force --set --remove --altdir= --admindir= --log= --slave= --verbose --quiet",
    { writes: ["install"] },
  ),
  setfacl: row(
    "writes",
    "-m,--modify= -x,--remove= -M= -X= -b -k -d -R -L -P -n --set= --restore=",
  ),
  mail: row("none", "-s= -a= -b= -c= -r= -f= -q= -S= -A= --exec= --subject= --attach=", {
    code: ["exec"],
    reads: ["a", "A", "attach"],
  }),
  rpm: row(
    "none",
    "-q -a -i -U -e -v -h -f= --pipe= --eval= -E= --root= --dbpath= --queryformat= --qf=",
    { code: ["pipe", "eval", "E"] },
  ),
  // Reading
  cat: view("-A -b -e -E -n -s -t -T -u -v"),
  tac: view("-b -r -s,--separator="),
  bat: view(
    "-l,--language= -p -n -A --style= --theme= --paging= --pager= -r,--line-range= -H,--highlight-line= --color=",
  ),
  nl: view("-b= -d= -f= -h= -i= -l= -n= -s= -v= -w="),
  head: view("-n,--lines= -c,--bytes= -q -v -z"),
  tail: view("-n,--lines= -c,--bytes= -f,--follow=? -F -q -v -s= --pid= --retry -z"),
  less: pager,
  more: pager,
  wc: row("reads", "-c -m -l -L -w --files0-from=", {
    reads: ["files0-from"],
    reveals: "sizes",
  }),
  sort: row(
    "reads",
    "-b -d -f -g -i -M -h -n -R -r -V -c -m -s -u -z -o,--output= -T,--temporary-directory= -t= -k,--key= -S= --parallel= --batch-size= --files0-from= --compress-program= --random-source=",
    {
      writes: ["output"],
      code: ["compress-program"],
      reads: ["files0-from"],
    },
  ),
  uniq: row("copy", "-c -d -D -f,--skip-fields= -i -s,--skip-chars= -u -w,--check-chars= -z"),
  cut: view("-b= -c= -d,--delimiter= -f,--fields= -s -n -z --complement --output-delimiter="),
  paste: view("-d= -s -z"),
  join: view("-a= -e= -i -j= -o= -t= -v= -1= -2="),
  comm: view("-1 -2 -3 -z --output-delimiter= --check-order --total"),
  diff: row(
    "reads",
    "-a -b -B -c -C= -d -e -E -F= -i -I= -l -L= -n -N -p -q -r -s -S= -t -T -u -U= -w -W= -x,--exclude= -X= -y --label= --color=?",
    { below: diffReach },
  ),
  cmp: view("-b -i= -l -n= -s"),
  column: view("-c= -s,--separator= -t -x -o= -N= -J -n= -l= -H= -R= -T="),
  fold: view("-b -s -w="),
  fmt: view("-c -p= -s -t -u -w= -g="),
  expand: view("-i -t="),
  unexpand: view("-a -t="),
  rev: reads,
  strings: view("-a -e= -n= -t= -o -f"),
  xxd: row("copy", "-r -p -c= -g= -l= -s= -o= -u -b -e -i -a -E"),
  od: view("-A= -j= -N= -S= -t= -v -w=? -c -x -d -b -o -a"),
  hexdump: view("-C -n= -s= -e= -f= -v -b -c -d -o -x"),
  base64: view("-d -D --decode -i -w,--wrap="),
  base32: view("-d -i -w="),
  file: row("reads", "-b -i -f,--files-from= -F= -k -L -m,--magic-file= -n -z -e= -P=", {
    reads: ["files-from", "magic-file"],
  }),
  stat: names("-c,--format= --printf= -f -L -t"),
  readlink: names("-f -e -m -n -q -s -v -z"),
  realpath: names("-e -m -L -P -q -s -z --relative-to= --relative-base="),
  symbols: view("-arch="),
  uuencode: view("-m -o="),
  iconv: row("reads", "-f,--from-code= -t,--to-code= -l,--list -c -s -o,--output= --verbose", {
    writes: ["output"],
  }),
  lipo: row("reads", "-info -detailed_info -archs -create -thin= -extract= -output=", {
    single: true,
    writes: ["output"],
  }),
  sample: row("none", "-file= -mayDie -wait -fullPaths", { single: true, writes: ["file"] }),
  ...forNames("nano pico dos2unix unix2dos compress", row("writes")),
  plutil: row("writes", "-o= -e= -convert= -extract= -lint -p", { single: true }),
  ...forNames("rename prename", row("mode", "-v -n -f -s= -e= -E= -d -u")),
  ...forNames("md5 md5sum sha1sum sha256sum sha512sum shasum cksum b2sum", hash),
  grep,
  ...forNames("egrep fgrep zgrep ggrep", grep),
  rg: row(
    "pattern",
    "-e,--regexp= -f,--file= -A= -B= -C= -m= -g,--glob= --iglob= -t,--type= -T= --type-add= -r,--replace= -M= -j= --pre= --pre-glob= --sort= --color= --colors= --max-depth= -d= -E= --context-separator= --engine= --hostname-bin= --ignore-file= -n -i -l -c -o -q -v -w -x -F -P -S -s -u -z -a -U -L -H -I -N -p -0",
    { code: ["pre", "hostname-bin"], reads: ["file"], below: ripgrepReach },
  ),
  ag: row("pattern", "-A= -B= -C= -G= -m= --ignore= --depth= --pager= -p= -W=", {
    code: ["pager"],
    below: searchReach,
  }),
  ack: row("pattern", "-A= -B= -C= -g= -m= --type= --ignore-dir= --pager= --output=", {
    code: ["pager"],
    below: searchReach,
  }),
  jq: row(
    "pattern",
    "-f,--from-file= --arg= --argjson= --slurpfile= --rawfile= --indent= -L= --args --jsonargs -r -c -n -s -e -a -S -C -M -j -R --tab --seq --stream",
    { reads: ["from-file"] },
  ),
  yq: row("pattern", "-i,--inplace -o= -p= -I= -P -r -e -n -s= -f= -j -y --from-file=", {
    onlyWith: ["inplace"],
  }),
  xmllint: row("reads", "--xpath= --format -o,--output= --schema= --noout", { writes: ["output"] }),
  ls: names("-I= --color=? -w= -T= --block-size= --sort= --time= --format= --hide="),
  tree: names("-L= -I= -P= -o= --filelimit= --charset="),
  du: names("-B= -d,--max-depth= -t= -X= --exclude= --time=? --files0-from=", {
    reads: ["files0-from"],
  }),
};

const linter = row("none", "--fix --write --check -o,--output= --output-file=", {
  writes: ["output-file"],
  builds: true,
});

const sevenZip = row("none", "-o= -p= -t= -m= -x= -i= -w= -y -r -bd -so -si", { writes: ["o"] });

const dump = row(
  "none",
  "-f,--file= -d,--dbname= -h= -p= -U= -t= -n= -F,--format= -j= -W -w -v -c -C -l -L=",
  { writes: ["file"] },
);

const gateRow = row(
  "none",
  "--bundle= --repro= --record= --report= --output= --command= --project=",
  { writes: ["bundle", "repro", "record"] },
);

/** All known programs, one row each. */
export const ROWS: Record<string, Row> = {
  ...FILE_ROWS,
  // Archives
  zip: row(
    "writes",
    "-T -TT,--unzip-command= -b= -d -e -f -i= -j -m -n= -O= -P= -q -r -R -s= -t= -tt= -u -v -x= -y -z -0 -1 -9 -@",
    { code: ["unzip-command"], below: zipReach },
  ),
  unzip: row("reads", "-d= -o -n -q -l -t -v -j -x= -P= -a -u -p -Z -C", { writes: ["d"] }),
  gzip: row(
    "writes",
    "-c,--stdout -d,--decompress -f -k -l -n -N -q -r,--recursive -S= -t -v -1 -9 --fast --best",
    { below: copyReach("recursive") },
  ),
  gunzip: row("writes", "-c,--stdout -f -k -l -n -N -q -r,--recursive -S= -t -v", {
    below: copyReach("recursive"),
  }),
  ...forNames("zcat gzcat", row("reads", "-r,--recursive", { below: copyReach("recursive") })),
  bzip2: row("writes", "-c -d -f -k -q -s -t -v -z"),
  xz: row("writes", "-c -d -f -k -l -q -t -T= -v -z -S= -F= -0 -9 -e"),
  zstd: row("writes", "-c -d -f -k -l -o= -q -r -t -T= -v -D= --rm -19", { writes: ["o"] }),
  ...forNames("7z 7za 7zr 7zz", sevenZip),
  ar: row("reads", "--output= -o", { writes: ["output"] }),
  unar: row("reads", "-o,-output-directory= -f -D -d -p= -e= -q", { writes: ["output-directory"] }),
  cpio: row(
    "none",
    "-i -o -p -d -m -u -v -t -F,--file= -D,--directory= -E= -H= -R= --rsh-command= -I= -O=",
    { code: ["rsh-command"], writes: ["file", "directory"] },
  ),
  patch: row(
    "writes",
    "-p= -i,--input= -o,--output= -d,--directory= -R -N -f -s -b -B= -D= -F= -r= -V= -z= --dry-run",
    { writes: ["output", "directory"], reads: ["input"] },
  ),
  split: row(
    "copy",
    "-a= -b= -C= -d -e -l= -n= -t= -u -x --additional-suffix= --filter= --verbose",
    { code: ["filter"] },
  ),
  csplit: row("reads", "-b= -f,--prefix= -k -n= -q -s -z", { writes: ["prefix"] }),
  dd: none,
  rsync: row(
    "copy",
    "-e,--rsh= --rsync-path= -f,--filter= --exclude= --include= --exclude-from= --include-from= --files-from= --backup-dir= --suffix= --log-file= --partial-dir= -T,--temp-dir= --compare-dest= --copy-dest= --link-dest= --bwlimit= --port= --timeout= --max-size= --min-size= --chmod= --chown= --out-format= --password-file= --info= --debug= -M= -B= -a -v -q -c -r -R -b -u -l -L -k -K -H -p -E -A -X -o -g -D -t -U -O -J -S -n,--dry-run -W -x -y -C -F -s -h -P -i -z -0 -4 -6 -m --delete --progress",
    {
      code: ["rsh", "rsync-path"],
      writes: ["log-file", "backup-dir", "partial-dir"],
      below: rsyncReach,
    },
  ),
  scp: row(
    "copy",
    "-c= -D= -F= -i= -J= -l= -o= -P= -S= -X= -3 -4 -6 -A -B -C -O -p -q -R -r -s -T -v",
    { code: ["S"], below: copyReach("r") },
  ),
  sftp: row("none", "-b= -B= -c= -D= -F= -i= -J= -l= -o= -P= -R= -S= -s= -X=", {
    code: ["S", "D"],
  }),
  // Network
  curl: row(
    "none",
    "-o,--output= -O,--remote-name --output-dir= -d,--data= --data-binary= --data-raw= --data-urlencode= -F,--form= -T,--upload-file= -K,--config= -c,--cookie-jar= -b,--cookie= -D,--dump-header= --trace= --trace-ascii= --stderr= -H,--header= -X,--request= -u,--user= -A,--user-agent= -e,--referer= -m,--max-time= -x,--proxy= -w,--write-out= -E,--cert= --key= --cacert= --connect-timeout= --retry= --retry-delay= -r,--range= -C,--continue-at= -z= -y= -Y= --resolve= --url= --unix-socket= --interface= --limit-rate= --etag-save= --etag-compare= --hsts= --alt-svc= -Q= -P= -t= -U= -s,--silent -S -f,--fail -L,--location -k -v -i -I,--head -N -n -g -G,--get -j -J -p -q -R -Z -a -B -l -M -V -0 -1 -2 -3 -4 -6 --compressed",
    {
      writes: [
        "output",
        "cookie-jar",
        "dump-header",
        "trace",
        "trace-ascii",
        "stderr",
        "etag-save",
        "hsts",
        "output-dir",
      ],
      reads: ["upload-file", "config"],
    },
  ),
  wget: row(
    "none",
    "-O,--output-document= -P,--directory-prefix= -o,--output-file= -a,--append-output= -i,--input-file= -e,--execute= --use-askpass= -t,--tries= -T,--timeout= -w= -Q= -U,--user-agent= --header= --post-data= --post-file= --user= --password= --save-cookies= --load-cookies= -l= -A= -R= -D= -I= -X= -B= --limit-rate= --rejected-log= -q -v -c -N -S -r -k -p -m -H -L -np -nc -nv -nd -x -b -d -F -4 -6 --no-check-certificate",
    {
      writes: [
        "output-document",
        "directory-prefix",
        "output-file",
        "append-output",
        "save-cookies",
      ],
      reads: ["post-file", "input-file"],
      code: ["use-askpass"],
    },
  ),
  nc: row("none", "-e,--exec= -c,--sh-exec= -p= -w= -s= -i= -q= -x= -X= -l -k -n -u -v -z -4 -6", {
    code: ["exec", "sh-exec"],
  }),
  ncat: row("none", "-e,--exec= -c,--sh-exec= --lua-exec= -p= -w= -s= -i= -o= -l -k -n -u -v", {
    code: ["exec", "sh-exec"],
  }),
  // Development
  tcpdump: row("none", "-z,--postrotate-command= -w= -r= -i= -c= -s= -G= -W= -C=", {
    code: ["postrotate-command"],
    writes: ["w"],
  }),
  man: row(
    "none",
    "-P,--pager= -H,--html=? -B= --preprocessor= -T=? -C= -M= -S= -L= -m= -e= -E= -r= -R= -a -f -k -K -l -w -W -D -d -i -I -t -7 -Z -X=?",
    { code: ["pager", "html"] },
  ),
  fzf: row(
    "none",
    "--preview= --bind= -q,--query= -f,--filter= -d,--delimiter= -n,--nth= --height= --prompt= --header= --history= --with-shell= -m -e -i -1 -0",
    { code: ["preview"] },
  ),
  "apt-get": row("none", "-o,--option= -c,--config-file= -t,--target-release= -y -q -f -m -d -s"),
  apt: row("none", "-o,--option= -c,--config-file= -t,--target-release= -y -q -f -m -d -s"),
  openssl: row("none", "-out= -keyout= -CAserial= -writerand= -in= -outdir= -out_trusted=", {
    single: true,
    writes: ["out", "keyout", "CAserial", "writerand", "outdir"],
  }),
  "ssh-keygen": row(
    "none",
    "-f= -t= -b= -C= -N= -P= -m= -O= -E= -I= -n= -s= -V= -Y= -z= -R= -F= -r= -l -y -B -L -p -c -q -v -H -A -e -i -K",
    { writes: ["f"], looks: ["l", "y", "F", "B", "L", "e"] },
  ),
  gate: gateRow,
  "scenario-tool": gateRow,
  gpg: row(
    "none",
    "-o,--output= -r,--recipient= -u,--local-user= --homedir= --keyserver= --passphrase= --batch -a -d -e -s -b -c -k -K -q -v",
    { writes: ["output"] },
  ),
  age: row("none", "-o,--output= -r,--recipient= -R= -i,--identity= -d,--decrypt -e -p -a", {
    writes: ["output"],
  }),
  ...forNames("pg_dump pg_dumpall pg_restore", dump),
  mongodump: row("none", "-o,--out= -d,--db= -c,--collection= --uri= --archive=?", {
    writes: ["out"],
  }),
  mysqldump: row("none", "-r,--result-file= -u= -p=? -h= -P= -T,--tab= -w,--where=", {
    writes: ["result-file", "tab"],
  }),
  dpkg: row("none", "--pre-invoke= --post-invoke= -i -l -L -s", {
    code: ["pre-invoke", "post-invoke"],
  }),
  mutt: row("none", "-s= -e= -a= -c= -b= -F= -i= -H=", { code: ["e"] }),
  tsc: row("none"),
  gcc: row(
    "reads",
    "-o= -I= -L= -l= -D= -U= -include= -isystem= -x= -std= -MF= -MT= -wrapper= -c -S -E -g -w",
    { writes: ["o", "MF"], builds: true },
  ),
  ...forNames(
    "cc g++ clang",
    row("reads", "-o= -I= -L= -l= -D= -c -S -E -g", { writes: ["o"], builds: true }),
  ),
  ...forNames("esbuild eslint prettier black ruff", linter),
};

/** Programs that neither run nor open their arguments. */
const WORDS =
  "echo printf tr logger notify-send say wall write gh glab hub jira mutt sendmail figlet cowsay lolcat banner " +
  "date cal uname hostname whoami id groups who w uptime ps top htop free df lsof lsblk lscpu lsusb lspci dmesg " +
  "ping traceroute dig nslookup host whois ifconfig netstat ss which whereis type locate basename dirname seq " +
  "expr bc dc factor numfmt shuf sleep clear reset tput tty stty locale printenv env-vars pwd dirs history help " +
  "info apropos whatis journalctl systemctl service launchctl sysctl mount umount swapon docker-machine helm helmfile " +
  "terraform tofu terragrunt pulumi ansible ansible-playbook packer vault consul nomad aws gsutil bq doctl linode-cli wrangler vercel " +
  "netlify firebase supabase pip pip3 pipx poetry2nix gem cargo rustup rustc go gofmt gopls dotnet mvn gradle gradlew mvnw " +
  "ant sbt lein mix rebar3 stack cabal ghc swift swiftc xcodebuild pod fastlane flutter dart bazel buck2 ninja cmake meson " +
  "autoconf automake configure pytest tox nox mypy pyright flake8 pylint isort coverage jest vitest mocha ava tap playwright cypress " +
  "webpack vite rollup parcel next nuxt astro svelte-kit turbo nx lerna changeset tsup swc stylelint biome oxlint shellcheck shfmt " +
  "hadolint yamllint markdownlint golangci-lint clippy rustfmt protoc buf sqlfluff pre-commit commitlint brew port dnf yum apk pacman " +
  "zypper snapd dpkg nvm fnm ngrok cloudflared redis-cli mongosh createdb dropdb pg_dump pg_restore mysqldump mysqladmin " +
  "ffmpeg ffprobe convert magick identify pandoc pdftotext tesseract qemu-img kind k3d skaffold kustomize kubectx kubens stern flux argocd " +
  "[[ clip http xh kill killall pkill pgrep pstree pbcopy pbpaste view yes finger claude gemini aider tldr composer cdk rtk " +
  "auth0 networksetup pkgutil scutil dscl spctl ansible-doc ansible-config ansible-galaxy ansible-lint ansible-test ansible-inventory " +
  "act open xdg-open code subl ssh-keygen ssh-add ssh-copy-id cosign syft trivy snyk semgrep sonar-scanner hugo jekyll mkdocs sphinx-build typedoc";

/** Programs that make or change a file system. */
const DISKS =
  "mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.exfat mkfs.f2fs mke2fs " +
  "mkdosfs mkswap wipefs blkdiscard badblocks tune2fs resize2fs fdisk cfdisk sfdisk gdisk sgdisk parted cryptsetup pvcreate";

for (const name of DISKS.split(" ")) ROWS[name] = row("writes", "-t= -L= -b= -l,--list");
for (const name of WORDS.split(" ")) if (!Object.hasOwn(ROWS, name)) ROWS[name] = none;
