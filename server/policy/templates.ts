import type { Effect, Policies, PolicyEntry } from "./schema.ts";

/** The policies that a project can start from. */
export type TemplateName = "strict" | "balanced" | "permissive";

/** The lists of rules, in the order in which a config shows them. */
const LISTS = [
  "allowedPaths",
  "blockedPaths",
  "allowedCommands",
  "allowedTools",
  "askCommands",
  "blockedCommands",
] as const;
type List = typeof LISTS[number];

/** Rules of a template that have one reason. */
export interface RuleGroup {
  effect: Effect;
  /** One sentence for people: why these rules decide so. */
  reason: string;
  rules: Partial<Record<List, PolicyEntry[]>>;
}

/** A template with the reasons for its rules. */
export interface Template {
  name: TemplateName;
  /** Half a sentence for a person who chooses. */
  summary: string;
  groups: readonly RuleGroup[];
  /** When commands run in a sandbox; by default instead of a question, where it can. */
  sandbox?: Policies["sandbox"];
  /** The effect of everything that no rule names. */
  rest: { effect: Effect; reason: string };
  /**
   * Questions to a person for every hundred harmless commands of `test/corpora/commands.jsonl`, as
   * `gate policy bench` counts them: builds, containers, package managers, git and text tools.
   */
  asks_per_hundred: number;
  /** The same on a machine that can sandbox commands. */
  asks_in_sandbox: number;
}

const SECRETS: PolicyEntry[] = [
  {
    pattern: ".env",
    reason: "Secrets stay out of an agent's hands",
    alternative: "Write .env.example and ask the person to fill in .env",
    match: [".env", "api/.env"],
    not_match: [".env.example"],
  },
  { pattern: ".env.local", reason: "Secrets stay out of an agent's hands" },
  { pattern: ".env.production", reason: "Secrets stay out of an agent's hands" },
  { pattern: ".env.{staging,*.local}", reason: "Secrets stay out of an agent's hands" },
  { pattern: "*.pem", reason: "Private keys stay out of an agent's hands" },
  { pattern: "*.{key,p12,pfx}", reason: "Private keys stay out of an agent's hands" },
  {
    pattern: "id_{rsa,dsa,ecdsa,ed25519}",
    reason: "Private keys stay out of an agent's hands",
    match: ["id_rsa", "keys/id_ed25519"],
    not_match: ["id_rsa.pub"],
  },
  { pattern: "~/.ssh/**", reason: "Private keys stay out of an agent's hands" },
  { pattern: "~/.gnupg/**", reason: "Private keys stay out of an agent's hands" },
  { pattern: "~/.aws/**", reason: "Credentials stay out of an agent's hands" },
  {
    pattern: "~/.{azure,kube,docker,config/gh,config/gcloud}/**",
    reason: "Credentials stay out of an agent's hands",
  },
  {
    pattern: "~/.{netrc,npmrc,pypirc,pgpass,git-credentials}",
    reason: "Credentials stay out of an agent's hands",
  },
  ...[
    "~/.{config/glab-cli,config/doctl,config/rclone,config/op,config/sops}/**",
    "~/.{my.cnf,mylogin.cnf,s3cfg,boto,vault-token,dockercfg,config/hub,config/git/credentials}",
    "~/.{cargo/credentials,cargo/credentials.toml,gem/credentials,m2/settings.xml}",
    "~/.{gradle/gradle.properties,terraform.d/credentials.tfrc.json}",
    "~/.{claude/.credentials,codex/auth,gemini/oauth_creds}.json",
  ].map((pattern) => ({ pattern, reason: "Credentials stay out of an agent's hands" })),
  ...[
    "~/{.password-store,.local/share/keyrings,Library/Keychains}/**",
    "~/{.mozilla,.config/google-chrome,.config/chromium,.config/BraveSoftware}/**",
    "~/{.config/google-chrome-*,.config/microsoft-edge*,.config/opera*,.config/vivaldi*}/**",
    "~/{.librewolf,.thunderbird,.var/app,snap/firefox,snap/chromium,snap/brave}/**",
    "~/{.local/share/kwalletd,Library/Cookies,Library/Application Support/Google/Chrome}/**",
    "~/Library/Application Support/{Firefox,BraveSoftware,Microsoft Edge}/**",
  ].map((pattern) => ({ pattern, reason: "Passwords and cookies stay out of an agent's hands" })),
  ...[
    ...["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/krb5.keytab"],
    ...["/etc/sudoers", "/etc/sudoers.d/**", "/etc/ssl/private/**"],
    ...["rsa", "ecdsa", "ed25519"].map((kind) => `/etc/ssh/ssh_host_${kind}_key`),
    ...["/run/secrets/**", "/var/run/secrets/**"],
  ].map((pattern) => ({ pattern, reason: "Secrets of the machine stay out of an agent's hands" })),
  // Kerberos and X11 keep them in the folder of temporary files, or in the home.
  ...[
    ...["krb5cc*", "xauth_*"].map((name) => `/{tmp,var/tmp,private/tmp}/${name}`),
    ...[".Xauthority", ".ICEauthority", "/run/user/**"],
  ]
    .map((pattern) => ({ pattern, reason: "Logins stay out of an agent's hands" })),
  { pattern: "~/.*_history", reason: "What people typed may contain passwords" },
];

const DESTRUCTIVE: PolicyEntry[] = [
  {
    pattern: "git push --force",
    reason: "It overwrites the work of others",
    alternative: "git push --force-with-lease, after asking",
  },
  { pattern: "git reset --hard", reason: "It discards uncommitted work" },
  { pattern: "git clean -f", reason: "It deletes files that have no copy" },
  { pattern: "* | sh", reason: "It runs code that nobody has read" },
  { pattern: "mkfs*", reason: "It erases a disk" },
  { pattern: "shutdown", reason: "It stops the machine" },
];

const READ_TOOLS = ["read_file"];
const READING = ["ls", "pwd", "cat", "head", "tail", "wc", "grep", "rg"];
const GIT_READING = ["git status", "git diff", "git log", "git show"];

const LOOKING = (
  "find tree du file stat diff cmp comm sort uniq cut paste join column fold fmt nl tac rev expand unexpand tr jq sed " +
  "strings xxd od hexdump md5sum sha1sum sha256sum sha512sum cksum basename dirname realpath readlink which type seq " +
  "sleep true false test uname whoami id date base64 egrep fgrep zcat expr factor numfmt nproc arch df free " +
  "uptime groups locale tty cal lscpu lsblk whereis"
).split(" ");

const COMPUTING = ["python3 -c", "python -c", "node -e", "node -p", "perl -e", "ruby -e"]
  .concat("awk gawk mawk".split(" "));

const GIT_LOOKING = [
  ...[
    "blame",
    "rev-parse",
    "ls-files",
    "ls-tree",
    "describe",
    "shortlog",
    "rev-list",
    "merge-base",
  ],
  ...["show-ref", "for-each-ref", "check-ignore", "count-objects", "cat-file", "grep"],
  ...["branch --show-current", "branch -a", "branch -r", "branch -v", "branch --list", "tag -l"],
  ...["branch --contains", "branch --merged", "branch --no-merged", "branch --points-at"],
  ...["branch --", "tag --", "tag --contains", "tag --merged", "tag --points-at", "tag -n"],
  ...["remote --", "remote get-url *", "reflog --", "reflog show *", "symbolic-ref HEAD"],
  ...["diff-tree", "diff-index", "diff-files", "cherry", "name-rev", "show-branch", "version"],
  ...["worktree list", "stash list", "stash show"],
].map((command) => `git ${command}`);

const GITHUB_LOOKING = [
  ...["pr view", "pr list", "pr status", "pr checks", "pr diff", "issue view", "issue list"],
  ...[
    "run view",
    "run list",
    "run watch",
    "repo view",
    "release view",
    "release list",
    "gist view",
  ],
].map((command) => `gh ${command} *`);

/**
 * Without launchers that always take their version, options or plugins from files of the folder. A
 * version manager may put a shim in the place of the others; that shim does so too.
 */
const VERSIONS = (
  "python python3 pip pip3 uv ruff mypy node npm npx bun deno tsc eslint prettier vitest jest " +
  "git gh java javac php perl make cmake gcc g++ clang docker kubectl"
).split(" ").map((program) => `${program} --version`)
  .concat("node -v --", "npm -v --", "python3 -V --", "python -V --", "java -version --");

const EVERYDAY = "add commit".split(" ").map((command) => `git ${command}`).concat(
  "echo printf mkdir touch cp mv chmod rmdir".split(" "),
);

/** Only words that no other program has as a subcommand: an unknown program may be any of these. */
const SHOWING_KEYS = [
  ...["gh auth token", "git credential fill", "git credential-store get"],
  ...["gcloud auth print-access-token", "gcloud auth print-identity-token"],
  ...["az account get-access-token", "aws configure get", "aws configure export-credentials"],
  ...["security find-generic-password", "security find-internet-password"],
  ...["gpg --export-secret-keys", "gpg --export-secret-subkeys"],
  ...["gh auth status --show-token", "gh auth status -t", "vault kv get", "op read"],
  ...["aws secretsmanager get-secret-value", "aws ssm get-parameter", "aws ssm get-parameters"],
  ...["kubectl get secret", "kubectl get secrets", "gcloud secrets versions access"],
  ...["doppler secrets", "terraform state pull", "terraform output -json", "terraform output -raw"],
  ...["aws sts get-session-token", "aws sts assume-role", "aws ecr get-login-password"],
  ...["aws rds generate-db-auth-token", "az keyvault secret show", "kubectl config view --raw"],
  ...["op item get", "pass show*", "bw get*", "secret-tool lookup", "security dump-keychain"],
  ...[
    "sops -d",
    "sops --decrypt",
    "sops decrypt*",
    "ansible-vault view*",
    "ansible-vault decrypt*",
  ],
  ...["heroku config*", "vercel env pull", "railway variables"],
  // They fill in the variables of .env.
  ...["docker compose config", "docker-compose config"],
  // A machine in the cloud gives its own keys to everybody who asks there.
  ...["curl", "wget", "http", "xh"].flatMap((program) =>
    ["169.254.169.254", "metadata.google.internal"].map((host) => `${program} *${host}*`)
  ),
  ...["env", "printenv"].flatMap((all) =>
    ["curl", "wget", "nc", "ncat"].map((program) => `${all} | ${program}`)
  ),
];

/** Each of these subcommands of a program; words of one subcommand are joined by a plus. */
function each(program: string, subcommands: string): string[] {
  return subcommands.split(" ").map((words) => `${program} ${words.replaceAll("+", " ")}`);
}

// A rule with a plain word also counts for each program that gate does not know; a star prevents that.
const PUBLISHING = [
  ...each(
    "npm",
    "publish unpublish deprecate dist-tag+add dist-tag+rm owner+add owner+rm token+create access+set " +
      "access+grant team+add hook+add",
  ),
  ...[
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "uv",
    "poetry",
    "hatch",
    "lerna",
    "changeset",
    "gradle",
    "gradlew",
    "pdm",
    "flit",
    "maturin",
  ]
    .map((program) => `${program} publish`),
  ...["yarn npm publish", "maturin upload*", "gradle publish*", "gradlew publish*", "mvnw deploy*"],
  ...each("cargo", "publish yank owner+--add"),
  ...each("gem", "push* yank*"),
  ...["twine upload*", "mvn deploy*", "dotnet nuget push", "helm push*", "semantic-release"],
  ...["docker push*", "podman push*", "docker compose push*", "skopeo copy*", "eas submit*"],
  ...["docker build", "docker buildx build"].map((build) => `${build} --push`),
  ...["goreleaser release*", "mkdocs gh-deploy", "gh-pages", "release-it", "np", "surge"],
  ...each("gh repo", "delete* create* edit* rename* archive* fork* sync* deploy-key*"),
  ...each("gh release", "create* delete* edit* upload*"),
  ...each("gh pr", "create* merge* close* reopen* ready* lock* comment* review* edit*"),
  ...each("gh issue", "create* close* reopen* delete* transfer* lock* pin* comment* edit*"),
  ...each("gh label", "create* delete* edit*"),
  ...each("gh run", "cancel* rerun* delete*"),
  ...each(
    "gh",
    "gist+create* secret+set secret+delete variable+set variable+delete workflow+run workflow+disable " +
      "workflow+enable cache+delete ssh-key+add gpg-key+add",
  ),
  ...["-X", "--method"].flatMap((option) =>
    ["DELETE", "PATCH", "POST", "PUT"].map((method) => `gh api ${option} ${method}`)
  ),
  // A field makes it a POST.
  ...["-f", "-F", "--raw-field", "--field"].map((option) => `gh api *repos/* ${option}`),
  ...["gh api --input", "gh api graphql *mutation*"],
  ...each("glab mr", "create* merge* close* approve*"),
  "glab release create*",
  ...["curl -T", "wget --post-file", "ssh -R", "ngrok", "cloudflared tunnel*"],
];

const DEPLOYING = [
  ...["terraform", "tofu", "terragrunt"].flatMap((program) => each(program, "apply* destroy*")),
  ...each("terraform", "import* taint* untaint* force-unlock* workspace+delete"),
  ...each("terraform state", "rm mv push"),
  ...each("pulumi", "up* destroy*"),
  ...each("cdk", "deploy* destroy*"),
  ...each("sam", "deploy* delete*"),
  ...each("serverless", "deploy* remove*"),
  ...each("kubectl", "delete* apply create* patch* replace* scale* drain* edit* set* run* expose*"),
  ...each("kubectl", "label* annotate* taint* cordon* rollout+undo* rollout+restart*"),
  ...each("helm", "install* upgrade* uninstall* delete* rollback*"),
  ...each(
    "aws",
    "delete-* terminate-* put-* attach-* detach-* authorize-* revoke-* create-* run-*",
  ),
  ...each(
    "aws",
    "start-instances stop-instances reboot-* update-* modify-* send-* purge-* batch-write-* invoke*",
  ),
  ...each("aws", "remove-* reset-* restore-* disable-* enable-* cloudformation+deploy*"),
  ...each("aws s3", "rb rm mv sync"),
  // To a bucket; a download has its name first.
  ...["aws s3 cp ?* s3://*", "gsutil cp ?* gs://*", "gcloud storage cp ?* gs://*"],
  ...each("gcloud", "delete* deploy* create* update* patch* add-iam-policy-binding* storage+rm"),
  ...each("gsutil", "rm* rb* mv*"),
  ...each("az", "create* update* start* stop* restart* deploy"),
  ...["bq rm*", "az delete*", "doctl delete*", "hcloud delete*", "linode-cli delete*"],
  ...["eksctl delete*", "argocd app delete", "consul kv delete", "ansible", "ansible-playbook"],
  ...["fly", "flyctl"].flatMap((program) => each(program, "deploy* destroy*")),
  ...each("sls", "deploy* remove*"),
  ...["sst", "kamal", "eb"].map((program) => `${program} deploy*`),
  ...["railway up*", "amplify push*", "supabase db push", "prisma migrate deploy"],
  ...each("vercel", "deploy* remove* --prod"),
  ...each("netlify", "deploy* sites:delete"),
  ...each("wrangler", "deploy* delete*"),
  ...each("firebase", "deploy* firestore:delete"),
  ...each("heroku", "apps:destroy pg:reset config:set config:unset"),
];

const DROPPING = [
  ...["dropdb", "mysqladmin drop*", "pg_restore --clean", "supabase db reset"],
  "supabase projects delete",
  ...["FLUSHALL", "flushall", "FLUSHDB", "flushdb"].map((word) => `redis-cli ${word}`),
  ...["drop", "truncate", "delete from", "Drop", "Truncate", "Delete from"]
    .flatMap((word) => word < "a" ? [word] : [word, word.toUpperCase()])
    .flatMap((word) => [`psql -c "*${word} *"`, `mysql -e "*${word} *"`]),
  ...["mongosh --eval *dropDatabase*", "mongo --eval *dropDatabase*", "dropuser"],
  ...["python", "python3"].map((program) => `${program} manage.py flush`),
  ...["flyway clean*", "liquibase drop-all*", "influx delete*"],
  ...each("prisma", "migrate+reset db+push"),
  ...["rails", "rake"].flatMap((program) => each(program, "db:drop db:reset")),
  ...["php migrate:fresh", "mix ecto.drop", "mix ecto.reset", "sequelize db:drop"],
  ...["typeorm schema:drop", "alembic downgrade*", "diesel database reset", "sqlx database drop"],
  ...["docker", "podman"].flatMap((program) =>
    each(program, "volume+rm volume+prune system+prune")
  ),
  "podman system reset",
  ...["docker compose down", "docker-compose down"].flatMap((
    down,
  ) => [`${down} -v`, `${down} --volumes`]),
];

const DISCARDING = [
  ...each("git stash", "drop clear"),
  ...each("git checkout", "-f ."),
  ...["git restore .", "git restore :/", 'git restore "[*]"', "git switch --discard-changes"],
  ...[
    "git switch --force",
    "git worktree remove -f",
    "git submodule deinit -f",
    "git reset --merge",
  ],
  ...["git reflog expire", "git reflog delete", "git gc --prune=now", "git gc --prune=all"],
  ...["git prune", "git update-ref -d", "git update-ref --stdin", "git checkout-index -f"],
  ...["git filter-branch", "git filter-repo"],
];

const CHANGING_MACHINE = (
  "su doas pkexec run0 nsenter unshare systemd-run modprobe insmod rmmod iptables ip6tables nft ufw useradd userdel usermod passwd chpasswd visudo " +
  "swapoff wipefs blkdiscard lvremove vgremove pvremove auditctl augenrules setenforce setsebool semanage " +
  "semodule apparmor_parser aa-disable aa-complain aa-teardown"
).split(" ").concat(
  each("systemctl", "enable* disable* stop* mask*"),
  [
    "loginctl enable-linger",
    "sysctl -w",
    "sysctl -p",
    "git config --global",
    "git maintenance start",
  ],
  [
    "npm config set",
    "npm set",
    "pnpm config set",
    "pip config set",
    "pip3 config set",
    "go env -w",
  ],
  ["code --install-extension", "gh extension install", "gh alias set"],
);

/** Options with which an agent asks nobody, so that what it does never reaches a person. */
const UNASKED = [
  ...["--dangerously-skip-permissions", "--permission-mode bypassPermissions"].map((option) =>
    `claude ${option}`
  ),
  ...["--dangerously-bypass-approvals-and-sandbox", "--yolo", "--full-auto"].map((option) =>
    `codex ${option}`
  ),
  ...["gemini", "qwen"].flatMap((program) =>
    ["--yolo", "-y"].map((option) => `${program} ${option}`)
  ),
  ...["gemini --approval-mode yolo", "gemini --approval-mode=yolo", "q chat --trust-all-tools"],
  ...[
    "copilot --allow-all-tools",
    "cursor-agent --force",
    "cursor-agent -f",
    "cursor-agent --yolo",
  ],
  ...["amp --dangerously-allow-all", "aider --yes-always"],
];

const BLOCKED: RuleGroup[] = [
  {
    effect: "deny",
    reason: "Secrets and keys open other systems, so no agent reads or writes them",
    rules: { blockedPaths: SECRETS },
  },
  {
    effect: "deny",
    reason: "They destroy work or a disk, stop the machine, or run code that nobody has read",
    rules: { blockedCommands: DESTRUCTIVE },
  },
];

const READS: RuleGroup[] = [
  {
    effect: "allow",
    reason: "They print files of the project and change nothing; blocked files stay blocked",
    rules: { allowedCommands: READING, allowedTools: READ_TOOLS },
  },
  {
    effect: "allow",
    reason: "They show the repository and change nothing",
    rules: { allowedCommands: GIT_READING },
  },
];

const LIMITS: Policies = { maxBashOutputBytes: 65_536, commandTimeoutSeconds: 600 };

/** The templates, the one that asks most first. */
export const TEMPLATES: readonly Template[] = [
  {
    name: "strict",
    summary: "a person approves everything except reading the project",
    groups: [...BLOCKED, ...READS],
    // A sandbox would let a command change the project without a person.
    sandbox: { mode: "off" },
    rest: { effect: "ask", reason: "Nothing runs or changes without a person, except reading" },
    asks_per_hundred: 94,
    asks_in_sandbox: 94,
  },
  {
    name: "balanced",
    summary: "ordinary work is allowed, risky work needs a person or is denied",
    groups: [
      ...BLOCKED,
      {
        effect: "allow",
        reason: "Ordinary work happens in these folders, and gate can roll back each change",
        rules: { allowedPaths: ["src/**", "lib/**", "test/**", "tests/**", "docs/**"] },
      },
      ...READS,
      {
        effect: "allow",
        reason:
          "They search, compare and convert; gate asks when an option writes a file that no " +
          "rule allows, connects, or starts a program",
        rules: { allowedCommands: LOOKING },
      },
      {
        effect: "allow",
        reason:
          "Their code may compute and print; gate asks when it opens, starts or connects to " +
          "something that it does not name",
        rules: { allowedCommands: COMPUTING },
      },
      {
        effect: "allow",
        reason: "They show branches, files and history of the repository and change nothing",
        rules: { allowedCommands: GIT_LOOKING },
      },
      {
        effect: "allow",
        reason: "They read from GitHub and change nothing there",
        rules: { allowedCommands: GITHUB_LOOKING },
      },
      {
        effect: "allow",
        reason:
          "They print a version; a shim of a version manager may read files of the folder first",
        rules: { allowedCommands: VERSIONS },
      },
      {
        effect: "allow",
        reason: "They are everyday steps; gate still asks about each file that no rule allows",
        rules: { allowedCommands: EVERYDAY },
      },
    ],
    rest: {
      effect: "ask",
      reason: "Tests, builds, installs and network access run code that an agent can change or " +
        "reach beyond the project",
    },
    asks_per_hundred: 71,
    asks_in_sandbox: 25,
  },
  {
    name: "permissive",
    summary: "everything is allowed except dangerous actions",
    groups: [
      ...BLOCKED,
      {
        effect: "ask",
        reason: "They change what others use, or act as another user",
        rules: { askCommands: ["git push", "sudo"] },
      },
      {
        effect: "ask",
        reason: "They print keys and passwords that other programs keep",
        rules: { askCommands: SHOWING_KEYS },
      },
      {
        effect: "ask",
        reason: "They publish, or change what others see, and nobody can take that back",
        rules: { askCommands: PUBLISHING },
      },
      {
        effect: "ask",
        reason: "They change or delete servers, clusters and storage that gate cannot restore",
        rules: { askCommands: DEPLOYING },
      },
      {
        effect: "ask",
        reason: "They delete data in databases and containers that gate cannot restore",
        rules: { askCommands: DROPPING },
      },
      {
        effect: "ask",
        reason: "They discard work that no commit has, or history that gate cannot restore",
        rules: { askCommands: DISCARDING },
      },
      {
        effect: "ask",
        reason:
          "They change disks, users, services, the network or the defences of the whole machine",
        rules: { askCommands: CHANGING_MACHINE },
      },
      {
        effect: "ask",
        reason: "They start another agent that acts without asking anybody",
        rules: { askCommands: UNASKED },
      },
    ],
    rest: {
      effect: "allow",
      reason: "An agent works alone and may delete what gate can restore; gate's built-in rules " +
        "still ask about the project's folder, git's folder and paths that are not known",
    },
    asks_per_hundred: 5,
    asks_in_sandbox: 5,
  },
];

/**
 * The rules for folders of no project: reading is allowed, secrets are blocked, everything else falls
 * to the default.
 */
export function machineTemplate(): Policies {
  const { sandbox } = templateOf("strict");
  return structuredClone({ ...rulesOf([...BLOCKED, ...READS]), sandbox, ...LIMITS });
}

/** The template of that name, with its reasons. */
export function templateOf(name: TemplateName): Template {
  return TEMPLATES.find((template) => template.name === name)!;
}

/** A copy of that template as the policies of a config. */
export function policyTemplate(name: TemplateName): Policies {
  const { rest, groups, sandbox } = templateOf(name);
  return structuredClone({
    defaultEffect: rest.effect,
    ...rulesOf(groups),
    ...sandbox && { sandbox },
    ...LIMITS,
  });
}

/** The reason that the templates give for a rule; null for a rule of no template or with its own. */
export function reasonOf({ list, pattern }: { list: string; pattern: string }): string | null {
  const group = TEMPLATES.flatMap(({ groups }) => groups).find(({ rules }) =>
    Object.hasOwn(rules, list) && rules[list as List]!.includes(pattern)
  );
  return group?.reason ?? null;
}

/** The pattern of an entry. */
export function patternOf(entry: PolicyEntry): string {
  return typeof entry === "string" ? entry : entry.pattern;
}

function rulesOf(groups: readonly RuleGroup[]): Policies {
  const lists = LISTS.map((list) => [list, groups.flatMap(({ rules }) => rules[list] ?? [])]);
  return Object.fromEntries(lists.filter(([, entries]) => entries!.length > 0));
}

/** The initial policy of the global config. */
export function globalTemplate(): Policies {
  return {
    blockedPaths: [".env", ".env.*", "/etc/**", "**/secrets/**"],
    blockedCommands: ["rm -rf /", "mkfs*", "* | sh"],
    maxBashOutputBytes: LIMITS.maxBashOutputBytes,
  };
}
