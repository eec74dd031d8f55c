import type { Policies } from "./schema.ts";

/** The policies that a project can start from. */
export type TemplateName = "strict" | "balanced" | "permissive";

const SECRETS: Policies["blockedPaths"] = [
  {
    pattern: ".env",
    reason: "Secrets stay out of an agent's hands",
    alternative: "Write .env.example and ask the person to fill in .env",
    match: [".env", "api/.env"],
    not_match: [".env.example"],
  },
  { pattern: ".env.local", reason: "Secrets stay out of an agent's hands" },
  { pattern: ".env.production", reason: "Secrets stay out of an agent's hands" },
  { pattern: "*.pem", reason: "Private keys stay out of an agent's hands" },
  { pattern: "~/.ssh/**", reason: "Private keys stay out of an agent's hands" },
  { pattern: "~/.aws/**", reason: "Credentials stay out of an agent's hands" },
];

const DESTRUCTIVE: Policies["blockedCommands"] = [
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

/** The gate's own tool may read the files that `cat` may; secrets are blocked for both. */
const READ_TOOLS = ["read_file"];
const READING = ["ls", "pwd", "cat", "head", "tail", "wc", "grep", "rg"];
const GIT_READING = ["git status", "git diff", "git log", "git show"];

/** They write nothing, connect to nothing and start nothing, with the options that gate knows. */
const LOOKING = (
  "find tree du file stat diff cmp comm sort uniq cut paste join column fold fmt nl tac rev expand unexpand tr jq sed " +
  "strings xxd od hexdump md5sum sha1sum sha256sum sha512sum cksum basename dirname realpath readlink which type seq " +
  "sleep true false test uname whoami id"
).split(" ");

/** Code that only computes and prints; other code is asked about. */
const COMPUTING = ["python3 -c", "python -c", "node -e", "node -p", "awk", "gawk", "mawk"];

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
  ...["worktree list", "stash list"],
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

/** Without launchers that take their version, options or plugins from files of the folder. */
const VERSIONS = (
  "python python3 pip pip3 uv ruff mypy node npm npx bun deno tsc eslint prettier vitest jest " +
  "git gh java javac php perl make cmake gcc g++ clang docker kubectl"
).split(" ").map((program) => `${program} --version`);

const LIMITS: Policies = { maxBashOutputBytes: 65_536, commandTimeoutSeconds: 600 };

const TEMPLATES: Record<TemplateName, Policies> = {
  strict: {
    defaultEffect: "ask",
    blockedPaths: SECRETS,
    allowedCommands: [...READING, ...GIT_READING],
    allowedTools: READ_TOOLS,
    blockedCommands: DESTRUCTIVE,
    ...LIMITS,
  },
  balanced: {
    defaultEffect: "ask",
    allowedPaths: ["src/**", "lib/**", "test/**", "tests/**", "docs/**"],
    blockedPaths: SECRETS,
    allowedCommands: [
      ...READING,
      ...GIT_READING,
      ...LOOKING,
      ...COMPUTING,
      ...GIT_LOOKING,
      ...GITHUB_LOOKING,
      ...VERSIONS,
      ...[
        "git add",
        "git commit",
        "echo",
        "printf",
        "mkdir",
        "touch",
        "cp",
        "mv",
        "chmod",
        "rmdir",
      ],
    ],
    allowedTools: READ_TOOLS,
    blockedCommands: DESTRUCTIVE,
    ...LIMITS,
  },
  permissive: {
    defaultEffect: "allow",
    blockedPaths: SECRETS,
    // What gate can restore is deleted without a question. The built-in rules still ask about the
    // project's own folder, git's, and a path that is not known.
    askCommands: ["git push", "sudo"],
    blockedCommands: DESTRUCTIVE,
    ...LIMITS,
  },
};

/**
 * The rules for folders of no project: reading is allowed, secrets are blocked, everything else falls
 * to the default.
 */
export function machineTemplate(): Policies {
  return structuredClone({
    blockedPaths: SECRETS,
    allowedCommands: [...READING, ...GIT_READING],
    allowedTools: READ_TOOLS,
    blockedCommands: DESTRUCTIVE,
    ...LIMITS,
  });
}

/** A copy of that template. */
export function policyTemplate(name: TemplateName): Policies {
  return structuredClone(TEMPLATES[name]);
}

/** The initial policy of the global config. */
export function globalTemplate(): Policies {
  return {
    blockedPaths: [".env", ".env.*", "/etc/**", "**/secrets/**"],
    blockedCommands: ["rm -rf /", "mkfs*", "* | sh"],
    maxBashOutputBytes: LIMITS.maxBashOutputBytes,
  };
}
