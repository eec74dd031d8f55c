import fc from "fast-check";
import { expect, test } from "vitest";
import { redactEvent } from "../../../server/audit/redact.ts";
import { maskSecrets, maskValues } from "../../../server/audit/secrets.ts";
import type { NewEvent } from "../../../server/db/ledger.ts";
import { canonical } from "../../../server/evidence/canonical.ts";
import { startCpuClock } from "../../cpu_clock.ts";

const letters = "abcdefghijABCDEFGHIJ0123456789abcdefghij";

test.each([
  ["AKIAIOSFODNN7EXAMPLE", "an AWS key"],
  ["ASIAIOSFODNN7EXAMPLE", "a temporary AWS key"],
  [`ghs_${letters.slice(0, 36)}`, "a GitHub server token"],
  [`glpat-${letters.slice(0, 20)}`, "a GitLab token"],
  [`ghp_${letters.slice(0, 36)}`, "a GitHub token"],
  [`github_pat_${letters}`, "a fine-grained GitHub token"],
  ["-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----", "a key block"],
  ["-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r", "a key block cut off"],
  ["xoxb-1234567890-abcdefghij", "a Slack token"],
  [`sk-${letters}`, "an API key"],
  [`eyJ${letters}.eyJ${letters}.${letters}`, "a JWT"],
])("maskSecrets() masks a secret inside a text: %s", (secret) => {
  const text = maskSecrets(`before ${secret} after`);
  expect(text).toContain("[redacted]");
  expect(text).toMatch(/^before /);
  expect(text).not.toContain(secret.slice(12, 24));
});

test.each([
  ["curl -H 'Authorization: Bearer abc.def-123456' x", "abc.def-123456"],
  ["mysql --password=hunter2 db", "hunter2"],
  ["PASSWORD='two words' run", "two words"],
  ["DB_PASSWORD=hunter2", "hunter2"],
  ['{"password": "hunter2"}', "hunter2"],
  ["api_key: hunter2", "hunter2"],
  ["export API-KEY=hunter2", "hunter2"],
  ["git clone https://me:hunter2@example.org/x", "hunter2"],
  ["curl -H 'authorization: basic aHVudGVyMjo=' x", "aHVudGVyMjo"],
  ["passwd=hunter2", "hunter2"],
  ["my_pwd: hunter2", "hunter2"],
  ["client_secret=hunter2", "hunter2"],
  ["TOKEN=hunter2", "hunter2"],
  ["access-key=hunter2", "hunter2"],
])("maskSecrets() masks the value after a key such as password: %s", (text, secret) => {
  expect(maskSecrets(text)).not.toContain(secret);
  expect(maskSecrets(text)).toContain("[redacted]");
});

test.each([
  "the password is in the vault",
  "git commit -m 'fix: token parser'",
  "/home/me/bearer/file.txt",
  "https://example.org:443/a@b",
  "AKIA is a prefix",
])("maskSecrets() keeps ordinary text: %s", (text) => {
  expect(maskSecrets(text)).toBe(text);
});

const event = (data: Record<string, unknown>): NewEvent => ({
  session_id: null,
  action_id: null,
  type: "action.submitted",
  actor: { kind: "agent", id: "token=abcdef" },
  data,
});

test("redactEvent() masks secrets at any depth and in the actor", () => {
  const clean = redactEvent(event({ a: [{ b: "password=x1y2z3" }] }));
  expect(clean.data).toEqual({ a: [{ b: "password=[redacted]" }] });
  expect(clean.actor.id).toBe("token=[redacted]");
});

test("redactEvent() cuts a long text and adds the number of cut characters", () => {
  const { data } = redactEvent(event({ a: "x".repeat(10_000) }));
  expect(data.a).toMatch(/^x{8192}… \[1808 more characters\]$/);
});

test("the canonical JSON of any redacted data parses back to itself", () => {
  const anything = fc.dictionary(fc.string({ unit: "binary" }), fc.anything({ maxDepth: 3 }));
  fc.assert(fc.property(anything, (data) => {
    const clean = redactEvent(event({ ...data, lone: "\ud800", none: undefined, nan: NaN }));
    const text = canonical(clean.data);
    expect(canonical(JSON.parse(text))).toBe(text);
  }));
});

test("redacted data equals what JSON keeps of it", () => {
  const anything = fc.dictionary(fc.string({ unit: "binary" }), fc.anything({ maxDepth: 3 }));
  const odd = {
    day: new Date(0),
    calls: () => 1,
    list: [undefined, () => 1, -0, Infinity],
    big: 1n,
  };
  fc.assert(fc.property(anything, (data) => {
    const { data: clean } = redactEvent(event({ ...odd, ...data }));
    expect(JSON.parse(JSON.stringify(clean))).toEqual(clean);
    const kept = JSON.parse(
      JSON.stringify(
        { ...odd, ...data },
        (_, item) => typeof item === "bigint" ? String(item) : item,
      ),
    );
    expect(shapeOf(clean)).toEqual(shapeOf(kept));
  }));
});

/** The structure of a value without its texts, which are masked and cut. */
function shapeOf(value: unknown): unknown {
  if (typeof value === "string") return "text";
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .map(([name, item]) => [name.toWellFormed(), JSON.stringify(shapeOf(item))].join(" ")).sort();
}

const hex = "0123456789abcdef".repeat(4);
const mixed = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7".repeat(8);

/** Examples are put together here, so that no scanner takes this file for a leak. */
test.each([
  ["AWS", `AKIA${"IOSFODNN7EXAMPLE"}`],
  ["GitLab", `glrt-${mixed.slice(0, 24)}`],
  ["Slack", `xapp-1-${mixed.slice(0, 40)}`],
  ["Stripe", `sk_live_${mixed.slice(0, 24)}`],
  ["Stripe webhooks", `whsec_${mixed.slice(0, 32)}`],
  ["OpenAI", `sk-proj-${mixed.slice(0, 48)}`],
  ["Anthropic", `sk-ant-api03-${mixed.slice(0, 90)}`],
  ["Google", `AIza${mixed.slice(0, 35)}`],
  ["Google OAuth", `ya29.${mixed.slice(0, 60)}`],
  ["Google client", `GOCSPX-${mixed.slice(0, 28)}`],
  ["npm", `npm_${mixed.slice(0, 36)}`],
  ["PyPI", `pypi-AgEIcHlwaS5vcmc${mixed.slice(0, 60)}`],
  ["RubyGems", `rubygems_${hex.slice(0, 48)}`],
  ["SendGrid", `SG.${mixed.slice(0, 22)}.${mixed.slice(0, 43)}`],
  ["Mailgun", `key-${hex.slice(0, 32)}`],
  ["Twilio", `SK${hex.slice(0, 32)}`],
  ["DigitalOcean", `dop_v1_${hex}`],
  ["Hugging Face", `hf_${mixed.slice(0, 34)}`],
  ["Replicate", `r8_${mixed.slice(0, 37)}`],
  ["Databricks", `dapi${hex.slice(0, 32)}`],
  ["Doppler", `dp.st.${mixed.slice(0, 42)}`],
  ["Vault", `hvs.${mixed.slice(0, 40)}`],
  ["Terraform", `${mixed.slice(0, 14)}.atlasv1.${mixed.slice(0, 64)}`],
  ["Shopify", `shpat_${hex.slice(0, 32)}`],
  ["Square", `sq0atp-${mixed.slice(0, 22)}`],
  ["Telegram", `123456789:AA${mixed.slice(0, 33)}`],
  ["Discord", `M${mixed.slice(0, 23)}.${mixed.slice(0, 6)}.${mixed.slice(0, 27)}`],
  ["Linear", `lin_api_${mixed.slice(0, 40)}`],
  ["Notion", `ntn_${mixed.slice(0, 46)}`],
  ["Figma", `figd_${mixed.slice(0, 40)}`],
  ["Postman", `PMAK-${hex.slice(0, 24)}-${hex.slice(0, 34)}`],
  ["New Relic", `NRAK-${mixed.toUpperCase().slice(0, 27)}`],
  ["Grafana", `glsa_${mixed.slice(0, 32)}_${hex.slice(0, 8)}`],
  ["Sentry", `sntrys_${mixed.slice(0, 60)}`],
  ["Supabase", `sbp_${hex.slice(0, 40)}`],
  ["age", `AGE-SECRET-KEY-1${mixed.toUpperCase().slice(0, 58)}`],
  ["PGP", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ\n-----END PGP PRIVATE KEY BLOCK-----"],
  ["a database's address", "postgres://me:hun:ter2@db.test/x"],
  ["Redis without a name", "redis://:hunter2@db.test"],
  ["Azure", `AccountKey=${mixed.slice(0, 86)}==`],
  ["a signed address", `https://x.test/a?se=1&sig=${mixed.slice(0, 44)}`],
  ["a Slack webhook", `https://hooks.slack.com/services/T0${mixed.slice(0, 40)}`],
])("maskValues() knows the secrets of %s", (_, secret) => {
  for (const text of [secret, `x=${secret}`, `"${secret}"`, `a ${secret}\n${secret} b`]) {
    const masked = maskValues(text);
    expect(masked).toContain("[redacted]");
    expect(masked).not.toContain(secret.slice(-12, -3));
  }
});

test.each([
  ["curl -u me:hunter2 https://x.test", "hunter2"],
  ["sshpass -p hunter2 ssh x", "hunter2"],
  ["client_secret: hunter2", "hunter2"],
  ["passphrase='two words'", "two words"],
])("maskSecrets() knows the words of commands: %s", (text, secret) => {
  expect(maskSecrets(text)).not.toContain(secret);
});

test.each([
  "const password: string = read();",
  "task-runner-for-the-whole-monorepo",
  "sk-learn-is-a-library-for-machine-learning",
  "commit 0123456789abcdef0123456789abcdef01234567",
  "https://example.org:8443/a?signature=x",
  "sha512-" + mixed.slice(0, 86) + "==",
  "019b76da-a800-7000-8000-000000000001",
  "key-value store",
])("maskValues() keeps the output of programs exact: %s", (text) => {
  expect(maskValues(text)).toBe(text);
});

const SIZE = 64 * 1024;

test.each([
  "password",
  "://",
  "-----BEGIN ",
  "-----BEGIN PRIVATE KEY-----",
  "eyJ-",
  "eyJa.",
  "eyJaaaaaaaaaaaaa.",
  "sk-",
  "sk-a-",
  "ghp_",
  "a_",
  "a-",
  "A",
  "xox-",
  "AKIA",
  "Bearer ",
  'token="',
  "://a:",
  "SG.",
  "M.",
  "key",
  "-u a:",
  "glpat-",
  " -u ",
  "sshpass ",
  "12345678:AA",
  "AccountKey=",
  "?sig=",
  "[redacted]",
  "\u0000",
  "password='",
  "api_key: ",
  "a".repeat(14) + ".atlasv1.",
  "hooks.slack.com/services/",
])("64 KiB of %j take less than 50 ms of processor time", (part) => {
  const text = part.repeat(Math.ceil(SIZE / part.length)).slice(0, SIZE);
  maskSecrets(text);
  const times = [1, 2, 3].map(() => {
    const cpuMs = startCpuClock();
    maskSecrets(text);
    return cpuMs();
  });
  // The best of three: memory may be collected meanwhile.
  expect(Math.min(...times)).toBeLessThan(50);
});
