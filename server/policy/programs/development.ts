import { forNames } from "./options.ts";
import { type Row, row } from "./record.ts";

/** Programs that build, check, package and run projects, and tools of the system. */
export const DEVELOPMENT: Record<string, Row> = {
  rpm: row(
    "none",
    "-q -a -i -U -e -v -h -f= -E=! --pipe=! --eval=! --root= --dbpath= --queryformat= --qf=",
  ),
  symbols: row("reads", "-arch="),
  lipo: row("reads", "-info -detailed_info -archs -create -thin= -extract= -output=>", {
    single: true,
  }),
  sample: row("none", "-file=> -mayDie -wait -fullPaths", { single: true }),
  man: row(
    "none",
    "-P,--pager=! -H,--html=?! -B= -T=? -C= -M= -S= -L= -m= -e= -E= -r= -R= -a -f -k -K -l -w -W -D " +
      "-d -i -I -t -7 -Z -X=? --preprocessor= -u,--update~",
    { words: "data", elsewhere: [["update", "/var/cache/man"]] },
  ),
  fzf: row(
    "none",
    "-q,--query= -f,--filter= -d,--delimiter= -n,--nth= -m -e -i -1 -0 --preview=! --bind= --height= " +
      "--prompt= --header= --history= --with-shell=",
  ),
  ...forNames(
    "apt-get apt",
    row("none", "-o,--option= -c,--config-file= -t,--target-release= -y -q -f -m -d -s"),
  ),
  openssl: row("none", "-out=> -keyout=> -CAserial=> -writerand=> -in= -outdir=> -out_trusted=", {
    single: true,
  }),
  "ssh-keygen": row(
    "none",
    "-f=> -t= -b= -C= -N= -P= -m= -O= -E= -I= -n= -s= -V= -Y= -z= -R= -F= -r= -l -y -B -L -p -c -q -v " +
      "-H -A -e -i -K",
    { looks: ["l", "y", "F", "B", "L", "e"] },
  ),
  ...forNames(
    "gate scenario-tool",
    row("none", "--bundle=> --repro=> --record=> --report= --output= --command= --project="),
  ),
  gpg: row(
    "none",
    "-o,--output=> -r,--recipient= -u,--local-user= -a -d -e -s -b -c -k -K -q -v --homedir= " +
      "--keyserver= --passphrase= --batch",
  ),
  age: row("none", "-o,--output=> -r,--recipient= -R= -i,--identity= -d,--decrypt -e -p -a"),
  ...forNames(
    "pg_dump pg_dumpall pg_restore",
    row(
      "none",
      "-f,--file=> -d,--dbname= -h= -p= -U= -t= -n= -F,--format= -j= -W -w -v -c -C -l -L=",
    ),
  ),
  mongodump: row("none", "-o,--out=> -d,--db= -c,--collection= --uri= --archive=?>"),
  mysqldump: row("none", "-r,--result-file=> -u= -p=? -h= -P= -T,--tab=> -w,--where="),
  dpkg: row("none", "-i -l -L -s --pre-invoke=! --post-invoke=!"),
  tsc: row("none", "@"),
  gcc: row(
    "reads",
    "@ -o=> -I= -L= -l= -D= -U= -include= -isystem= -x= -std= -MF=> -MT= -wrapper= -c -S -E -g -w",
    { builds: true, words: "code" },
  ),
  ...forNames(
    "cc g++ clang",
    row("reads", "@ -o=> -I= -L= -l= -D= -c -S -E -g", { builds: true, words: "code" }),
  ),
  ...forNames(
    "esbuild eslint prettier black ruff",
    row("none", "@ -o,--output=> --fix --write --check --output-file=>", {
      builds: true,
      words: "code",
    }),
  ),
  cargo: row(
    "none",
    "-v,--verbose -q,--quiet -r,--release -p,--package= -F,--features= -j,--jobs= --all --workspace " +
      "--lib --bin= --bins --test= --tests --example= --examples --bench= --benches --doc --all-targets " +
      "--all-features --no-default-features --locked --offline --frozen --no-fail-fast --no-run " +
      "--message-format= --color= --exclude= --profile= --check --no-deps --open --nocapture --list",
    { tasks: true },
  ),
  go: row(
    "none",
    "-v -p= -x -n -a -u -m -d -t -run= -skip= -count= -race -cover -short -timeout= -bench= -benchmem " +
      "-benchtime= -tags= -json -failfast -cpu= -list= -parallel= -shuffle= -vet= -fullpath",
    { single: true, tasks: true },
  ),
  pytest: row(
    "none",
    "@ -v,--verbose -q,--quiet -x,--exitfirst -s -k= -m= -l,--showlocals -r= -n,--numprocesses= -W= " +
      "--tb= --maxfail= --lf,--last-failed --ff,--failed-first --nf,--new-first --durations= " +
      "--co,--collect-only --no-header --no-summary --disable-warnings --sw,--stepwise --cov=? " +
      "--cov-report= --cov-fail-under= --no-cov --color= --strict-markers --deselect= --ignore= " +
      "--markers --fixtures --capture=",
    { tasks: true },
  ),
  ...forNames(
    "npm pnpm yarn bun",
    row(
      "none",
      "-s,--silent,--quiet -q -D,--save-dev,--dev -E,--save-exact,--exact -P,--save-prod " +
        "-O,--save-optional -g,--global --verbose --loglevel= --color=? --no-color --if-present --no-fund " +
        "--no-audit --no-progress --offline --prefer-offline --frozen-lockfile --ignore-scripts --json " +
        "--bail --run --production --omit=",
      { tasks: true },
    ),
  ),
  ...forNames(
    "make gmake",
    row(
      "none",
      "-j,--jobs=? -k,--keep-going -s,--silent,--quiet -n,--dry-run,--just-print,--recon " +
        "-B,--always-make -i,--ignore-errors -l=? -w,--print-directory -d -r,--no-builtin-rules " +
        "-R,--no-builtin-variables -q,--question -t,--touch -O,--output-sync=? -b -m --no-print-directory " +
        "--trace",
      { tasks: true },
    ),
  ),
};
