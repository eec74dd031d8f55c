import type { RiskFactor } from "../policy/schema.ts";

/** The class of a path: what a change of such a file can do. */
export interface PathClass {
  name: RiskFactor;
  what: string;
}

const row = (name: RiskFactor, what: string, ...patterns: RegExp[]) => ({ name, what, patterns });

/** The classes of paths, the gravest first. Paths are relative to the project and in lower case. */
const CLASSES = [
  row(
    "hook",
    "a git hook",
    /(^|\/)\.git\/(hooks\/|config$|modules\/)/,
    /(^|\/)(\.husky|\.githooks|git-hooks|\.hooks)\//,
    /(^|\/)(\.?lefthook(-local)?\.(ya?ml|toml|json)|\.pre-commit-(config|hooks)\.yaml|\.lintstagedrc[^/]*|\.gitmodules)$/,
  ),
  row(
    "shell_start",
    "a start file of the shell",
    /(^|\/)\.(bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile|zlogin|envrc|kshrc|cshrc|inputrc|xprofile|xinitrc)$/,
    /(^|\/)(config\.fish|\.gitconfig)$/,
    /(^|\/)\.config\/(fish|autostart|systemd)\//,
  ),
  row(
    "secret_file",
    "a file of secrets",
    /(^|\/)\.env(rc)?(\.(?!(.*[._-])?(example|sample|template|dist|defaults?|schema)$)[^/]+)?$/,
    /(^|\/)[^/]+\.env$/,
    /\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|p8|mobileprovision)$/,
    /(^|\/)id_(rsa|dsa|ecdsa|ed25519)[^/]*(?<!\.pub)$/,
    /(^|\/)\.(npmrc|pypirc|netrc|pgpass|my\.cnf|htpasswd|git-credentials|vault-token|dockercfg|boto|s3cfg|dev\.vars)$/,
    /(^|\/)(\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker)\//,
    /(^|\/)\.config\/(gcloud|gh|hub|op|rclone)\//,
    /(^|\/)(?!.*\.(ts|js|tsx|jsx|mjs|go|rs|py|rb|java|kt|cs|php|c|h|cpp|md|css|html)$)[^/]*(secrets?|credentials?|passwords?|service[-_]account|api[-_]?keys?|auth[-_]?tokens?)[^/]*$/,
    /(^|\/)(secrets?|private)\/[^/]+$/,
    /\.tfvars(\.json)?$/,
    /\.tfstate(\.backup)?$/,
    /(^|\/)config\/master\.key$/,
  ),
  row(
    "ci",
    "the automation that runs on every push",
    /(^|\/)\.(github|gitea|forgejo)\/(workflows|actions)\//,
    /(^|\/)\.(circleci|buildkite|semaphore|woodpecker|teamcity|azure-pipelines|gitlab)\//,
    /(^|\/)(\.gitlab-ci|\.travis|\.drone|\.woodpecker|\.cirrus|\.appveyor|appveyor|azure-pipelines|bitbucket-pipelines|codemagic|buildspec|cloudbuild|wercker|screwdriver)[^/]*\.ya?ml$/,
    /(^|\/)(jenkinsfile[^/]*|[^/]*\.jenkinsfile|\.buildkite[^/]*|dangerfile[^/]*)$/,
    /(^|\/)(ci|\.ci|scripts\/ci)\/[^/]+\.(sh|ya?ml|py|rb|js|ts|groovy)$/,
  ),
  row(
    "deployment",
    "a file that deploys",
    /(^|\/)[^/]*deploy(ment)?[^/]*\.(sh|bash|ps1|ya?ml|json|toml|py|rb)$/,
    /(^|\/)(deploy|deployment|deployments|release|releasing)\/[^/]+/,
    /(^|\/)(scripts|bin|tools|hack)\/[^/]*(release|publish|rollout|ship)[^/]*$/,
    /(^|\/)(release|publish|rollout)\.(sh|bash|py|rb)$/,
    /(^|\/)(fly|netlify|wrangler|railway|render|nixpacks|heroku|vercel|firebase|apphosting|amplify|serverless|appspec|skaffold|samconfig|copilot|okteto|tiltfile)(\.[\w-]+)?\.(toml|ya?ml|jsonc?|ts)$/,
    /(^|\/)(procfile|capfile|ecosystem\.config\.[cm]?js|app\.ya?ml|dokku[^/]*|captain-definition|tiltfile|\.goreleaser\.ya?ml|\.releaserc[^/]*|release\.config\.[cm]?js)$/,
    /(^|\/)config\/deploy/,
  ),
  row(
    "infrastructure",
    "infrastructure",
    /\.(tf|tf\.json|hcl|bicep|nomad|rego|pp)$/,
    /(^|\/)(k8s|kubernetes|kube|helm|charts?|manifests|kustomize|overlays|argocd|flux|istio|openshift)\/([^/]+\/)*[^/]+\.(ya?ml|json|tpl|jsonnet|cue)$/,
    /(^|\/)(kustomization|helmfile|chart|values)([.-][\w-]+)?\.ya?ml$/,
    /(^|\/)(terraform|terragrunt|infra|infrastructure|cloudformation|cfn|pulumi|ansible|playbooks|salt|puppet|chef|packer)\/(?!.*\.(md|txt|png|svg)$)([^/]+\/)*[^/]+$/,
    /(^|\/)(pulumi[^/]*\.ya?ml|cdk\.json|cdktf\.json|template\.ya?ml|vagrantfile|playbook[^/]*\.ya?ml|ansible\.cfg|inventory(\.ini|\.ya?ml)?|nginx[^/]*\.conf|haproxy\.cfg|caddyfile|traefik[^/]*\.(ya?ml|toml)|prometheus\.ya?ml)$/,
    /\.(service|timer|socket|mount)$/,
  ),
  row(
    "tool_config",
    "a setting that makes tools or agents run programs",
    /(^|\/)\.(claude|cursor|codex|gemini|qwen|windsurf|zed|opencode|copilot|aider|continue|kiro|roo|cline|amazonq)\//,
    /(^|\/)\.vscode\/(tasks|launch|settings|extensions|mcp)[^/]*\.json$/,
    /(^|\/)\.idea\/(workspace\.xml|runconfigurations|externaldependencies)/,
    /(^|\/)(\.?mcp\.json|opencode\.jsonc?|gate\.config\.json|\.aider\.conf\.yml|\.direnvrc|\.mise\.toml|mise\.toml|\.tool-versions|\.yarnrc(\.yml)?|\.pnpmfile\.cjs|pip\.conf|\.bazelrc)$/,
    /(^|\/)\.cargo\/config(\.toml)?$/,
    /(^|\/)\.devcontainer(\/|\.json$)/,
  ),
  row(
    "agent_instructions",
    "the instructions that agents follow",
    /(^|\/)(claude|agents|gemini|qwen|copilot-instructions|skill)(\.local)?\.md$/,
    /(^|\/)\.(cursorrules|windsurfrules|clinerules|goosehints|rules)$/,
    /(^|\/)(codeowners|\.github\/(dependabot\.ya?ml|settings\.ya?ml)|renovate\.json5?)$/,
  ),
  row(
    "containers",
    "how containers are built or run",
    /(^|\/)((docker|container)file[^/]*|[^/]*\.(docker|container)file)$/,
    /(^|\/)(docker-)?compose[^/]*\.ya?ml$/,
    /(^|\/)(docker-entrypoint[^/]*|entrypoint\.sh|docker-bake\.(hcl|json)|devfile\.yaml)$/,
  ),
  row(
    "migration",
    "a change of a database's schema",
    /(^|\/)(migrations?|migrate|alembic\/versions|flyway|liquibase|drizzle|changelog)\/([^/]+\/)*[^/]+\.(sql|py|rb|js|ts|mjs|cjs|go|php|xml|ya?ml|java|ex|exs|cs|kt)$/,
    /(^|\/)(schema|structure|init|seed)\.sql$/,
    /(^|\/)(schema\.prisma|db\/schema\.rb)$/,
  ),
  row(
    "lockfile",
    "the exact versions of dependencies",
    /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|cargo\.lock|gemfile\.lock|poetry\.lock|uv\.lock|pdm\.lock|pipfile\.lock|composer\.lock|go\.sum|flake\.lock|deno\.lock|mix\.lock|pubspec\.lock|packages\.lock\.json|podfile\.lock|package\.resolved|\.terraform\.lock\.hcl|gradle\.lockfile|conan\.lock|requirements[^/]*\.lock)$/,
    /(^|\/)gradle\/wrapper\/gradle-wrapper\.(jar|properties)$/,
    /(^|\/)vendor\/([^/]+\/)*[^/]+$/,
  ),
  row(
    "dependencies",
    "the list of dependencies",
    /(^|\/)(package\.json|pyproject\.toml|setup\.(py|cfg)|requirements[^/]*\.(txt|in)|pipfile|cargo\.toml|go\.mod|gemfile|composer\.json|build\.gradle(\.kts)?|pom\.xml|mix\.exs|pubspec\.yaml|flake\.nix|deno\.jsonc?|environment\.ya?ml|podfile|package\.swift)$/,
    /(^|\/)(makefile|justfile|taskfile\.ya?ml|gnumakefile|rakefile|build\.(rs|xml|sbt)|conftest\.py)$/,
  ),
];

/** Files that hold the keys of a person or of a whole account. */
const PRIVATE = new RegExp(
  "(^|/)(\\.ssh/(?!known_hosts|config|[^/]*\\.pub$)|\\.gnupg/|\\.aws/credentials|\\.kube/config|\\.docker/config\\.json" +
    "|\\.config/(gcloud|gh)/|\\.git-credentials$|\\.netrc$|\\.pgpass$|\\.vault-token$)|(^|/)id_(rsa|dsa|ecdsa|ed25519)$" +
    "|\\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk)$|^/etc/(shadow|gshadow|sudoers)",
);

const KEPT = 4_096;
const MAX_PATH = 1_024;
const known = new Map<string, PathClass | null>();

/** The gravest class of a path, or null for an ordinary file. */
export function classOf(shown: string): PathClass | null {
  const found = known.get(shown);
  if (found !== undefined) return found;
  const path = shown.slice(-MAX_PATH).toLowerCase().replaceAll("\\", "/");
  const one = CLASSES.find(({ patterns }) => patterns.some((pattern) => pattern.test(path)));
  const result = one ? { name: one.name, what: one.what } : null;
  if (known.size >= KEPT) known.clear();
  known.set(shown, result);
  return result;
}

/** Whether reading the file tells a secret: `private` for the keys of a person or an account. */
export function secrecyOf(path: string): "private" | "secret" | null {
  const lower = path.slice(-MAX_PATH).toLowerCase();
  if (PRIVATE.test(lower)) return "private";
  return classOf(path)?.name === "secret_file" ? "secret" : null;
}

const SYSTEM =
  /^\/(etc|usr|bin|sbin|lib\w*|boot|opt|root|var|srv|sys|proc|system|library|windows)(\/|$)/;
const TEMPORARY = /^(\/tmp|\/var\/tmp|\/private\/tmp|\/var\/folders|\/dev\/shm)(\/|$)/;
const DEVICE = /^\/dev\/(sd|hd|vd|xvd|nvme|disk|mmcblk|mapper|md|loop)/;

/** Where a path outside the project lies; null for a place that concerns nobody. */
export function placeOf(path: string): "device" | "system" | "outside" | null {
  if (DEVICE.test(path)) return "device";
  if (TEMPORARY.test(path) || /^\/dev\/(null|stdout|stderr|tty|fd\/\d+)$/.test(path)) return null;
  return SYSTEM.test(path.toLowerCase()) ? "system" : "outside";
}

const MADE_AGAIN = new RegExp(
  "(^|/)(node_modules|dist|build|out|target|coverage|tmp|temp|logs?|\\.next|\\.nuxt|\\.turbo|\\.cache|\\.parcel-cache" +
    "|\\.svelte-kit|\\.vite|__pycache__|\\.pytest_cache|\\.mypy_cache|\\.ruff_cache|\\.tox|\\.nyc_output|\\.gradle|bin|obj" +
    "|\\.?venv|env|vendor|\\.terraform|test-results|playwright-report|storybook-static|generated|_build|deps|[^/]+\\.egg-info)(/|$)" +
    "|\\.(log|tmp|pyc|o|class|map|tsbuildinfo|swp|bak|orig|rej|cache)$",
);

/** Whether a path holds what a build makes again. */
export function isMadeAgain(path: string): boolean {
  return MADE_AGAIN.test(path.toLowerCase());
}
