import { forNames } from "./options.ts";
import { none, type Row, row } from "./record.ts";

/** Programs whose words are text: none names a file, and none runs. */
const TEXT = (
  "[[ apropos banner basename clear dirname echo expr id kill killall notify-send ping pkill " +
  "printf pwd reset seq service sleep stty test tput tr type uname whatis whereis which whoami " +
  "yes [ true false"
).split(" ");

/** Programs that only show, send or look up what their words name. */
const DATA = (
  "clip date help hostname open pbcopy pbpaste ps view xdg-open http xh gh glab figlet lolcat " +
  "say dig host logger"
).split(" ");

/**
 * Other programs without operands that a rule about files concerns. Those with an `@` read arguments
 * from `@file`.
 */
const OTHERS = (
  "act aider ansible ansible-config ansible-doc ansible-galaxy ansible-inventory ansible-lint " +
  "ansible-playbook ansible-test ant apk argocd astro auth0 autoconf automake ava aws bazel bc " +
  "biome bq brew buck2 buf cabal cal cdk changeset claude clippy cloudflared cmake code " +
  "commitlint composer configure consul convert cosign coverage cowsay createdb cypress dart " +
  "dc df dirs dmesg dnf docker-machine doctl dotnet@ dropdb dscl env-vars factor fastlane " +
  "ffmpeg ffprobe finger firebase flake8 flutter flux fnm free gem gemini ghc@ gofmt " +
  "golangci-lint gopls gradle gradlew groups gsutil hadolint helm helmfile history htop hub " +
  "hugo identify ifconfig info isort javac@ jekyll jest jira journalctl k3d kind kubectx kubens " +
  "kustomize launchctl lein lerna linode-cli locale locate lsblk lscpu lsof lspci lsusb " +
  "magick@ markdownlint meson mix mkdocs mocha mongosh mount mvn mvnw mypy@ mysqladmin netlify " +
  "netstat networksetup next ngrok ninja nomad nox nslookup numfmt nuxt nvm nx oxlint packer " +
  "pacman pandoc parcel pdftotext pgrep pip pip3 pipx pkgutil playwright pod poetry2nix port " +
  "pre-commit printenv protoc@ pstree pulumi pylint@ pyright qemu-img qpdf rebar3 redis-cli rollup " +
  "rtk rustc@ rustfmt rustup sbt scutil semgrep sendmail shellcheck shfmt shuf skaffold snapd " +
  "snyk sonar-scanner spctl sphinx-build sqlfluff ss ssh-add ssh-copy-id stack stern stylelint " +
  "subl supabase svelte-kit swapon swc swift@ swiftc@ syft sysctl systemctl tap terraform " +
  "terragrunt tesseract tldr tofu top tox traceroute trivy tsup tty turbo typedoc umount " +
  "uptime vault vercel vite vitest w wall webpack who whois wrangler write xcodebuild yamllint " +
  "yum zypper"
).split(" ");

/** The records of programs whose options are not listed. */
export const WORDS: Record<string, Row> = {
  ...forNames(TEXT.join(" "), row("none", "", { unlisted: true, words: "text" })),
  ...forNames(DATA.join(" "), row("none", "", { unlisted: true, words: "data" })),
  ...Object.fromEntries(
    OTHERS.map((name) =>
      name.endsWith("@") ? [name.slice(0, -1), row("none", "@", { unlisted: true })] : [name, none]
    ),
  ),
};

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
