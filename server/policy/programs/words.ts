import { none, type Row, row } from "./record.ts";

/**
 * Programs that neither run nor open their words, or whose effects no rule about files concerns. Those
 * with an `@` read arguments from `@file`.
 */
const NAMES = (
  "[[ act aider ansible ansible-config ansible-doc ansible-galaxy ansible-inventory ansible-lint " +
  "ansible-playbook ansible-test ant apk apropos argocd astro auth0 autoconf automake ava aws " +
  "banner basename bazel bc biome bq brew buck2 buf cabal cal cdk changeset claude clear clip " +
  "clippy cloudflared cmake code commitlint composer configure consul convert cosign coverage " +
  "cowsay createdb cypress dart date dc df dig dirname dirs dmesg dnf docker-machine doctl dotnet@ " +
  "dropdb dscl echo env-vars expr factor fastlane ffmpeg ffprobe figlet finger firebase flake8 " +
  "flutter flux fnm free gem gemini gh ghc@ glab gofmt golangci-lint gopls gradle gradlew groups " +
  "gsutil hadolint helm helmfile help history host hostname htop http hub hugo id identify ifconfig " +
  "info isort jekyll jest jira journalctl k3d kill killall kind kubectx kubens kustomize launchctl " +
  "lein lerna linode-cli locale locate logger lolcat lsblk lscpu lsof lspci lsusb magick@ " +
  "markdownlint meson mix mkdocs mocha mongosh mount mvn mvnw mypy@ mysqladmin netlify netstat " +
  "networksetup next ngrok ninja nomad notify-send nox nslookup numfmt nuxt nvm nx open oxlint " +
  "packer pacman pandoc parcel pbcopy pbpaste pdftotext pgrep ping pip pip3 pipx pkgutil pkill " +
  "playwright pod poetry2nix port pre-commit printenv printf protoc@ ps pstree pulumi pwd pylint@ " +
  "pyright qemu-img rebar3 redis-cli reset rollup rtk rustc@ rustfmt rustup say sbt scutil semgrep " +
  "sendmail seq service shellcheck shfmt shuf skaffold sleep snapd snyk sonar-scanner spctl " +
  "sphinx-build sqlfluff ss ssh-add ssh-copy-id stack stern stty stylelint subl supabase svelte-kit " +
  "swapon swc swift@ swiftc@ syft sysctl systemctl tap terraform terragrunt tesseract tldr tofu top " +
  "tox tput tr traceroute trivy tsup tty turbo type typedoc umount uname uptime vault vercel view " +
  "vite vitest w wall webpack whatis whereis which who whoami whois wrangler write xcodebuild " +
  "xdg-open xh yamllint yes yum zypper"
).split(" ");

/** Their records. */
export const WORDS: Record<string, Row> = Object.fromEntries(
  NAMES.map((name) =>
    name.endsWith("@") ? [name.slice(0, -1), row("none", "@", { unlisted: true })] : [name, none]
  ),
);

/** Programs without effects other than on the files in their arguments. */
export const PLAIN = new Set(
  ("cat tac nl head tail wc sort uniq cut paste join comm diff cmp column fold fmt expand unexpand rev strings " +
    "xxd od hexdump base64 base32 file stat readlink realpath md5sum sha1sum sha256sum sha512sum shasum cksum b2sum " +
    "grep egrep fgrep ggrep rg jq yq ls tree du echo printf date sleep true false : test [ [[ pwd basename dirname seq " +
    "tr expr tee sponge truncate touch mkdir rm rmdir unlink rimraf mv cp gcp chmod sed gsed dd find gfind xargs gxargs " +
    "env nice ionice timeout gtimeout time nohup stdbuf command builtin exec cd pushd popd dirs export declare typeset " +
    "local readonly read mapfile readarray set shift unset alias unalias let eval trap exit return break continue wait " +
    "umask shopt getopts hash which type whoami id hostname uname nproc arch printenv factor numfmt shuf")
    .split(" "),
);
