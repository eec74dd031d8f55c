import { type Row, row } from "./row.ts";

const none = row("none");
const reads = row("reads");
const copyOptions =
  "-a,--archive -b --backup=? -d -f,--force -H -i,--interactive -l,--link -L -n,--no-clobber -p -P --preserve=? " +
  "-r,-R,--recursive --reflink=? --remove-destination --sparse= -s,--symbolic-link -S,--suffix= " +
  "-t,--target-directory= -T,--no-target-directory -u,--update=? -v,--verbose -x -Z -g -o -m,--mode= -O";
const hash = row("reads", "-a,--algorithm= -b -c,--check -t -w -q -l,--length= --tag --status");
const pager = row(
  "reads",
  "-b= -h= -j= -k= -o,--log-file= -O= -p,--pattern= -P= -t,--tag= -T= -x= -y= -z=",
  {
    writes: ["log-file"],
  },
);
const view = (options: string) => row("reads", options);
const grep = row(
  "pattern",
  "-e,--regexp= -f,--file= -A,--after-context= -B,--before-context= -C,--context= -m,--max-count= -d= -D= " +
    "--include= --exclude= --exclude-dir= --exclude-from= --label= --color=? --binary-files= -r -R -n -i -l -L -c -o -q -s -v -w -x -E -F -G -P -H -h -z -Z -a -I -U -b -T",
  { reads: ["file", "exclude-from"] },
);

/** Programs that work on files, one row each; `none` says that operands are no files that matter. */
export const FILE_ROWS: Record<string, Row> = {
  // Files
  cp: row("copy", copyOptions),
  gcp: row("copy", copyOptions),
  install: row(
    "copy",
    "-b -c -C -d,--directory -D -g,--group= -m,--mode= -o,--owner= -p -s -S= -t,--target-directory= -T -v --backup=? --strip-program=",
    {
      code: ["strip-program"],
    },
  ),
  mv: row("move", copyOptions),
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
  unlink: row("deletes"),
  shred: row("deletes", "-f -n,--iterations= -s,--size= -u -v -x -z --random-source= --remove=?"),
  rimraf: row("deletes", "-G,--glob -v --preserve-root --no-preserve-root --impl="),
  "del-cli": row("deletes", "-f -d"),
  trash: row("deletes"),
  "trash-put": row("deletes"),
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
  setfacl: row(
    "writes",
    "-m,--modify= -x,--remove= -M= -X= -b -k -d -R -L -P -n --set= --restore=",
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
  wc: row("reads", "-c -m -l -L -w --files0-from=", { reads: ["files0-from"] }),
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
  diff: view(
    "-a -b -B -c -C= -d -e -E -F= -i -I= -l -L= -n -N -p -q -r -s -S= -t -T -u -U= -w -W= -x,--exclude= -X= -y --label= --color=?",
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
  file: view("-b -i -f= -F= -k -L -m= -n -z -e= -P="),
  stat: view("-c,--format= --printf= -f -L -t"),
  readlink: view("-f -e -m -n -q -s -v -z"),
  realpath: view("-e -m -L -P -q -s -z --relative-to= --relative-base="),
  md5sum: hash,
  sha1sum: hash,
  sha256sum: hash,
  sha512sum: hash,
  shasum: hash,
  cksum: hash,
  b2sum: hash,
  grep,
  egrep: grep,
  fgrep: grep,
  zgrep: grep,
  ggrep: grep,
  rg: row(
    "pattern",
    "-e,--regexp= -f,--file= -A= -B= -C= -m= -g,--glob= --iglob= -t,--type= -T= --type-add= -r,--replace= -M= -j= --pre= --pre-glob= --sort= --color= --colors= --max-depth= -d= -E= --context-separator= --engine= --hostname-bin= --ignore-file= -n -i -l -c -o -q -v -w -x -F -P -S -s -u -z -a -U -L -H -I -N -p -0",
    {
      code: ["pre", "hostname-bin"],
      reads: ["file"],
    },
  ),
  ag: row("pattern", "-A= -B= -C= -G= -m= --ignore= --depth= --pager= -p= -W=", {
    code: ["pager"],
  }),
  ack: row("pattern", "-A= -B= -C= -g= -m= --type= --pager= --output=", { code: ["pager"] }),
  jq: row(
    "pattern",
    "-f,--from-file= --arg= --argjson= --slurpfile= --rawfile= --indent= -L= --args --jsonargs -r -c -n -s -e -a -S -C -M -j -R --tab --seq --stream",
    {
      reads: ["from-file"],
    },
  ),
  yq: row("pattern", "-i,--inplace -o= -p= -I= -P -r -e -n -s= -f= -j -y --from-file=", {
    onlyWith: ["inplace"],
  }),
  xmllint: row("reads", "--xpath= --format -o,--output= --schema= --noout", { writes: ["output"] }),
  ls: view("-I= --color=? -w= -T= --block-size= --sort= --time= --format= --hide="),
  tree: view("-L= -I= -P= -o= --filelimit= --charset="),
  du: view("-B= -d,--max-depth= -t= -X= --exclude= --time=? --files0-from="),
};
