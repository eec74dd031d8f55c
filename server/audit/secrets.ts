/** Replaces a secret. */
export const MASK = "[redacted]";

/**
 * The forms of secrets that their issuers document, by issuer. Each begins with fixed characters and
 * has an upper length, so that one pass over a text takes time in proportion to its length.
 */
const FORMS: Record<string, string> = {
  "Amazon Web Services": "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])|A[KS]IA[A-Z0-9]{16}",
  "GitHub": "gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}",
  "GitLab": "gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|rtr)-[A-Za-z0-9_.-]{20,255}",
  "Slack": "xox[abeoprs]-[A-Za-z0-9-]{10,255}|xapp-\\d-[A-Za-z0-9-]{20,255}",
  "Stripe": "(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/=]{24,128}",
  "OpenAI, Anthropic": "sk-(?=[A-Za-z_-]{0,255}\\d)[A-Za-z0-9_-]{20,255}",
  "Google": "AIza[A-Za-z0-9_-]{35}|ya29\\.[A-Za-z0-9_-]{20,2048}|GOCSPX-[A-Za-z0-9_-]{24,40}",
  "npm": "npm_[A-Za-z0-9]{36}",
  "PyPI": "pypi-AgEI[A-Za-z0-9_-]{50,1024}",
  "RubyGems": "rubygems_[0-9a-f]{48}",
  "SendGrid": "SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,64}",
  "Mailgun": "key-[0-9a-f]{32}(?![0-9a-f])",
  "Twilio": "SK[0-9a-f]{32}(?![0-9a-f])",
  "DigitalOcean": "do[opr]_v1_[0-9a-f]{64}",
  "Hugging Face": "hf_[A-Za-z]{34}(?![A-Za-z])|hf_[A-Za-z0-9]{30,64}",
  "Replicate": "r8_[A-Za-z0-9]{37}",
  "Databricks": "dapi[0-9a-f]{32}(?![0-9a-f])",
  "Doppler": "dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9]{40,44}",
  "HashiCorp": "hv[sbr]\\.[A-Za-z0-9_-]{24,255}|[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_-]{60,70}",
  "Shopify": "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
  "Square": "sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}",
  "Telegram": "\\d{8,10}:AA[A-Za-z0-9_-]{33}",
  "Discord": "[MNO][A-Za-z0-9_-]{23,25}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,38}",
  "Linear": "lin_(?:api|oauth)_[A-Za-z0-9]{40,64}",
  "Notion": "ntn_[A-Za-z0-9]{40,64}|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])",
  "Figma": "figd_[A-Za-z0-9_-]{40,64}",
  "Postman": "PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
  "New Relic": "NRAK-[A-Z0-9]{27}",
  "Grafana": "glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/=]{32,400}",
  "Sentry": "sntry[su]_[A-Za-z0-9+/=_-]{40,400}",
  "Supabase": "sbp_[0-9a-f]{40}",
  "age": "AGE-SECRET-KEY-1[A-Z0-9]{58}",
  "JSON Web Token": "eyJ[A-Za-z0-9_-]{10,4096}\\.[A-Za-z0-9_-]{10,8192}\\.[A-Za-z0-9_-]{10,2048}",
};

// No form begins within a word, so a run of letters is tried once.
const VALUES = new RegExp(`(?<![A-Za-z0-9_-])(?:${Object.values(FORMS).join("|")})`, "g");

/** Secrets that their surroundings show. The groups around the secret stay. */
const PLACES: readonly [RegExp, string][] = [
  [
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
    MASK,
  ],
  [/(:\/\/[^\s:/@]{0,256}:)[^\s/@]{1,256}@/g, `$1${MASK}@`],
  [/(hooks\.slack\.com\/services\/)[A-Za-z0-9/_-]{20,128}/g, `$1${MASK}`],
  [/(discord(?:app)?\.com\/api\/webhooks\/\d{1,24}\/)[A-Za-z0-9_-]{20,128}/g, `$1${MASK}`],
  [/\b((?:Account|SharedAccess)Key=)[A-Za-z0-9+/]{40,128}={0,2}/g, `$1${MASK}`],
  [/([?&;]sig=)[A-Za-z0-9%+/]{40,128}/g, `$1${MASK}`],
];

/** Secrets of commands and texts that a name announces. In code such names stand before types too. */
const NAMED: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic) [A-Za-z0-9._~+/=-]{8,4096}/gi, `$1 ${MASK}`],
  [/(\s(?:-u|--user|--proxy-user)[ =]["']?[^\s:"'/]{1,128}:)[^\s"']{1,256}/g, `$1${MASK}`],
  [/\b(sshpass\s{1,4}-p\s{0,4})[^\s]{1,256}/g, `$1${MASK}`],
  [
    /\b((?:[A-Za-z0-9]{1,64}[_-])?(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|auth[_-]?key|credentials?))(["']?\s{0,4}[=:]\s{0,4})("[^"]{1,4096}"|'[^']{1,4096}'|[^\s"',;&|]{1,4096})/gi,
    `$1$2${MASK}`,
  ],
];

/** Matches every text that one of the patterns may match. Most texts fail this one quick test. */
const HINT = new RegExp(
  [
    "-----BEGIN|A[KSBC][IC]A|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|xox|xapp|[sr]k[-_]|whsec_|AIza|ya29",
    "GOCSPX|npm_|pypi-|rubygems_|SG\\.|key|SK[0-9a-f]|do[opr]_v1|hf_|r8_|dapi|dp\\.|hv[sbr]\\.|atlasv1",
    "shp|sq0|:AA|[MNO][\\w-]{23,25}\\.|lin_|ntn_|secret|figd_|PMAK|NRAK|glsa_|glc_|sntry|sbp_|AGE-|eyJ",
    "://|discord|slack|sig=|Key=",
  ].join("|"),
);
const NAME_HINT = /bearer|basic|-u|--user|--proxy|sshpass|pass|pwd|secret|token|key|credential/i;

/** The text without secrets in a form that only a secret has. Other text stays exact. */
export function maskValues(text: string): string {
  if (!HINT.test(text)) return text;
  let result = text.replace(VALUES, MASK);
  for (const [pattern, replacement] of PLACES) result = result.replace(pattern, replacement);
  return result;
}

/** The text without secrets by form and by name, for records that nobody executes. */
export function maskSecrets(text: string): string {
  let result = maskValues(text.toWellFormed());
  if (!NAME_HINT.test(result)) return result;
  for (const [pattern, replacement] of NAMED) result = result.replace(pattern, replacement);
  return result;
}
