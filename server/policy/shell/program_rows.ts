import { FILE_ROWS } from "./file_rows.ts";
import { type Row, row } from "./row.ts";

/** A program that takes words as words. */
export const none = row("none");
const reads = row("reads");
const linter = row("none", "--fix --write --check -o,--output= --output-file=", {
  writes: ["output-file"],
  builds: true,
});

const sevenZip = row("none", "-o= -p= -t= -m= -x= -i= -w= -y -r -bd -so -si", { writes: ["o"] });

const dump = row(
  "none",
  "-f,--file= -d,--dbname= -h= -p= -U= -t= -n= -F,--format= -j= -W -w -v -c -C -l -L=",
  {
    writes: ["file"],
  },
);

const gateRow = row(
  "none",
  "--bundle= --repro= --record= --report= --output= --command= --project=",
  {
    writes: ["bundle", "repro", "record"],
  },
);

/** Programs that are known, one row each. */
export const ROWS: Record<string, Row> = {
  ...FILE_ROWS,
  // Archives
  zip: row(
    "writes",
    "-T -TT,--unzip-command= -b= -d -e -f -i= -j -m -n= -O= -P= -q -r -R -s= -t= -tt= -u -v -x= -y -z -0 -1 -9 -@",
    {
      code: ["unzip-command"],
    },
  ),
  unzip: row("reads", "-d= -o -n -q -l -t -v -j -x= -P= -a -u -p -Z -C", { writes: ["d"] }),
  gzip: row(
    "writes",
    "-c,--stdout -d,--decompress -f -k -l -n -N -q -r -S= -t -v -1 -9 --fast --best",
  ),
  gunzip: row("writes", "-c,--stdout -f -k -l -n -N -q -r -S= -t -v"),
  zcat: reads,
  bzip2: row("writes", "-c -d -f -k -q -s -t -v -z"),
  xz: row("writes", "-c -d -f -k -l -q -t -T= -v -z -S= -F= -0 -9 -e"),
  zstd: row("writes", "-c -d -f -k -l -o= -q -r -t -T= -v -D= --rm -19", { writes: ["o"] }),
  "7z": sevenZip,
  "7za": sevenZip,
  "7zr": sevenZip,
  "7zz": sevenZip,
  ar: row("reads", "--output= -o", { writes: ["output"] }),
  unar: row("reads", "-o,-output-directory= -f -D -d -p= -e= -q", { writes: ["output-directory"] }),
  cpio: row(
    "none",
    "-i -o -p -d -m -u -v -t -F,--file= -D,--directory= -E= -H= -R= --rsh-command= -I= -O=",
    {
      code: ["rsh-command"],
      writes: ["file", "directory"],
    },
  ),
  patch: row(
    "writes",
    "-p= -i,--input= -o,--output= -d,--directory= -R -N -f -s -b -B= -D= -F= -r= -V= -z= --dry-run",
    {
      writes: ["output", "directory"],
      reads: ["input"],
    },
  ),
  split: row(
    "copy",
    "-a= -b= -C= -d -e -l= -n= -t= -u -x --additional-suffix= --filter= --verbose",
    {
      code: ["filter"],
    },
  ),
  csplit: row("reads", "-b= -f,--prefix= -k -n= -q -s -z", { writes: ["prefix"] }),
  dd: none,
  rsync: row(
    "copy",
    "-e,--rsh= --rsync-path= -f,--filter= --exclude= --include= --exclude-from= --include-from= --files-from= --backup-dir= --suffix= --log-file= --partial-dir= -T,--temp-dir= --compare-dest= --copy-dest= --link-dest= --bwlimit= --port= --timeout= --max-size= --min-size= --chmod= --chown= --out-format= --password-file= --info= --debug= -M= -B= -a -v -q -c -r -R -b -u -l -L -k -K -H -p -E -A -X -o -g -D -t -U -O -J -S -n,--dry-run -W -x -y -C -F -s -h -P -i -z -0 -4 -6 -m --delete --progress",
    {
      code: ["rsh", "rsync-path"],
      writes: ["log-file", "backup-dir", "partial-dir"],
    },
  ),
  scp: row(
    "copy",
    "-c= -D= -F= -i= -J= -l= -o= -P= -S= -X= -3 -4 -6 -A -B -C -O -p -q -R -r -s -T -v",
    {
      code: ["S"],
    },
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
    {
      code: ["pager", "html"],
    },
  ),
  fzf: row(
    "none",
    "--preview= --bind= -q,--query= -f,--filter= -d,--delimiter= -n,--nth= --height= --prompt= --header= --history= --with-shell= -m -e -i -1 -0",
    {
      code: ["preview"],
    },
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
  pg_dump: dump,
  pg_dumpall: dump,
  pg_restore: dump,
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
  cc: row("reads", "-o= -I= -L= -l= -D= -c -S -E -g", { writes: ["o"], builds: true }),
  "g++": row("reads", "-o= -I= -L= -l= -D= -c -S -E -g", { writes: ["o"], builds: true }),
  clang: row("reads", "-o= -I= -L= -l= -D= -c -S -E -g", { writes: ["o"], builds: true }),
  esbuild: linter,
  eslint: linter,
  prettier: linter,
  black: linter,
  ruff: linter,
};

/** Programs that are known to take words as words: nothing in their arguments is run. */
const WORDS =
  "echo printf tr logger notify-send say wall write gh glab hub jira mail mutt sendmail figlet cowsay lolcat banner " +
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
  "zypper snapd dpkg rpm nvm fnm ngrok cloudflared redis-cli mongosh createdb dropdb pg_dump pg_restore mysqldump mysqladmin " +
  "ffmpeg ffprobe convert magick identify pandoc pdftotext tesseract qemu-img kind k3d skaffold kustomize kubectx kubens stern flux argocd " +
  "act open xdg-open code subl ssh-keygen ssh-add ssh-copy-id cosign syft trivy snyk semgrep sonar-scanner hugo jekyll mkdocs sphinx-build typedoc";

/** Programs that make or change a file system. */
const DISKS =
  "mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.exfat mkfs.f2fs mke2fs " +
  "mkdosfs mkswap wipefs blkdiscard badblocks tune2fs resize2fs fdisk cfdisk sfdisk gdisk sgdisk parted cryptsetup pvcreate";

for (const name of DISKS.split(" ")) ROWS[name] = row("writes", "-t= -L= -b= -l,--list");
for (const name of WORDS.split(" ")) if (!Object.hasOwn(ROWS, name)) ROWS[name] = none;
