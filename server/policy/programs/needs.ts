import { isStatic } from "../holes.ts";
import { baseName } from "./grammar.ts";
import { readOptions } from "./options.ts";
import { ROWS } from "./rows.ts";

/**
 * A need of a program that a sandbox may not meet: to get something from another machine,
 * to act on one, a service of this machine, its processes, or another user's rights.
 */
export interface Need {
  kind: "fetch" | "send" | "machine" | "processes" | "privilege";
  /** The program with its subcommand, or the address. */
  about: string;
  /** The hosts that it names. */
  hosts: readonly string[];
}

/** Programs that only get something from the hosts in their words. */
const FETCHES = setOf(
  "curl wget aria2c http https xh httpie ping ping6 traceroute tracepath mtr dig nslookup host " +
    "whois",
);

/** Programs that act on another machine or a server, or that do nothing without one. */
const SENDS = setOf(
  "nc ncat netcat socat telnet ftp lftp tftp ssh scp sftp autossh mosh sshfs nmap masscan tcpdump " +
    "mail mailx mutt sendmail swaks gh glab hub aws gcloud gsutil bq az doctl linode-cli heroku " +
    "vercel netlify flyctl fly firebase wrangler supabase railway render ngrok cloudflared helm " +
    "helmfile argocd flux skaffold stern k9s ansible ansible-playbook ansible-galaxy rclone s3cmd " +
    "mc eksctl hcloud rabbitmqadmin rabbitmqctl kafka-topics kafka-topics.sh etcdctl influx " +
    "clickhouse-client eas semantic-release sentry-cli op doppler " +
    "psql pg_dump pg_restore createdb dropdb mysql mysqldump mysqladmin mongosh mongo mongodump " +
    "mongorestore redis-cli cqlsh consul nomad vault claude codex gemini cursor-agent aider " +
    "opencode goose amp auggie qwen copilot crush droid twine snyk skopeo ssh-copy-id",
);

/** Programs that give files to containers, clusters or virtual machines. */
const CONTAINERS = setOf(
  "docker docker-compose docker-machine podman podman-compose nerdctl buildah kubectl oc minikube " +
    "kind k3d multipass vagrant virsh qm lxc incus",
);

/** Whether a program takes files of this machine somewhere else, whatever its subcommand. */
export function sendsFiles(name: string): boolean {
  return SENDS.has(name) || CONTAINERS.has(name);
}

/** Whether the program's first word is always a subcommand, and so no file. */
export function takesSubcommand(name: string): boolean {
  return CONTAINERS.has(name);
}

/** Programs that talk to a service of the machine, or that install something on it. */
const MACHINE = setOf(
  [...CONTAINERS].join(" ") + " crontab at batch atq atrm systemd-run loginctl busctl " +
    "dbus-send gdbus gsettings dconf notify-send osascript open xdg-open wl-copy wl-paste xclip " +
    "xsel pbcopy pbpaste clip say defaults launchctl systemctl service journalctl brew port apt " +
    "apt-get aptitude dpkg rpm dnf yum zypper pacman apk snap flatpak emerge nix-env winget choco " +
    "scoop code cursor subl idea rustup nvm fnm ssh-add ssh-agent gpg-agent shutdown reboot halt " +
    "poweroff tmux screen wall write xcrun wsl adb fastboot limactl colima toolbox distrobox pdsh " +
    "pssh clush daemon xterm gnome-terminal konsole alacritty kitty",
);

/** Programs that show or end processes, and so those outside the sandbox. */
const PROCESSES = setOf(
  "ps top htop btop pgrep pstree pidof lsof fuser ss netstat kill pkill killall killall5 skill " +
    "strace ltrace gdb lldb dmesg w who",
);

/** A job of the shell, or the signal that it gets. */
const JOB = /^(%[\w%+-]*|-[A-Z0-9]+)$/;

/** Programs that act as another user, or change what only the administrator may change. */
const PRIVILEGE = setOf(
  "sudo su doas pkexec run0 runuser setpriv sg newgrp chroot nsenter unshare mount umount swapon " +
    "swapoff insmod modprobe rmmod sysctl iptables ip6tables nft ufw firewall-cmd useradd userdel " +
    "usermod groupadd passwd chpasswd visudo chown chgrp setcap mknod losetup mkfs fdisk parted " +
    "setfacl chattr auditctl augenrules setenforce setsebool semanage semodule apparmor_parser " +
    "aa-disable aa-complain aa-teardown",
);

/** Subcommands of each program that get something. One of two words is written with a dot. */
const FETCHING: Record<string, ReadonlySet<string>> = {
  git: setOf("pull fetch clone ls-remote remote.update remote.show submodule.update submodule.add"),
  npm: setOf(
    "install i in add ci update up upgrade install-test it install-ci-test cit outdated audit view " +
      "v info show search ping init create dedupe ddp fund",
  ),
  pnpm: setOf("install i add update up upgrade outdated audit view info search dlx create fetch"),
  yarn: setOf("install add up upgrade upgrade-interactive outdated audit info create dlx global"),
  bun: setOf("install i add update create outdated audit info"),
  deno: setOf("install add update outdated audit"),
  pip: setOf("install download wheel index search"),
  uv: setOf(
    "add remove sync lock tool.install tool.upgrade python.install pip.install pip.sync pip.compile",
  ),
  poetry: setOf("add install update lock search"),
  pdm: setOf("add install update lock sync"),
  pipenv: setOf("install update lock sync"),
  pipx: setOf("install upgrade upgrade-all inject run reinstall"),
  conda: setOf("install create update upgrade search"),
  cargo: setOf("add install update search fetch info"),
  go: setOf("get install mod.download mod.tidy"),
  gem: setOf("install update fetch search outdated"),
  bundle: setOf("install update outdated add lock"),
  composer: setOf("install update require create-project outdated search"),
  dotnet: setOf("restore add tool.install"),
  playwright: setOf("install"),
  "pre-commit": setOf("autoupdate install-hooks"),
};

/** Every subcommand. */
const ANY_WORD: ReadonlySet<string> = Object.assign(new Set<string>(), { has: () => true });

/** Subcommands that publish, deploy, or change something elsewhere, such as a database. */
const SENDING: Record<string, ReadonlySet<string>> = {
  git: setOf("push lfs send-email svn p4"),
  npm: setOf(
    "publish unpublish deprecate dist-tag login logout adduser whoami access owner team token org " +
      "star unstar profile hook",
  ),
  pnpm: setOf("publish login logout deploy"),
  yarn: setOf("publish login logout npm"),
  bun: setOf("publish"),
  deno: setOf("publish deploy upgrade"),
  uv: setOf("publish self"),
  poetry: setOf("publish self"),
  pdm: setOf("publish"),
  hatch: setOf("publish"),
  cargo: setOf("publish login logout yank owner"),
  gem: setOf("push signin owner yank"),
  composer: setOf("self-update"),
  mvn: setOf("deploy"),
  gradle: setOf("publish"),
  dotnet: setOf("publish nuget.push"),
  terraform: setOf("init plan apply destroy import refresh login logout workspace state"),
  pulumi: setOf("up preview destroy refresh login logout stack"),
  terragrunt: setOf("init plan apply destroy run-all"),
  lerna: setOf("publish"),
  changeset: setOf("publish"),
  serverless: setOf("deploy remove invoke info logs"),
  cdk: setOf("deploy destroy diff bootstrap"),
  sam: setOf("deploy sync delete"),
  prisma: setOf("db migrate studio"),
  "drizzle-kit": setOf("push migrate drop studio"),
  sequelize: ANY_WORD,
  "sequelize-cli": ANY_WORD,
  knex: ANY_WORD,
  typeorm: ANY_WORD,
  flyway: ANY_WORD,
  liquibase: ANY_WORD,
  dbmate: ANY_WORD,
  alembic: setOf("upgrade downgrade stamp"),
  diesel: setOf("database migration setup"),
  sqlx: setOf("database migrate"),
  vsce: setOf("publish unpublish login"),
  goreleaser: setOf("release publish continue"),
  openssl: setOf("s_client"),
};

/** Other names of programs in the tables. */
const ALIASES: Record<string, string> = {
  pip3: "pip",
  mamba: "conda",
  bundler: "bundle",
  gradlew: "gradle",
  mvnw: "mvn",
  tofu: "terraform",
  sls: "serverless",
};

/** Options and subcommands with which a program only prints something about itself. */
const TELLING_OPTION = /^(--help|-h|--version|-V)$/;
const TELLING_WORD = /^(help|version|completion)$/;

/** Programs without subcommands: their words are hosts, databases or commands for another machine. */
const CONNECTS = setOf(
  "nc ncat netcat socat telnet ftp lftp tftp ssh scp sftp autossh mosh sshfs nmap masscan tcpdump " +
    "mail mailx mutt sendmail swaks ssh-copy-id psql pg_dump pg_restore createdb dropdb mysql " +
    "mysqldump mysqladmin mongosh mongo mongodump mongorestore redis-cli cqlsh clickhouse-client " +
    "at batch pdsh pssh clush wall write",
);

/** Programs with subcommands whose further words are another program's. */
const RUNNERS = new Set([...CONTAINERS, ..."heroku fly flyctl railway".split(" ")]);
const RUNS_INSIDE = /^(exec|run|ssh|shell|debug|rsh|attach|start|create|console)$/;

/** Programs whose words are text or names of files, so an address in them connects to nothing. */
const TALKS = setOf(
  "echo printf grep egrep fgrep rg ag sed awk gawk mawk jq yq cat tee test [ [[ export set read " +
    "declare local logger tr cut sort uniq expr basename dirname find fd touch mkdir ls xargs env",
);
const GIT_TALKS = /^(commit|tag|log|grep|config|notes|show|diff|remote|stash)$/;

/** Options of `curl`, `wget` and their like that send data. */
const UPLOADS =
  /^(-[a-zA-Z]*[dFT]|--data(-\w+)?|--form(-\w+)?|--upload-file|--post-\w+|--body-\w+|--json|--method)(=|$)|^-X|^--request/;

const ADDRESS =
  /^(?:--?[\w-]+=)?(?:https?|wss?|s?ftp|ssh|git(?:\+\w+)?|postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?|s3|gs):\/\/([^/?#\s]*)/i;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?|0\.0\.0\.0)$/i;

/** The certain need of a program with these words; null if nothing is certain. */
export function needOf(argv: readonly string[]): Need | null {
  const [program = "", ...args] = argv;
  const name = nameOf(program);
  if (PRIVILEGE.has(name)) return { kind: "privilege", about: name, hosts: [] };
  // A job is a process of this command.
  if (name === "kill" && args.length > 0 && args.every((word) => JOB.test(word))) return null;
  if (PROCESSES.has(name)) return { kind: "processes", about: name, hosts: [] };
  if (onlyTells(name, args)) return null;
  const module = moduleOf(name, args);
  if (module !== null) return needOf(module);
  if (SENDS.has(name)) return { kind: "send", about: name, hosts: [] };
  if (MACHINE.has(name)) return { kind: "machine", about: name, hosts: [] };
  const hosts = args.flatMap((word) => hostOf(word) ?? []);
  if (FETCHES.has(name)) {
    const kind = args.some((word) => UPLOADS.test(word)) ? "send" : "fetch";
    return { kind, about: name, hosts: args.every(isStatic) ? hostsOf(name, args) : [] };
  }
  const task = RUNS_TASKS.test(name) ? args.find((word) => DATABASE.test(word)) : undefined;
  if (task !== undefined) return { kind: "send", about: `${name} ${task}`, hosts };
  if (name === "git" && args.some((word) => /^--(global|system)$/.test(word))) {
    return { kind: "machine", about: "git config --global", hosts: [] };
  }
  const words = subcommandsOf(name, args);
  const sending = words.find((word) => SENDING[name]?.has(word));
  if (sending) return { kind: "send", about: `${name} ${sending.replace(".", " ")}`, hosts };
  const fetching = words.find((word) => FETCHING[name]?.has(word));
  if (fetching) return { kind: "fetch", about: `${name} ${fetching.replace(".", " ")}`, hosts };
  if (isTalking(name, args) || hosts.every(isLoopback)) return null;
  return { kind: "send", about: `${name} with ${hosts.find((host) => !isLoopback(host))}`, hosts };
}

/** Whether the words of a program are text or names of files, so that it neither runs nor calls them. */
export function isTalking(program: string, args: readonly string[]): boolean {
  const name = nameOf(program);
  return TALKS.has(name) ||
    (name === "git" && GIT_TALKS.test(subcommandsOf(name, args).at(-1) ?? ""));
}

/**
 * Whether the program only prints something about itself. Elsewhere among its words the same word is
 * a host, a name or another program's option: `redis-cli -h db flushall`, `ssh db rm x --help`.
 */
function onlyTells(name: string, args: readonly string[]): boolean {
  const first = args[0] ?? "";
  if (args.length === 1 && TELLING_OPTION.test(first)) return true;
  if (CONNECTS.has(name)) return false;
  if (/^--(help|version)$/.test(first)) return true;
  if (FETCHES.has(name)) return false;
  if (TELLING_WORD.test(first)) return true;
  const [last = "", ...before] = args.toReversed();
  if (!/^(--help|-h)$/.test(last) && !(name === "aws" && last === "help")) return false;
  return before.every((word) => /^[a-z][\w:.-]*$/.test(word)) &&
    (before.length === 1 || !RUNNERS.has(name) || !before.some((word) => RUNS_INSIDE.test(word)));
}

/** The hosts that a program which fetches names in its operands. */
function hostsOf(name: string, args: readonly string[]): string[] {
  const row = Object.hasOwn(ROWS, name) ? ROWS[name]! : null;
  const operands = row
    ? readOptions(args, row.grammar).operands
    : args.filter((word) => !word.startsWith("-"));
  return operands.flatMap((word) => {
    if (/^[\w.-]+(:\d+)?([/?]|$)/.test(word)) return word.split(/[:/?]/)[0]!;
    return hostOf(word) ?? [];
  });
}

/** Tasks of frameworks that change or empty a database. */
const DATABASE =
  /^(db:(?!version|migrate:status)|ecto\.(?!gen|dump|migrations$)|migrate$|migrate:(fresh|refresh|reset|rollback)$|flush$|reset_db$|loaddata$)/;
const RUNS_TASKS = /^(rails|rake|bundle|php|artisan|mix|manage\.py|django-admin|python[\d.]*)$/;

/** Whether a host is this machine itself. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

function hostOf(word: string): string | null {
  const [, place] = ADDRESS.exec(word) ?? [];
  return place === undefined ? null : place.replace(/^.*@/, "").replace(/:\d*$/, "").toLowerCase();
}

/** The program that an interpreter starts as a module: `python3 -m pip install`. */
export function moduleOf(name: string, args: readonly string[]): readonly string[] | null {
  if (!/^(python|pypy)[\d.]*$/.test(name)) return null;
  const at = args.findIndex((word) => !/^-[BdEhiIOPqsSuvVx]+$/.test(word));
  return at >= 0 && /^-\w*m$/.test(args[at]!) ? args.slice(at + 1) : null;
}

/** The words that may be the subcommand: the first operand, and the next after an option's value. */
function subcommandsOf(name: string, args: readonly string[]): string[] {
  if (!Object.hasOwn(FETCHING, name) && !Object.hasOwn(SENDING, name)) return [];
  const places = [...args.keys()].filter((at) => !args[at]!.startsWith("-"));
  const last = places.findIndex((at) => !/^-[^=]*$/.test(args[at - 1] ?? ""));
  const words = (last < 0 ? places : places.slice(0, last + 1)).flatMap((at) => {
    const next = places.find((other) => other > at);
    return next === undefined ? [args[at]!] : [`${args[at]}.${args[next]}`, args[at]!];
  });
  return name === "yarn" && places.length === 0 ? ["install"] : words;
}

function nameOf(program: string): string {
  const name = baseName(program).toLowerCase();
  return Object.hasOwn(ALIASES, name) ? ALIASES[name]! : name;
}

function setOf(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}
