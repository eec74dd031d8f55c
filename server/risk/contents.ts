import { maskValues } from "../audit/secrets.ts";
import type { RiskFactor } from "../policy/schema.ts";
import { isDestructiveSql } from "./sql.ts";
import type { Cause, ChangeFacts } from "./facts.ts";
import { classOf } from "./paths.ts";

/** Only so much of a text is searched. */
export const MAX_SEARCHED = 262_144;

interface ContentRule {
  name: RiskFactor;
  why: string;
  /** The class or the kind of file that it is about. */
  of: (path: string, kind: string | null) => boolean;
  found: (text: string) => boolean;
}

const PROSE = /\.(md|mdx|rst|txt|adoc|html?|csv|svg|lock)$|(^|\/)(license|changelog|readme)[^/]*$/i;
const SCRIPT = /\.(sh|bash|zsh|ps1|bat|cmd|mk)$|(^|\/)(makefile|justfile|[^/.]+)$/i;
const RUNS_THINGS = new Set([
  "ci",
  "deployment",
  "infrastructure",
  "containers",
  "hook",
  "tool_config",
  "shell_start",
]);

const isAutomatic = (path: string, kind: string | null) =>
  !PROSE.test(path) && (RUNS_THINGS.has(kind ?? "") || SCRIPT.test(path));
const isCode = (path: string) => !PROSE.test(path);
const isConfiguration = (path: string, kind: string | null) =>
  !PROSE.test(path) &&
  (RUNS_THINGS.has(kind ?? "") || /\.(ya?ml|json|toml|tf|hcl|ini|conf|cfg|sh)$/i.test(path));

const SENDS = /\b(curl|wget|nc|ncat|http|https|invoke-webrequest|fetch)\b/i;

/** The dangers of a new text, by the kind of its file. */
const RULES: ContentRule[] = [
  {
    name: "opens_shell",
    why: "opens a shell to another machine",
    of: isCode,
    found: (text) =>
      /\/dev\/(tcp|udp)\/[\w.$]|\b(nc|ncat)\b[^\n]{0,80}\s-[a-z]*e\s|socket[^]{0,300}(dup2|subprocess|exec)[^]{0,100}\/bin\/(ba)?sh/i
        .test(text),
  },
  {
    name: "sends_secret",
    why: "sends a secret of the automation to another machine",
    of: isAutomatic,
    found: (text) =>
      text.split("\n").some((line) =>
        SENDS.test(line) && /https?:|\bnc\b|\$\{?[A-Z_]*(URL|HOST)/.test(line) &&
        /\bsecrets[.[]|\$\{?[A-Z_]*(SECRET|TOKEN|PASSWORD|PRIVATE|CREDENTIAL)|\benv\b\s*\||printenv|\.env\b/
          .test(line) &&
        !/authorization|-H |--header/i.test(line)
      ) || /toJSON\(\s*secrets\s*\)/i.test(text),
  },
  {
    name: "secret_in_content",
    why: "contains a secret",
    of: () => true,
    found: hasSecret,
  },
  {
    name: "socket_mounted",
    why: "gives a container the control of the container engine",
    of: isConfiguration,
    found: (text) => /(docker|containerd|podman|crio)\.sock\b/i.test(text),
  },
  {
    name: "host_access",
    why: "gives a container access to the machine that runs it",
    of: isConfiguration,
    found: (text) =>
      /\bprivileged["']?\s*[:=]\s*true|\bhost(Network|PID|IPC|Path)\b["']?\s*:|network_mode["']?\s*:\s*["']?host|pid["']?\s*:\s*["']?host|cap_add|SYS_ADMIN|allowPrivilegeEscalation["']?\s*:\s*true|-\s*["']?\/:\//i
        .test(text),
  },
  {
    name: "public_access",
    why: "opens something to everybody, or removes its protection",
    of: (path, kind) =>
      kind === "infrastructure" || (kind === "deployment" && !SCRIPT.test(path)) ||
      /\.(ya?ml|json|tf|hcl)$/i.test(path),
    found: (text) =>
      /publicly_accessible\s*=\s*true|acl\s*=\s*"public-|"?(Action|Principal|Resource)"?\s*[:=]\s*\[?\s*"\*"|allUsers\b|block_public_\w+\s*=\s*false|cidr_blocks\s*=\s*\[\s*"0\.0\.0\.0\/0"|(skip_final_snapshot|force_destroy)\s*=\s*true|(prevent_destroy|deletion_protection)\s*=\s*false|cluster-admin|verbs:\s*\[?\s*["']\*/i
        .test(text),
  },
  {
    name: "weakens_ci",
    why: "lets the automation run foreign code with its rights",
    of: (_, kind) => kind === "ci" || kind === "deployment",
    found: (text) =>
      /pull_request_target|permissions:\s*write-all|workflow_run:|allow_failure:\s*true|continue-on-error:\s*true|persist-credentials:\s*true|(curl|wget)[^\n|]{0,400}\|\s*(sudo\s+)?(ba|z|da)?sh\b|--no-verify|\$\{\{\s*github\.event\.(issue|pull_request|comment)[^}]{0,100}(title|body|ref)/i
        .test(text),
  },
  {
    name: "destructive_sql",
    why: "deletes tables or their rows",
    of: (path, kind) =>
      kind === "migration" || /\.(sql|psql|ddl)$/i.test(path) || SCRIPT.test(path),
    found: isDestructiveSql,
  },
  {
    name: "runs_at_install",
    why: "runs code when the package is installed",
    of: (path) =>
      /(^|\/)(package\.json|setup\.py|composer\.json|build\.rs|extconf\.rb)$/i.test(path),
    found: (text) =>
      /"(pre|post)?(install|prepare|update)(-cmd)?"\s*:|"(prepublish|preprepare|postprepare|dependencies)"\s*:\s*"|cmdclass\s*=|(os\.system|subprocess)\b/
        .test(text),
  },
  {
    name: "foreign_code",
    why: "downloads code and runs it",
    of: isAutomatic,
    found: (text) =>
      /\b(curl|wget)\b[^\n|;]{0,400}\|\s*(sudo\s+(-\w+\s+)*)?((ba|z|da|k)?sh|python\d?|node|perl|ruby)\b|(\b(ba|z)?sh\s+-c\s+|eval\s+|source\s+|\.\s+<\()["']?(\$\(|<\(|`)\s*(curl|wget)/i
        .test(text),
  },
  {
    name: "destroys_machine",
    why: "deletes the files of the machine",
    of: isAutomatic,
    found: (text) =>
      /\brm\s+(-\w+\s+)*-\w*[rR]\w*\s+(-\w+\s+)*["']?(\/|~|\$HOME|\$\{HOME\})["']?(\s|\*|\/\s|$)|\bmkfs\b|\bdd\b[^\n]{0,200}of=\/dev\/[sh]d/m
        .test(text),
  },
  {
    name: "hidden_code",
    why: "runs code that is written so that people cannot read it",
    of: isCode,
    found: (text) =>
      /\b(eval|exec|Function)\s*\(\s*(atob|Buffer\.from|base64\.b64decode|unescape|zlib|bytes\.fromhex|codecs\.decode|decodeURIComponent|gzinflate|str_rot13|__import__)|base64\s+(-d|-D|--decode)[^\n]{0,40}\|\s*(ba|z|da)?sh\b/
        .test(text),
  },
];

/** The causes of risk that a new content brings and the old one did not have. */
export function contentCauses({ shown, new_text, oldText }: ChangeFacts): Cause[] {
  if (new_text === null) return [];
  const kind = classOf(shown)?.name ?? null;
  const matching = RULES.filter(({ of, found }) => of(shown, kind) && found(new_text));
  const old_text = matching.length === 0 ? null : oldText();
  return matching.filter(({ found }) => old_text === null || !found(old_text)).map((
    { name, why },
  ) => ({ name, why: `the content of "${shown}" ${why}` }));
}

/** Whether the text has a secret in a form that only a secret has. */
function hasSecret(text: string): boolean {
  if (!mayHaveSecret(text)) return false;
  return maskValues(text) !== text ||
    /aws_?secret_?(access_?)?key["']?\s*[:=]\s*["']?[A-Za-z0-9/+]{40}/i.test(text);
}

/** Every form of a secret that counts here is that long. */
const SECRET_LENGTH = 20;

/**
 * Whether the text has a long word with a digit in it, a key in PEM or a URL with a password. A word
 * of that length covers one of the characters that are looked at, so few of them are.
 */
function mayHaveSecret(text: string): boolean {
  if (text.includes("PRIVATE KEY")) return true;
  if (/:\/\/[^\s:/@]{1,256}:[^\s/@]{1,256}@/.test(text)) return true;
  for (let at = SECRET_LENGTH - 1; at < text.length; at += SECRET_LENGTH) {
    if (!isWordCode(text.charCodeAt(at))) continue;
    let from = at;
    while (isWordCode(text.charCodeAt(from - 1))) from--;
    let to = at + 1;
    while (isWordCode(text.charCodeAt(to))) to++;
    if (to - from >= SECRET_LENGTH && /\d/.test(text.slice(from, to))) return true;
    at = Math.max(at, to - 1);
  }
  return false;
}

/** Whether the character may be in a secret: a letter, a digit, `_` or `-`. */
function isWordCode(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) ||
    code === 95 || code === 45;
}
