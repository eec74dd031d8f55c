import { isInterpreter } from "./languages.ts";
import { forNames } from "./options.ts";
import type { Row } from "./record.ts";

const setOf = (names: string) => new Set(names.split(" "));

/** Programs that write none of their words, and those whose handlers tell which files they write. */
const SHOWS = setOf(
  "bsdtar cal claude cmd codex schtasks date df dig dirs dscl du factor figlet file finger gemini groups gtar help " +
    "history host hostname htop ifconfig info locale locate lolcat lsblk lsof lspci lsusb nslookup " +
    "numfmt open pgrep pkgutil printenv ps pstree say scutil shuf spctl ss stat tar tldr top " +
    "traceroute tty umount uptime view w wall who whois xdg-open",
);

/** Programs that only read the files in their operands; their options may name an output file. */
const READS = setOf(
  "ansible ansible-doc ansible-lint ansible-playbook ava bandit biome brew clang-format cloc commitlint " +
    "coverage cypress docker-compose dotnet eslint ffprobe flake8 git gofmt golangci-lint gopls " +
    "grype hadolint http identify jest journalctl json.tool logger magick make markdownlint mocha mypy " +
    "oxlint pandoc pbcopy pdftoppm pdftotext pip pip3 playwright prettier protoc pylint pyright pytest " +
    "qpdf ruff semgrep shellcheck shfmt snyk sonar-scanner sqlfluff stylelint subl syft systemctl tap " +
    "tesseract tox trivy vite vitest xh yamllint",
);

/** Subcommands that write a file or folder in their operands. */
const WRITES =
  /^(new|create(-\w+)?|create-project|init|startproject|startapp|setup|venv|clone|vendor|archive|export|save|download.*|convert|cp|mirror|localize|screenshot|pdf|deploy|fix|format|fmt|fetch|gem|new-\w+|\w+\.new)$/;

/** Subcommands that only read the files in their operands. */
const LOOKS =
  /^(analyze|api|audit|build|cat|check|config|describe|dev|diff|doc|explain|get|import|info|inspect|kustomize|lint|list|load|logs?|ls|plan|read|run|scan|search|serve|show|start|stat|status|tail|template|test|upload|validate|verify|view)$/;

/** Options whose value is read, or is no file. */
const READING = new RegExp(
  "^(-[FHIKLSceiklqx]|--?(" + [
    "(ca|key|cert|certificate|license|identity|pem)([-_]?(file|path))?|cacert|CA(file|path)",
    "(in|input|src|source|body|notes|env|var|values|set|from|from-env|template|requirements?|ignore|patch|data|defaults(-extra)?)([-_]?(file|path|data|zip))?",
    "(class|module|source|processor|p)?path|cp|constraints?|include|exclude|filter|grep|select|schema|spec",
    "tsconfig|rcfile|settings|conf|cfg|config(uration)?([-_]?(file|path))?|backend-config|replace|files?-from|files",
    "build-arg|env|label|shell|python|interpreter|plugin(-dir)?s?|socket|host|raw|url|endpoint(-url)?|location",
    "entrypoint|command|cmd|ids?|names?|(log-group|parameter|secret|resource|role|policy)[\\w-]*|scope|paths?(-prefix)?",
    "bind|listen|query|subj|message|title|body|description|format|template-body|parameters|cli-input-json",
  ].join("|") + "))$",
);

/** Differences of a program. */
interface Own {
  /** Options, or words such as `PREFIX=…`, that name what it writes. */
  writes?: RegExp;
  /** Options that name what it only reads. */
  reads?: RegExp;
  /** With such a word before them it writes its operands. */
  after?: RegExp;
}

const IN_PLACE: Own = { after: /^(-i|--fix|--write|--apply)$/ };
const BUILDS: Own = { after: /^build$/ };

const OWN: Record<string, Own> = {
  ...forNames("docker docker-compose podman podman-compose nerdctl buildah", { reads: /^-[ef]$/ }),
  ...forNames("kubectl oc helm helmfile skaffold kustomize stern", { reads: /^-f$/ }),
  ...forNames("npm pnpm yarn ninja meson bundle gem", { writes: /^-(B|C|i|-path|-prefix)$/ }),
  ...forNames("eslint stylelint biome oxlint clang-format golangci-lint", IN_PLACE),
  ...forNames("prettier gofmt shfmt goimports", { after: /^(-\w*w\w*|--write)$/ }),
  ...forNames("black isort autopep8 autoflake rustfmt", { after: /^/, reads: /^--config$/ }),
  ...forNames("next vite astro", BUILDS),
  ...forNames("mvn mvnw gradle gradlew", {
    reads: /^-(s|gs)$/,
    writes: /^-(f|p|-file|-project-dir)$/,
  }),
  ...forNames("pip pip3", { reads: /^-[rc]$/, writes: /^--src$/ }),
  ...forNames("7z 7za 7zr 7zz", { after: /^[adu]$/ }),
  ...forNames("fly flyctl", { after: /^sftp$/ }),
  ...forNames("psql mysql mariadb mongosh redis-cli", { reads: /^-[fh]$/ }),
  ar: { after: /^[a-zA-Z]*[dmqrs][a-zA-Z]*$/ },
  cmake: { reads: /^-(S|D(?!CMAKE_INSTALL_PREFIX))/, writes: /^--prefix$/ },
  coverage: { writes: /^--data-file$/ },
  cypress: { writes: /^--config$/ },
  dpkg: { after: /^-(x|X|R|-v?extract|-raw-extract)$/ },
  go: { writes: /^-C$/ },
  journalctl: { reads: /^-(D|-directory|-root)$/ },
  make: { reads: /^-f$/, writes: /^(-C|(DESTDIR|PREFIX|prefix|O|OUT\w*|BUILD_?DIR))$/ },
  node: {
    writes:
      /^--((cpu|heap)-prof-dir|report-dir(ectory)?|redirect-warnings|diagnostic-dir|trace-event-file-pattern|test-reporter-destination|tls-keylog)$/,
  },
  qpdf: { reads: /^--(check|json|show-[\w-]+|is-encrypted|requires-password)$/ },
  pytest: { writes: /^--cov-report$/ },
  ruff: { after: /^(format|--fix(-only)?)$/ },
  sftp: { after: /^[\w.@-]+:/ },
  tsc: { reads: /^(-p|--project)$/ },
  uv: { reads: /^-[rc]$/, writes: /^--(project|cache-dir)$/ },
};

/** Programs whose operands are keys of a store, resources or addresses that look like paths. */
const KEYED = setOf("consul etcdctl firebase gh glab nomad op redis-cli vault");
/** Programs whose options name resources that look like paths. */
const CLOUDS = setOf("aws az gcloud");
const RESOURCE = /^(\/\/|\/subscriptions\/|\/providers\/|\/aws\/|fileb?:\/\/)/;

/** Options whose value is certainly a file or a folder of this machine. */
const FILES = /file|kubeconfig|dir|out|dest|folder|save|cwd|download|^-\w$/;

/**
 * Whether a program may write a word that names a file outside the project, although its record does
 * not say so: it may, except for what it is known to read.
 */
export function mayWriteOutside(
  name: string,
  args: readonly string[],
  at: number,
  row: Row | null | undefined,
): boolean {
  const word = args[at]!;
  const own = Object.hasOwn(OWN, name) ? OWN[name]! : {};
  const option = optionOf(word, args[at - 1] ?? "");
  if (own.writes?.test(option ?? word.split("=")[0]!)) return true;
  if (SHOWS.has(name) || isInterpreter(name) || onlyQueries(name, args)) return false;
  const listed = row && !row.unlisted ? row : null;
  const reads = (of: string) => own.reads?.test(of) || READING.test(of);
  const before = args.slice(0, at);
  if (option !== null) {
    if (listed && isListed(option, listed)) return hasNoValue(option, listed) && writesOperands();
    const looks = listed?.looks.includes(option.replace(/^-+/, ""));
    if (looks || reads(option) || RESOURCE.test(word)) return false;
    if (!word.startsWith("/") || FILES.test(option)) return true;
    return !KEYED.has(name) && !CLOUDS.has(name);
  }
  if (RESOURCE.test(word) || /^[\w.@-]+:/.test(word)) return false;
  return writesOperands();

  function writesOperands(): boolean {
    if (own.after && args.some((one) => own.after!.test(one))) return true;
    if (listed && listed.operands !== "none") return false;
    const words = before.filter((one) => /^[a-z][\w.-]*$/.test(one));
    if (words.some((one) => WRITES.test(one))) return true;
    if (listed || READS.has(name) || KEYED.has(name) || before.includes("--")) return false;
    return !words.some((one) => LOOKS.test(one));
  }
}

/** Whether the words of `sqlite3` only show what a database holds. */
function onlyQueries(name: string, args: readonly string[]): boolean {
  if (!/^sqlite3?$/.test(name)) return false;
  if (args.includes("-readonly")) return true;
  const [, ...texts] = args.filter((word) => !word.startsWith("-"));
  return texts.length > 0 && texts.every((text) => QUERY.test(text));
}

const QUERY =
  /^\s*(\.(schema|fullschema|tables|indexes|indices|databases|dump|dbinfo|stats)\b[^;\n]*|(select|explain)\b(?!.*\b(writefile|edit|load_extension|into)\b)[^;]*;?\s*)$/is;

/** The option to which a word belongs: the one that it is, or the one before it. */
function optionOf(word: string, before: string): string | null {
  if (word.startsWith("-")) {
    return word.startsWith("--") || word.includes("=") ? word.split("=")[0]! : word.slice(0, 2);
  }
  return before.startsWith("-") && before !== "--" && !before.includes("=") ? before : null;
}

function find(option: string, { grammar: { long, short, single } }: Row) {
  const name = option.replace(/^--?/, "");
  const isLong = option.startsWith("--") || (single && name.length > 1);
  return isLong ? long.get(name) : short.get(name.at(-1) ?? "") ?? short.get(name[0] ?? "");
}

function isListed(option: string, row: Row): boolean {
  return find(option, row) !== undefined;
}

function hasNoValue(option: string, row: Row): boolean {
  return find(option, row)?.value === "none";
}
