import { basename } from "node:path";
import type { Analysis, RiskFactor } from "../policy/schema.ts";
import type { Cause, RiskFacts } from "./facts.ts";
import { secrecyOf } from "./paths.ts";
import { effectOfSql } from "./sql.ts";
import { namesProduction, verbOf } from "./verbs.ts";

/** One program with its arguments. */
interface Call {
  program: string;
  argv: readonly string[];
  /** The arguments without options, in lower case. */
  words: readonly string[];
  options: readonly string[];
  /** All arguments as one text. */
  text: string;
}

/** A command with everything that its calls share. */
interface Context {
  calls: readonly Call[];
  facts: RiskFacts;
}

type Row = [programs: RegExp, causes: (call: Call, context: Context) => Cause[]];

const MAX_CALLS = 200;
/** Only so much of a command is searched for patterns. */
const MAX_TEXT = 8_000;

/** What the programs of a command do beyond the files that the analysis names. */
export function commandCauses(analysis: Analysis, facts: RiskFacts): Cause[] {
  const calls = analysis.commands.slice(0, MAX_CALLS).map(callOf);
  const command = facts.command?.slice(0, MAX_TEXT) ?? null;
  const context = { calls, facts: { ...facts, command } };
  const causes = calls.flatMap((call) =>
    ROWS.filter(([programs]) => programs.test(call.program)).flatMap(([, of]) => of(call, context))
      .concat(anyProgram(call, context))
  );
  return [...causes, ...jointCauses(analysis, context)];
}

const READERS =
  /^(ls|cat|head|tail|wc|grep|rg|egrep|fgrep|find|fd|tree|pwd|which|type|file|stat|du|df|echo|printf|date|whoami|id|uname|hostname|ps|top|env|sort|uniq|cut|tr|diff|cmp|less|more|jq|basename|dirname|realpath|true|false|test|\[|cd|sleep|seq|nl|column|md5sum|sha256sum)$/;

/** Whether a command only reads, as far as the names of its programs tell. */
export function isHarmless({ commands, writes, deletes, unresolved }: Analysis): boolean {
  return writes.length + deletes.length + unresolved.length === 0 &&
    commands.every(([program = ""]) => READERS.test(basename(program)));
}

function callOf(argv: string[]): Call {
  const [program = "", ...rest] = argv;
  const options = rest.filter((word) => /^[-+]./.test(word));
  return {
    program: basename(program).toLowerCase(),
    argv: rest,
    words: rest.filter((word) => !/^[-+]./.test(word)).map((word) => word.toLowerCase()),
    options,
    text: rest.join(" ").slice(0, MAX_TEXT),
  };
}

function one(name: RiskFactor, why: string): Cause[] {
  return [{ name, why }];
}

const has = ({ options }: Call, pattern: RegExp) => options.some((option) => pattern.test(option));
const TRIES_ONLY =
  /^(--dry-?run(=.*)?|--dryrun|--check|--what-?if|--noop|--simulate|--just-print|--no-execute|--plan|--preview|-WhatIf)$/i;
const UNATTENDED =
  /^--?(auto-approve|yes|force|quiet|no-prompt|no-input|noinput|skip-confirm(ation)?|no-confirm|assume-yes|non-?interactive|confirm|delete|recursive|all|accept-data-loss|purge|cascade|approve|force-delete.*|skip-final-snapshot|auto-confirm|ignore-dependencies)(=.*)?$/i;
const triesOnly = (call: Call) => has(call, TRIES_ONLY);
const asksHelp = (call: Call) => has(call, /^(--help|--version|-V)$/) || call.words[0] === "help";

/** The production system that a call names, in its arguments or through a variable. */
function productionOf({ argv }: Call, { facts: { command } }: Context): string | null {
  const variables = command?.match(/\b[A-Z]\w{0,60}=["']?[\w.-]{1,60}|\$\{?\w{1,60}/g) ?? [];
  return namesProduction(argv) ?? namesProduction(variables);
}

const LOCAL = /^(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0)(:\d+)?(\/|$)/i;

const CLOUD =
  /^(aws|awslocal|gcloud|gsutil|bq|az|doctl|heroku|fly|flyctl|vercel|netlify|wrangler|railway|render|eb|sam|cdk|cdktf|sls|serverless|pulumi|terraform|tofu|terragrunt|kubectl|k|oc|helm|helmfile|argocd|flux|eksctl|kops|nomad|vault|consul|packer|skaffold|kubectx|kubens|linode-cli|hcloud|oci|ibmcloud|scw|aliyun|openstack|firebase|supabase|amplify|copilot|cf|dokku|kustomize|istioctl|linkerd|velero|crossplane|spinnaker|waypoint|boundary|cloudflared|turso|neonctl|pscale|planetscale|atlas|rclone|s3cmd|s5cmd|mc|juju|virsh|govc|proxmox|pvesh|ipmitool|okteto|tilt|kn|kind|minikube|tsh|tailscale)$/;
const MANAGERS =
  /^(ansible|ansible-playbook|ansible-pull|salt|salt-ssh|puppet|chef-client|knife|capistrano|cap|fab|mina|dagger|kamal|rundeck)$/;
const WHOLE =
  /(^|[-_:/])(namespaces?|ns|clusters?|projects?|rb|buckets?|databases?|db|instances?|groups?|stacks?|accounts?|organi[sz]ations?|repos?|volumes?|pvc?|pv|crds?|snapshots?|backups?|vaults?|zones?|apps?|domains?|subscriptions?|keyspaces?|env|environments?|sites?|tables?|addons?|keys?)([-_:/]|$)/;
const RUN_ONLY = new Set(["run"]);
const SECRETS =
  /secret|get-parameter|password|credential|keyvault|access-token|kv\b|get-session-token/;

const cloudCauses = (call: Call, context: Context): Cause[] => {
  const { program, text } = call;
  if (asksHelp(call)) return [];
  const isTerraform = /^(terraform|tofu|terragrunt|pulumi|cdk|cdktf)$/.test(program);
  const isLocal = /^(kind|minikube|awslocal|tilt)$/.test(program);
  const ignored = /^(kubectl|k|oc|nomad|kn|fly|flyctl)$/.test(program) ? undefined : RUN_ONLY;
  const bare = program === "vercel" || program === "netlify";
  const verb = call.words.length === 0 && bare && !has(call, /^--?v(ersion)?$/)
    ? { kind: "changes" as const, verb: "deploy" }
    : verbOf(valuesLeftOut(call), ignored) ??
      (/^(gcloud|az|aws|sam|kn)$/.test(program) ? null : verbOf(call.words));
  const production = productionOf(call, context);
  const kind = triesOnly(call) ? "reads" : verb?.kind ?? null;
  const name = `${program} ${verb?.verb ?? ""}`.trim();
  if (kind === "reads") {
    const told = SECRETS.test(text.toLowerCase())
      ? one("secret_read", `${name} shows secrets`)
      : [];
    return told;
  }
  const causes: Cause[] = [];
  if (isLocal) return one("container_start", `${name} changes a local cluster`);
  if (production !== null) {
    causes.push(
      kind === null
        ? { name: "production_named", why: `${name} works on "${production}"` }
        : { name: "production", why: `${name} changes "${production}"` },
    );
  }
  if (kind === null) return [...causes, ...one("cloud", `${name} works on a shared system`)];
  if (kind === "changes") {
    causes.push({ name: "cloud_change", why: `${name} changes a shared system` });
  } else {
    causes.push({ name: "cloud_destroy", why: `${name} deletes something on a shared system` });
    const isWhole = isTerraform || call.words.some((word) =>
      !word.includes("/") && WHOLE.test(word)
    ) ||
      has(call, /^--(recursive|all|all-namespaces|delete|purge|cascade)/) ||
      (program === "rclone" && verb?.verb === "purge");
    const isAsked = isTerraform && !has(call, UNATTENDED);
    if (isWhole && !isAsked) {
      causes.push({ name: "destroys_whole", why: `${name} deletes all that it holds` });
    }
  }
  if (has(call, UNATTENDED) || has(call, /^-(y|q|f)$/) && program !== "kubectl") {
    causes.push({ name: "unattended", why: `${name} does not ask before it changes something` });
  }
  return causes;
};

/** The words without the values of options such as `--context production`. */
function valuesLeftOut({ argv }: Call): string[] {
  return argv.filter((word, at) =>
    !/^[-+]./.test(word) &&
    !/^--?(context|namespace|n|region|profile|project|cluster|name|app|a|var|var-file|f|filename|o|output|user-name|zone|chdir|t|target|kube-context|resource-group|g|stack|e|env|environment|message|m)$/
      .test(argv[at - 1] ?? "")
  ).map((word) => word.toLowerCase());
}

const DB_CLIENTS =
  /^(psql|pgcli|mysql|mycli|mariadb|sqlite3|sqlite|mongosh|mongo|redis-cli|valkey-cli|sqlcmd|clickhouse-client|clickhouse|duckdb|cqlsh|influx|cockroach|usql|snowsql|isql|sqlplus|bq|etcdctl|cypher-shell|surreal|turso)$/;
const DB_TOOLS =
  /^(prisma|knex|sequelize|sequelize-cli|typeorm|alembic|flyway|liquibase|goose|dbmate|drizzle-kit|atlas|diesel|sqlx|migrate|rails|rake|artisan|mikro-orm|node-pg-migrate|db-migrate|umzug|ecto|mix|manage\.py|wp|drush|supabase|hasura|sqitch|phinx|doctrine|yoyo|flask|kysely)$/;
const DB_WORD =
  /(^|[:/ _.-])(db|database|migrat\w*|schema|seed|ecto)([:/ _.-]|$)|^(flush|sqlflush|reset_db|dbshell)$/;

const databaseCauses = (call: Call, context: Context): Cause[] => {
  const { program, words, text } = call;
  if (asksHelp(call)) return [];
  const target = productionOf(call, context);
  const effects = call.argv.map((word) => effectOfSql(word.slice(0, MAX_TEXT)));
  const effect = effects.find((one) => one === "destroys") ??
    effects.find((one) => one === "changes") ?? effectOfSql(text);
  if (effect === "reads") {
    const isFed = /(^|\s)(-f|--file|<)\s?\S|\b(source|\\i|restore|\.read|\.import|load\s+data)\b/
      .test(text);
    if (isFed) {
      return databaseEffect("database_change", `${program} runs a file of statements`, target);
    }
    return [];
  }
  return effect === "destroys"
    ? databaseEffect("database_destroy", `${program} deletes data`, target)
    : databaseEffect(
      "database_change",
      `${program} changes data: ${words.at(-1)?.slice(0, 60)}`,
      target,
    );
};

function databaseEffect(name: RiskFactor, why: string, production: string | null): Cause[] {
  const causes = one(name, why);
  if (production !== null) causes.push({ name: "production", why: `it works on "${production}"` });
  return causes;
}

const migrationCauses = (call: Call, context: Context): Cause[] => {
  const { program, words, text } = call;
  if (asksHelp(call) || triesOnly(call)) return [];
  const lower = words.join(" ");
  const isMigrator = !/^(rails|rake|artisan|mix|manage\.py|wp|drush|flask|supabase|atlas)$/.test(
    program,
  );
  if (!isMigrator && !DB_WORD.test(lower)) return [];
  const production = productionOf(call, context);
  if (
    /\b(reset|fresh|flush|sqlflush|drop|undo|down|clean|wipe|purge|downgrade|revert|rollback|refresh|reset_db|delete)\b/
      .test(lower) || /accept-data-loss|force-reset/.test(text)
  ) {
    return databaseEffect(
      "database_destroy",
      `${program} ${lower} takes a schema or its data back`,
      production,
    );
  }
  if (/\bdeploy\b/.test(lower)) {
    return databaseEffect(
      "database_destroy",
      `${program} ${lower} changes a deployed database`,
      production,
    );
  }
  if (
    /\b(status|generate|diff|validate|format|history|current|studio|info|show|list|version|introspect|pull|new|create|make|revision|heads|check|lint|inspect)\b/
      .test(lower) && !/\b(up|upgrade|migrate dev|db:create)\b/.test(lower)
  ) {
    return production === null ? [] : one("production_named", `it names "${production}"`);
  }
  return databaseEffect("database_change", `${program} ${lower} changes a database`, production);
};

const TASKS: [RegExp, RiskFactor, string][] = [
  [
    /(^|[:_-])(deploy|release|publish|rollout|ship|promote|upload)([:_-]|$)/,
    "deploys",
    "deploys or publishes",
  ],
  [
    /(^|[:_-])(destroy|nuke|wipe|teardown|drop|purge)([:_-]|$)|(db|database)[:_-](reset|drop|clean)|reset[:_-](db|database)/,
    "loses_work",
    "destroys something",
  ],
  [
    /(^|[:_-])(migrate|migrations?)([:_-]|$)|(db|database)[:_-](seed|setup|migrate|push)/,
    "database_change",
    "changes a database",
  ],
  [/(^|[:_-])(clean|clobber|distclean)([:_-]|$)/, "deletes", "deletes what was built"],
];

const taskCauses = (call: Call, context: Context): Cause[] => {
  if (triesOnly(call) || has(call, /^-n$/)) return [];
  const { program, words } = call;
  const skipped = new Set(["run", "run-script", "exec", "x", "task", "--"]);
  const names = words.filter((word) => !skipped.has(word));
  const name = names[0];
  if (name === undefined) return [];
  const isManager = /^(npm|pnpm|yarn|bun|deno)$/.test(program);
  if (isManager && !words.some((word) => skipped.has(word)) && program !== "yarn") return [];
  const production = productionOf(call, context);
  const found = TASKS.filter(([pattern]) => names.some((one) => pattern.test(one)));
  const causes = found.map(([, factor, what]): Cause => ({
    name: factor,
    why: `the task "${name}" ${what}`,
  }));
  const acts = found.some(([, factor]) => factor !== "deletes");
  if (production !== null && acts) {
    causes.push({ name: "production", why: `the task "${name}" works on "${production}"` });
  }
  return causes;
};

const gitCauses = (call: Call): Cause[] => {
  const { argv } = call;
  const at = argv.findIndex((word, i) =>
    !word.startsWith("-") && !/^(-C|-c|--git-dir|--work-tree|--namespace)$/.test(argv[i - 1] ?? "")
  );
  const verb = argv[at] ?? "";
  const rest = argv.slice(at + 1);
  const option = (pattern: RegExp) => rest.some((word) => pattern.test(word));
  const words = rest.filter((word) => !word.startsWith("-"));
  switch (verb) {
    case "push":
      if (option(/^(--dry-run|-n)$/)) return [];
      if (
        option(/^(--force|-[a-z]*f[a-z]*|--mirror|--delete|-d|--prune)$/) ||
        words.some((word) => /^[+:]/.test(word))
      ) {
        return one("rewrites_history", "it replaces or deletes what others may have fetched");
      }
      if (
        option(/^--tags$|^--follow-tags$/) ||
        words.some((word) => /^(refs\/tags\/)?v\d+\./.test(word))
      ) {
        return one("pushes", "pushes tags, which often start a release");
      }
      return one("pushes", "sends commits to a shared repository");
    case "reset":
      return option(/^--(hard|merge|keep)$/)
        ? one("loses_work", "discards uncommitted work or commits")
        : [];
    case "clean":
      return option(/^-[a-z]*f|^--force$/) && !option(/^-[a-z]*n|^--dry-run$/)
        ? one("loses_work", "deletes files that git does not keep")
        : [];
    case "checkout":
    case "restore":
      if (verb === "restore" && option(/^--staged$/) && !option(/^--worktree$/)) return [];
      return rest.includes("--") || verb === "restore" || option(/^(-f|--force)$/) ||
          words.includes(".")
        ? one("local_history", "discards uncommitted changes of files")
        : [];
    case "switch":
      return option(/^(-f|--force|--discard-changes)$/)
        ? one("local_history", "discards uncommitted changes")
        : [];
    case "branch":
      return option(/^-D$|^--delete$|^-d$/) ? one("local_history", "deletes a branch") : [];
    case "tag":
      return option(/^(-d|--delete|-f|--force)$/)
        ? one("local_history", "deletes or moves a tag")
        : [];
    case "stash":
      return /^(drop|clear)$/.test(words[0] ?? "") ? one("loses_work", "deletes stashed work") : [];
    case "rebase":
    case "cherry-pick":
    case "am":
      return option(/^--(abort|continue|skip|quit)$/)
        ? []
        : one("local_history", "rewrites local commits");
    case "pull":
      return option(/^(--rebase.*|-r|--force|-f)$/)
        ? one("local_history", "rewrites local commits")
        : one("interpreter", "takes commits of others over");
    case "merge":
      return one("interpreter", "takes commits of others over");
    case "commit":
      return option(/^--no-verify$|^-n$/)
        ? one("local_history", "skips the hooks that check a commit")
        : [];
    case "filter-branch":
    case "filter-repo":
    case "replace":
      return one("rewrites_history", "rewrites the history of the repository");
    case "reflog":
    case "gc":
    case "prune":
      return option(/^--(expire|prune)|^expire$|^delete$/) || words.includes("expire")
        ? one("loses_work", "deletes the commits that could still be recovered")
        : [];
    case "update-ref":
      return option(/^-d$/)
        ? one("loses_work", "deletes a reference")
        : one("local_history", "moves a reference");
    case "config":
      return words.some((word) =>
          /hookspath|sshcommand|fsmonitor|editor|pager|helper|^alias\.|textconv|smudge|clean|insteadof|gitproxy/i
            .test(word)
        ) && words.length > 1
        ? one("hook", "makes git run other programs, or use other servers")
        : option(/^--(global|system)$/) && words.length > 1
        ? one("local_history", "changes git's settings for every repository")
        : [];
    case "remote":
      return /^(set-url|add|remove|rm)$/.test(words[0] ?? "")
        ? one("local_history", "changes where git sends commits")
        : [];
    case "submodule":
    case "clone":
      return one("installs", "fetches the code of others");
    case "worktree":
      return option(/^(-f|--force)$/) ? one("local_history", "removes a working tree") : [];
    default:
      return [];
  }
};

const hubCauses = (call: Call): Cause[] => {
  const { words, argv, program } = call;
  if (asksHelp(call)) return [];
  const [part = "", verb = ""] = words;
  if (part === "api") {
    const method = argv.find((_, i) => /^(-X|--method)$/.test(argv[i - 1] ?? ""))?.toUpperCase() ??
      (has(call, /^(-f|-F|--field|--raw-field|--input)$/) ? "POST" : "GET");
    if (method === "GET") return one("network", `${program} reads from a shared service`);
    return one(
      method === "DELETE" ? "cloud_destroy" : "cloud_change",
      `${program} api sends ${method} to a shared service`,
    );
  }
  const name = `${program} ${part} ${verb}`;
  if (/^(delete|transfer|archive|unarchive|remove)$/.test(verb)) {
    const causes = one("cloud_destroy", `${name} deletes something that others use`);
    if (part === "repo") {
      causes.push({ name: "destroys_whole", why: `${name} deletes a whole repository` });
    }
    return causes;
  }
  if (
    /^(secret|variable|ssh-key|gpg-key|ruleset|auth)$/.test(part) &&
    /^(set|add|create|token|login|logout|refresh)$/.test(verb)
  ) {
    return verb === "token"
      ? one("secret_read", `${name} shows a token`)
      : one("cloud_change", `${name} changes credentials`);
  }
  if (part === "release" && /^(create|upload|edit)$/.test(verb)) {
    return one("publishes", `${name} publishes a release`);
  }
  if (/^(workflow|pipeline|ci)$/.test(part) && /^(run|trigger|enable|disable)$/.test(verb)) {
    return one("deploys", `${name} starts automation`);
  }
  if (/^(pr|mr)$/.test(part) && /^(merge)$/.test(verb)) {
    return one("publishes", `${name} changes the shared branch`);
  }
  if (part === "repo" && /^(create|edit|rename|fork|sync)$/.test(verb)) {
    return one("cloud_change", `${name} changes a shared repository`);
  }
  if (
    /^(create|comment|close|reopen|edit|review|approve|ready|rerun|cancel|lock|pin|update-branch|checkout)$/
      .test(verb)
  ) {
    return verb === "checkout" ? [] : one("pushes", `${name} writes to a shared service`);
  }
  return [];
};

const CONTAINER =
  /^(docker|podman|nerdctl|docker-compose|podman-compose|buildah|lxc|incus|ctr|crictl)$/;

const containerCauses = (call: Call, context: Context): Cause[] => {
  const { program, argv, text } = call;
  if (asksHelp(call)) return [];
  const words = valuesLeftOut(call).filter((word) => word !== "compose" && word !== "container");
  const [verb = "", next = ""] = words;
  const causes: Cause[] = [];
  const mounts = argv.filter((word, i) =>
    /^(-v|--volume|--mount)$/.test(argv[i - 1] ?? "") || /^(-v|--volume=|--mount=)./.test(word)
  ).map((word) => word.replace(/^(-v|--volume=|--mount=)/, ""));
  if (/(docker|containerd|podman|crio)\.sock/.test(text)) {
    causes.push({
      name: "socket_mounted",
      why: `${program} gives the container the control of the container engine`,
    });
  }
  for (const mount of mounts) {
    const from = /(?:source|src)=([^,]+)/.exec(mount)?.[1] ?? mount.split(":")[0] ?? "";
    if (
      /^\/$|^\/(etc|root|boot|home|usr|var)\/?$|^(~|\$HOME|\/home\/[^/]+|\/Users\/[^/]+)\/?$/.test(
        from,
      )
    ) {
      causes.push({ name: "host_access", why: `${program} mounts "${from}" of this machine` });
      if (from === "/") {
        causes.push({
          name: "destroys_whole",
          why: "the container can change every file of this machine",
        });
      }
    } else if (secrecyOf(from.replace(/\/?$/, "/x")) !== null) {
      causes.push({
        name: "private_key_read",
        why: `${program} mounts "${from}", which holds secrets`,
      });
    }
  }
  if (
    argv.some((word, i) =>
      /^--(privileged(=true)?|cap-add.*|security-opt.*|device.*)$/.test(word) ||
      /^--(pid|net|network|ipc|userns|uts)=host$/.test(word) ||
      (word === "host" && /^--(pid|net|network|ipc|userns)$/.test(argv[i - 1] ?? ""))
    )
  ) {
    causes.push({
      name: "host_access",
      why: `${program} gives the container rights on this machine`,
    });
  }
  if (verb === "push") causes.push({ name: "publishes", why: `${program} publishes an image` });
  else if (
    /^(stack|service|swarm|node)$/.test(verb) &&
    /^(deploy|update|scale|create|rm|init|leave|rollback)$/.test(next)
  ) {
    causes.push({ name: "cloud_change", why: `${program} ${verb} ${next} changes a cluster` });
  } else if (
    (/^(system|volume|network|image|builder)$/.test(verb) && /^(prune|rm|remove)$/.test(next) &&
      (verb === "volume" || has(call, /^(--volumes|-a|--all|-af|-fa)$/))) ||
    (verb === "down" && has(call, /^(-v|--volumes|--rmi.*)$/)) ||
    (verb === "rm" && has(call, /^-[a-z]*v/))
  ) {
    causes.push({
      name: "loses_work",
      why: `${program} deletes volumes or images, with the data in them`,
    });
  } else if (
    /^(prune|rm|rmi|kill|stop|down|restart|remove)$/.test(verb) || /^(prune|rm|remove)$/.test(next)
  ) {
    causes.push({ name: "container_start", why: `${program} ${verb} stops or removes containers` });
  } else if (
    /^(run|exec|up|start|build|buildx|create|pull|cp|load|import|commit|tag|bake|login)$/.test(verb)
  ) {
    if (verb !== "tag") {
      causes.push({ name: "container_start", why: `${program} ${verb} builds or runs containers` });
    }
  }
  const production = productionOf(call, context);
  const isRemote = has(call, /^(-H|--host|--context|-c)/) || /^(stack|service|swarm)$/.test(verb);
  if (
    production !== null && (isRemote || /^(up|down)$/.test(verb) || verb === "exec") &&
    causes.length > 0
  ) {
    causes.push({ name: "production", why: `${program} works on "${production}"` });
  }
  return causes;
};

const INSTALL =
  /^(install|add|i|ci|get|update|upgrade|remove|uninstall|rm|sync|up|link|tap|bootstrap|require|dlx|in|un|isntall|restore|download|import)$/;

const packageCauses = (call: Call): Cause[] => {
  const { program, words } = call;
  if (asksHelp(call)) return [];
  const text = words.join(" ");
  if (/^(npm|pnpm|yarn|bun|lerna|changeset|nx|rush|jsr|vsce|ovsx|clasp)$/.test(program)) {
    const acts = words.find((word) => !/^(run|exec|npm|workspace|workspaces)$/.test(word));
    if (
      /^(publish|unpublish|deprecate|dist-tag|dist-tags|access|owner|token|release)$/.test(
        acts ?? "",
      ) && !words.includes("run")
    ) {
      if (triesOnly(call) || /\b(ls|list|get)\b/.test(text)) return [];
      const causes = one("publishes", `${program} ${acts} changes what others install`);
      if (acts === "unpublish") {
        causes.push({ name: "destroys_whole", why: "what others install disappears" });
      }
      return causes;
    }
  }
  if (
    /^(cargo|gem|poetry|uv|twine|hatch|flit|pdm|mvn|gradle|gradlew|dotnet|nuget|composer|mix|sbt|lein|pod|helm|conan|pub|dart|flutter|goreleaser|semantic-release|np|standard-version|release-it|fastlane|jfrog|jf|cosign|oras|skopeo|deno|rubygems|luarocks|cpan-upload|quarto|mkdocs|gh-pages|surge|rsconnect|expo|eas)$/
      .test(program)
  ) {
    const isPublish =
      /(^|[ :])(publish\w*|upload|push|yank|release\w*|deploy|gh-deploy|trunk|submit|hex\.publish|nuget)([ :]|$)/
        .test(text) ||
      /^(goreleaser|semantic-release|np|release-it|gh-pages|surge)$/.test(program);
    if (isPublish && !triesOnly(call) && !has(call, /^--snapshot$/)) {
      return one("publishes", `${program} publishes something that others use`);
    }
  }
  const runs =
    /^(npm|pnpm|yarn|bun|pip|pip\d|pipx|pipenv|uv|uvx|poetry|pdm|conda|mamba|gem|bundle|bundler|cargo|go|apt|apt-get|aptitude|brew|dnf|yum|zypper|pacman|apk|snap|flatpak|port|nix|nix-env|composer|mix|opam|cpan|cpanm|luarocks|rustup|nvm|asdf|mise|volta|deno|dotnet|nuget|code|cursor|claude|gemini|codex|winget|choco|scoop|helm|krew|volta|corepack|dpkg|rpm|pod|flutter|dart|swift|ghcup|sdk|jabba|pyenv|rbenv|easy_install|vcpkg|conan)$/;
  if (!runs.test(program)) return [];
  if (triesOnly(call)) return [];
  const isInstall = words.slice(0, 3).some((word) => INSTALL.test(word)) ||
    (program === "yarn" && words.length === 0) ||
    /^(dpkg|rpm)$/.test(program) && has(call, /^-[iUe]/) ||
    has(call, /^--install-extension/) || (program === "pacman" && has(call, /^-[SRU]/)) ||
    (program === "go" && words[0] === "install");
  if (!isInstall || words[0] === "run" || words[0] === "list" || words[0] === "mod") return [];
  return one("installs", `${program} may download code and run it`);
};

const LOCAL_TOOLS =
  /^(tsc|eslint|prettier|vitest|jest|mocha|biome|vite|webpack|rollup|esbuild|tsx|ts-node|next|nuxt|astro|playwright|cypress|stylelint|nx|turbo|lint-staged|husky|prisma|drizzle-kit|knex|typeorm|sequelize|sequelize-cli|tailwindcss|svelte-check|vue-tsc|knip|madge|depcheck|nyc|c8|ava|tap|oxlint|dprint|storybook|rimraf|concurrently|wrangler|vercel|netlify|cdk|sls|serverless|firebase|expo|eas|semantic-release|np|release-it|lerna|changeset|commitlint|tap|uvu|remark|markdownlint|cspell|tsup|swc|babel|parcel|gulp|grunt|ncu|npm-check-updates|license-checker|typedoc|jsdoc|api-extractor|size-limit|publint|attw|ruff|black|mypy|pytest|pyright|flake8|isort|tox|nox|pre-commit|cowsay)(@[\w.-]+)?$/;

const runnerCauses = (call: Call): Cause[] => {
  const [first = ""] = call.words;
  if (first === "" || asksHelp(call)) return [];
  if (LOCAL_TOOLS.test(first) && !has(call, /^(-y|--yes|-p|--package.*)$/)) return [];
  return one("installs", `${call.program} may download "${first}" and run it`);
};

const NETWORK_TARGET = /^(?:[a-z+]+:\/\/|[\w.-]+\.[a-z]{2,}(?:[:/]|$))/i;

const webCauses = (call: Call): Cause[] => {
  const { program, argv, text } = call;
  if (asksHelp(call)) return [];
  const targets = argv.filter((word, i) =>
    NETWORK_TARGET.test(word) &&
    !/^(-o|-O|--output|-H|--header|-e|-A|--cacert|-T|--upload-file)$/.test(argv[i - 1] ?? "")
  );
  const isLocal = LOCAL.test(targets[0] ?? argv.find((word) => LOCAL.test(word)) ?? "");
  if (isLocal) return [];
  const method = /(?:-X\s?|--request[ =]|--method[ =])(\w+)/.exec(text)?.[1]?.toUpperCase() ??
    (/^https?$|^xh$/.test(program)
      ? argv.find((word) => /^(POST|PUT|PATCH|DELETE)$/.test(word))
      : undefined);
  const sendsFile =
    /(?:^|\s)(?:-d|--data(?:-\w+)?|--json|-F|--form|-T|--upload-file|--post-file|--body-file)[ =]?\S*(?:@|=@)\S|(?:^|\s)(?:-T|--upload-file|--post-file|--body-file)[ =]?\S/
      .test(text);
  const sends =
    /(?:^|\s)(?:-d|--data(?:-\w+)?|--json|-F|--form|--post-data|--body-data)(?:[ =]|\S)/.test(
      text,
    ) ||
    (method !== undefined && !/^(GET|HEAD|OPTIONS)$/.test(method));
  const host = targets[0]?.replace(/^[a-z]+:\/\//i, "").split(/[/?#]/)[0]?.slice(0, 80) ??
    "another machine";
  const production = namesProduction([host]);
  const causes: Cause[] = [];
  if (sendsFile) causes.push({ name: "sends_file", why: `${program} sends a file to ${host}` });
  else if (sends) causes.push({ name: "sends", why: `${program} sends data to ${host}` });
  else causes.push({ name: "network", why: `${program} reads from ${host}` });
  if (method === "DELETE") {
    causes.push({ name: "cloud_change", why: `${program} deletes something at ${host}` });
  }
  if (production !== null && sends) {
    causes.push({ name: "production", why: `it changes "${production}"` });
  }
  return causes;
};

const remoteCauses = (call: Call, context: Context): Cause[] => {
  const { program, argv, words } = call;
  if (asksHelp(call)) return [];
  if (/^(ssh-keygen|ssh-add|ssh-keyscan)$/.test(program)) {
    return program === "ssh-keygen" && has(call, /^-R$|^-l/)
      ? []
      : one("local_history", `${program} changes keys`);
  }
  const isCopy = /^(scp|rsync|sftp|rclone)$/.test(program);
  if (isCopy && !argv.some((word) => /^[^/-][^/]*:|:\/\//.test(word)) && program !== "sftp") {
    return program === "rsync" && has(call, /^--delete/) && !triesOnly(call) &&
        !has(call, /^-[a-z]*n/)
      ? one("deletes", "rsync deletes what the source lacks")
      : [];
  }
  if (isCopy && (triesOnly(call) || has(call, /^-[a-z]*n[a-z]*$/) && program === "rsync")) {
    return [];
  }
  const production = productionOf(call, context);
  const causes = one(
    "remote",
    `${program} works on another machine: ${words[0]?.slice(0, 60) ?? ""}`,
  );
  if (production !== null) {
    causes.push({ name: "production", why: `${program} works on "${production}"` });
  }
  return causes;
};

const privilegeCauses = (call: Call): Cause[] =>
  call.words.length === 0 && !has(call, /^-[si]/)
    ? []
    : has(call, /^-(l|v|k|K)$/)
    ? []
    : one("privilege", `${call.program} acts with the rights of another user`);

const serviceCauses = (call: Call): Cause[] => {
  const { program, words, options } = call;
  if (/^(reboot|shutdown|halt|poweroff|init)$/.test(program)) {
    return one("destroys_whole", "stops this machine");
  }
  const text = words.join(" ");
  if (
    /\b(status|list\S*|is-\S+|show|cat|print|blame|info|help)\b/.test(text) ||
    words.length === 0 && options.length === 0 && !/^(visudo|passwd)$/.test(program)
  ) return [];
  if (/journalctl|dmesg/.test(program)) return [];
  return one(
    "service",
    `${program} ${words[0] ?? ""} changes the services or the protection of this machine`,
  );
};

const modeCauses = (call: Call): Cause[] => {
  const { program, text } = call;
  if (/^(chown|chgrp|setcap|setfacl)$/.test(program)) {
    return one("privilege", `${program} changes who owns or may do what`);
  }
  if (
    /(^|\s)[0-7]?[0-7][0-7][2367](\s|$)|\b(a|o|ugo|go)*[ao][+=]\w*w|(^|\s)[4267][0-7]{3}(\s|$)|[ug]\+s/
      .test(text)
  ) {
    return one("privilege", `${program} lets everybody change a file, or run it with more rights`);
  }
  return one("mode", `${program} changes the permissions of files`);
};

const diskCauses = (call: Call): Cause[] =>
  call.program === "dd" && !/of=\/dev\/(?!null|stdout)/.test(call.text) ||
    /\s-l\b/.test(` ${call.text}`) ||
    /^(info\w*|list|status|get|activity|verifyvolume)$/.test(call.words[0] ?? "")
    ? []
    : one("destroys_machine", `${call.program} overwrites a disk or a file for good`);

const scheduleCauses = (call: Call): Cause[] =>
  has(call, /^-l$/) || (call.program === "at" && call.words.length === 0)
    ? []
    : one("schedules", `${call.program} makes something run later without an agent`);

const killCauses = ({ program, words }: Call): Cause[] =>
  words.length === 0 ? [] : one("mode", `${program} ends processes`);

const interpreterCauses = (call: Call, context: Context): Cause[] => {
  const { command } = context.facts;
  const { program, argv, words } = call;
  if (asksHelp(call) || has(call, /^-v$/)) return [];
  const isShell = /^((ba|da|z|k|fi|c|tc)?sh|pwsh|powershell|source|\.)$/.test(program);
  if (has(call, /^(-\w*c|-e|-p|-r|--eval|-Command|-EncodedCommand|-enc)$/i)) {
    return isShell ? [] : one("interpreter", `${program} runs code of its arguments`);
  }
  if (/^-(m|-module)$/.test(argv[0] ?? "")) return [];
  if (words.length === 0) {
    return command !== null && /[|<]/.test(command)
      ? /<</.test(command) || isFetched(context)
        ? one("interpreter", `${program} runs a text of the command`)
        : one("unknown_code", `${program} runs what another program hands to it`)
      : [];
  }
  const script = words[0]!;
  if (NETWORK_TARGET.test(script) && /:\/\//.test(script)) {
    return one("foreign_code", `${program} runs code from the network`);
  }
  if (DB_TOOLS.test(basename(script))) {
    return migrationCauses(
      callOf([
        basename(script),
        ...call.argv.slice(argv.findIndex((word) => word.toLowerCase() === script) + 1),
      ]),
      context,
    );
  }
  const task = taskOfScript(script, call, context);
  if (task.length > 0) return task;
  return isShell
    ? one("shell_script", `${program} runs "${script}", whose programs gate does not follow`)
    : one("interpreter", `${program} runs "${script}"`);
};

/** The factor about foreign code says it already. */
function isFetched({ calls }: Context): boolean {
  return calls.some(({ program }) => /^(curl|wget|fetch|iwr|invoke-webrequest)$/.test(program));
}

/** A script that is called after what it does: `deploy.sh`, `scripts/drop_db.py`. */
function taskOfScript(script: string, call: Call, context: Context): Cause[] {
  const name = basename(script).replace(/\.\w+$/, "");
  const found = TASKS.filter(([pattern, factor]) => factor !== "deletes" && pattern.test(name));
  const causes = found.map(([, factor, what]): Cause => ({
    name: factor,
    why: `"${script}" ${what}`,
  }));
  const production = productionOf(call, context);
  if (production !== null && (found.length > 0 || !/^(node|deno|bun)$/.test(call.program))) {
    causes.push({
      name: found.length > 0 ? "production" : "production_named",
      why: `"${script}" is about "${production}"`,
    });
  }
  return causes;
}

const deletingCauses = (call: Call): Cause[] => {
  if (call.program === "find" || call.program === "fd") {
    if (!call.argv.includes("-delete") && !/-exec\s+rm|-x\s+rm/.test(call.text)) return [];
    const isWide = call.words.length > 0 &&
      /^(\/|~\/?|\/(home|users|etc|usr|var|root)(\/[^/]+)?\/?|\.\.(\/\.\.)*\/?)$/.test(
        call.words[0]!,
      );
    return one(isWide ? "deletes_everything" : "deletes", `${call.program} deletes what it finds`);
  }
  if (/^(rm|unlink)$/.test(call.program)) {
    if (call.words.length > 0 || asksHelp(call)) return [];
    const isWide = has(call, /^-\w*[rR]|^--recursive$/);
    return one(
      isWide ? "deletes_folder" : "deletes",
      `${call.program} deletes what its input names`,
    );
  }
  if (call.program === "shred" || call.program === "srm") {
    return one("loses_work", `${call.program} deletes a file for good`);
  }
  if (call.program === "truncate") return one("loses_work", "truncate empties a file");
  return [];
};

const networkToolCauses = (call: Call): Cause[] => {
  if (has(call, /^-[a-z]*z[a-z]*$/) || call.words.some((word) => LOCAL.test(word))) {
    return one("network", `${call.program} tries a connection`);
  }
  if (has(call, /^-[a-z]*e$|^--exec|^-c$/) || /exec:/i.test(call.text)) {
    return one("opens_shell", `${call.program} connects a program to another machine`);
  }
  return one("sends", `${call.program} opens a connection to another machine`);
};

const secretToolCauses = (call: Call): Cause[] =>
  /\b(get|read|show|export|find-generic-password|dump|cat|item|decrypt|-d|--decrypt|--export-secret-keys|ls)\b/
      .test(call.text)
    ? one("private_key_read", `${call.program} shows secrets`)
    : one("local_history", `${call.program} works on secrets`);

const printingEnvCauses = (call: Call): Cause[] =>
  call.words.length === 0 ? one("interpreter", "prints the variables, which may hold secrets") : [];

const ROWS: Row[] = [
  [CLOUD, cloudCauses],
  [MANAGERS, (call, context) => {
    if (
      asksHelp(call) || triesOnly(call) ||
      has(call, /^(--list-hosts|--syntax-check|--list-tasks|-C)$/)
    ) return [];
    const production = productionOf(call, context);
    const causes = one("cloud_change", `${call.program} changes other machines`);
    if (production !== null) {
      causes.push({ name: "production", why: `${call.program} works on "${production}"` });
    }
    return causes;
  }],
  [DB_CLIENTS, databaseCauses],
  [DB_TOOLS, migrationCauses],
  [
    /^(dropdb|dropuser)$/,
    (call, context) =>
      databaseEffect(
        "database_destroy",
        `${call.program} deletes a database or a user of it`,
        productionOf(call, context),
      ),
  ],
  [
    /^(createdb|createuser|pg_restore|mongorestore|mysqlimport|mysqladmin|mongoimport)$/,
    (call, context) =>
      databaseEffect(
        /\bdrop\b|--clean|--drop/.test(call.text) ? "database_destroy" : "database_change",
        `${call.program} changes a database`,
        productionOf(call, context),
      ),
  ],
  [/^(pg_dump|pg_dumpall|mysqldump|mongodump|mongoexport)$/, (call, context) => {
    const production = productionOf(call, context);
    return production === null
      ? one("interpreter", `${call.program} copies a database`)
      : one("production_named", `${call.program} copies "${production}"`);
  }],
  [
    /^(npm|pnpm|yarn|bun|deno|make|gmake|just|task|rake|gradle|gradlew|mvn|ant|invoke|nox|tox|nx|turbo|lerna|composer|mage|earthly|bazel|pants|poe|hatch|pdm|mix|sbt|cargo-make|doit|please|dagger)$/,
    taskCauses,
  ],
  [/^git$/, gitCauses],
  [/^(gh|glab|hub|tea)$/, hubCauses],
  [CONTAINER, containerCauses],
  [/./, packageCauses],
  [/^(npx|bunx|pnpx|uvx|dlx)$/, runnerCauses],
  [/^(curl|wget|http|https|xh|aria2c|fetch|lwp-request|invoke-webrequest|iwr|curlie)$/, webCauses],
  [/^(nc|ncat|netcat|socat|telnet|ftp)$/, networkToolCauses],
  [
    /^(ssh|scp|rsync|sftp|mosh|autossh|sshpass|ssh-copy-id|ssh-keygen|ssh-add|pssh|winrs|psexec)$/,
    remoteCauses,
  ],
  [/^(sudo|doas|su|pkexec|runas|gosu|nsenter|chroot|unshare|setpriv)$/, privilegeCauses],
  [
    /^(systemctl|service|launchctl|rc-service|initctl|iptables|ip6tables|nft|ufw|firewall-cmd|sysctl|modprobe|insmod|rmmod|useradd|userdel|usermod|groupadd|passwd|chpasswd|visudo|mount|umount|swapoff|setenforce|update-alternatives|update-rc\.d|hostnamectl|timedatectl|csrutil|spctl|defaults|reg|netsh|sc|reboot|shutdown|halt|poweroff|init|nmcli|ifconfig)$/,
    serviceCauses,
  ],
  [/^(chmod|chown|chgrp|setcap|setfacl)$/, modeCauses],
  [
    /^(dd|mkfs.*|fdisk|sfdisk|parted|wipefs|mkswap|diskutil|hdparm|blkdiscard|cryptsetup|lvremove|vgremove|zpool|zfs|badblocks)$/,
    diskCauses,
  ],
  [/^(crontab|at|batch|systemd-run|schtasks)$/, scheduleCauses],
  [/^(kill|pkill|killall|taskkill|fuser)$/, killCauses],
  [
    /^((ba|da|z|k|fi|c|tc)?sh|pwsh|powershell|source|\.|python[\d.]*|pypy\d*|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php\d*|lua|rscript|osascript|groovy|julia)$/,
    interpreterCauses,
  ],
  [/^(find|fd|shred|srm|truncate|rm|unlink)$/, deletingCauses],
  [
    /^(op|pass|bw|gopass|security|secret-tool|sops|age|gpg|gpg2|ansible-vault|keyring|chamber|doppler|infisical|aws-vault|lpass|envchain)$/,
    secretToolCauses,
  ],
  [/^(printenv|env|export|set)$/, printingEnvCauses],
];

const SCRIPT_PROGRAM = /^\.{0,2}\/|\.(sh|py|rb|js|ts|pl)$/;

/** A program of the project, which is judged by its name. */
function anyProgram({ program, argv }: Call, context: Context): Cause[] {
  if (
    !/\.(sh|bash|py|rb|js|ts|pl|ps1)$/.test(program) &&
    !/^(deploy|release|publish|rollout|ship)/.test(program)
  ) return [];
  const call = callOf([program, ...argv]);
  const causes = taskOfScript(program, call, context);
  if (causes.length > 0) return causes;
  return SCRIPT_PROGRAM.test(program) && /\.(sh|bash|ps1)$/.test(program)
    ? one("shell_script", `runs "${program}", whose programs gate does not follow`)
    : one("interpreter", `runs "${program}"`);
}

const SENDER =
  /^(curl|wget|http|https|xh|nc|ncat|netcat|socat|telnet|ftp|ssh|scp|rsync|sftp|aws|gsutil|gcloud|az|rclone|s3cmd|gh|mail|sendmail|mutt|nslookup|dig|host|ping|invoke-webrequest|iwr)$/;
const SHELLS = /^((ba|da|z|k|fi)?sh|python[\d.]*|node|perl|ruby|php|pwsh|eval|source|\.)$/;

/** What several programs of a command do together. */
function jointCauses({ reads, unresolved }: Analysis, { calls, facts }: Context): Cause[] {
  const causes: Cause[] = [];
  const sender = calls.find(({ program, argv }) =>
    SENDER.test(program) && !argv.some((word) => LOCAL.test(word))
  );
  const told = [
    ...reads,
    ...calls.filter((call) => call !== undefined).flatMap(({ argv }) => argv.map(fileOfWord)),
  ]
    .find((path) => isSecret(path) && !isOwnKey(path, calls));
  if (sender && told !== undefined && !isCloudRead(sender)) {
    causes.push({
      name: "sends_secret",
      why: `${sender.program} may send "${told}", which holds secrets`,
    });
  } else if (
    !sender && told !== undefined && !reads.includes(told) &&
    calls.some(({ program }) =>
      /^(cat|less|more|head|tail|base64|xxd|strings|cp|tar|zip|gpg|openssl|python[\d.]*|node|awk|sed|grep|rg)$/
        .test(program)
    )
  ) {
    causes.push({ name: "secret_read", why: `reads "${told}", which holds secrets` });
  }
  const variable = sender &&
    /\$\{?\w*(secret|token|password|passwd|api_?key|private_?key|credential)/i.exec(
      facts.command ?? "",
    );
  const isHeader = /(-H|--header|-u|--user|authorization)/i.test(facts.command ?? "");
  if (sender && variable && !isHeader && /(-d|--data|\?|-F|\|)/.test(facts.command ?? "")) {
    causes.push({
      name: "sends_secret",
      why: `${sender.program} sends the variable ${variable[0]}`,
    });
  }
  if (
    sender &&
    calls.some(({ program, words }) =>
      /^(env|printenv|set|export)$/.test(program) && words.length === 0
    )
  ) {
    causes.push({
      name: "sends_secret",
      why: `${sender.program} may send the variables of the environment`,
    });
  }
  const { secret_read } = facts.circumstances;
  if (sender && secret_read !== null && !isCloudRead(sender)) {
    const sends = webCauses(sender).some(({ name }) => name === "sends" || name === "sends_file") ||
      !/^(curl|wget|http|xh|gh)$/.test(sender.program);
    causes.push({
      name: sends ? "sends_secret" : "network_after_secret",
      why: `${sender.program} uses the network after the session has read "${secret_read}"`,
    });
  }
  const fetches = calls.some(({ program }) =>
    /^(curl|wget|fetch|iwr|invoke-webrequest)$/.test(program)
  );
  const runs = calls.some(({ program, words, options }) =>
    SHELLS.test(program) &&
    (words.length === 0 || /^(eval|source|\.)$/.test(program) ||
      options.some((option) => /^-\w*c$|^-s$|^-$/.test(option)))
  ) || calls.some(({ program, argv }) => SHELLS.test(program) && argv.includes("-"));
  const substitutes = /(<\(|\$\(|`)\s*(curl|wget|fetch)\b/.test(facts.command ?? "") &&
    calls.some(({ program }) => SHELLS.test(program));
  const isForeign = substitutes ||
    (fetches && runs && (unresolved.length > 0 || /[|`(]/.test(facts.command ?? "")));
  if (isForeign) {
    causes.push({ name: "foreign_code", why: "downloads code and runs it" });
  }
  const decodes = calls.some(({ program, options }) =>
    /^(base64|xxd|openssl|gunzip|zcat|rev|tr)$/.test(program) &&
    (program === "rev" || options.some((option) => /^(-d|-D|--decode|-r|-dc?)$/.test(option)) ||
      program === "openssl")
  );
  if (decodes && runs && !isForeign) {
    causes.push({ name: "unknown_code", why: "runs a text that is decoded first" });
  }
  if (/\/dev\/(tcp|udp)\//.test(facts.command ?? "")) {
    causes.push({ name: "opens_shell", why: "opens a connection through the shell itself" });
  }
  return causes;
}

/** Whether the path names a file of secrets, or a folder of them. */
function isSecret(path: string): boolean {
  if (path === "" || path.length > 400 || !/[./~]/.test(path)) return false;
  return secrecyOf(path) !== null || secrecyOf(`${path.replace(/\/$/, "")}/x`) === "private";
}

/** The file that an argument names: `@.env`, `file=@.env`, `--from=.env`, `.env:/x`. */
function fileOfWord(word: string): string {
  if (/^https?:/.test(word) || /\s/.test(word)) return "";
  return word.replace(/^-{1,2}[\w-]+=/, "").replace(/^\w*=?@/, "").split(":")[0] ?? "";
}

/** The identity of a remote login is used, not sent. */
function isOwnKey(path: string, calls: readonly Call[]): boolean {
  return calls.some(({ argv }) =>
    argv.some((word, at) =>
      word === path && /^(-i|--key|--cert|--cacert|--identity|-E|-F)$/.test(argv[at - 1] ?? "")
    )
  );
}

function isCloudRead(call: Call): boolean {
  if (!/^(aws|gcloud|az|gh|gsutil)$/.test(call.program)) return false;
  return verbOf(valuesLeftOut(call))?.kind === "reads" && !/\b(cp|sync|mv|put)\b/.test(call.text);
}
