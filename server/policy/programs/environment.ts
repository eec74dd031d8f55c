import { isWild } from "../holes.ts";
import type { Call, Runner } from "../interpret/call.ts";
import { touchWord } from "./operands.ts";

/** Variables whose value another program runs as a command. */
const COMMANDS = new Set(
  ("GIT_EXTERNAL_DIFF GIT_SSH_COMMAND GIT_SSH GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS " +
    "GIT_PROXY_COMMAND PAGER MANPAGER EDITOR VISUAL BROWSER FCEDIT HGEDITOR SVN_EDITOR SSH_ASKPASS " +
    "SUDO_ASKPASS SUDO_EDITOR LESSOPEN LESSCLOSE PSQL_EDITOR PSQL_PAGER SYSTEMD_PAGER " +
    "SYSTEMD_EDITOR BAT_PAGER DELTA_PAGER GH_PAGER GH_EDITOR GH_BROWSER AWS_PAGER KUBE_EDITOR " +
    "RSYNC_RSH CVS_RSH SVN_SSH PROMPT_COMMAND FZF_DEFAULT_COMMAND MAKESHELL CRONTAB_EDITOR " +
    "GIT_TEXTCONV NULLCMD READNULLCMD SHELL CC CXX CPP LD AR AS RUSTC RUSTDOC RUSTC_WRAPPER " +
    "RUSTC_WORKSPACE_WRAPPER")
    .split(" "),
);

/** Variables that make other programs load or run a file. */
const LOADERS =
  /^(LD_PRELOAD|LD_AUDIT|LD_LIBRARY_PATH|DYLD_\w+|BASH_ENV|ENV|PERL5OPT|RUBYOPT|PYTHONSTARTUP|PYTHONINSPECT|GIT_CONFIG\w*|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|GCONV_PATH|SHELLOPTS|BASHOPTS|BASH_FUNC_\w+|PS[0124]|HOSTALIASES|TAR_OPTIONS|ZDOTDIR|FPATH|fpath|module_path|RIPGREP_CONFIG_PATH|BAT_CONFIG_PATH|CURL_HOME|WGETRC|PYTHONHOME|PYTHONBREAKPOINT|PYTHONUSERBASE|PERL5DB|PERL5SHELL|(JAVA_TOOL|_JAVA|JDK_JAVA|BUN|GREP)_OPTIONS|(MAVEN|GRADLE|SBT|ANT|JAVA)_OPTS|GOFLAGS|(GNU)?MAKEFLAGS|MAKEFILES|LESSKEY(IN)?|GIT_DIR|GIT_WORK_TREE|GIT_COMMON_DIR|GIT_OBJECT_DIRECTORY|GIT_ALTERNATE_OBJECT_DIRECTORIES|npm_config_(script_shell|git|node_options|globalconfig|userconfig))$/;

/** Variables with the name of a file that git writes its trace into. */
const TRACES = /^GIT_(TRACE\w*|REDIRECT_\w+)$/;

/** Options of Node that load a file by its path. */
const OTHER_MODULES =
  /(^|\s)(-r|--(require|import|(experimental-)?loader))[=\s]+["']?([./~]|\w+:)|--(env-file|eval|experimental-config-file)/;

/** Variables whose value is a command, by their names. */
const COMMAND_NAMES = /_(COMMAND|PAGER|EDITOR|BROWSER|ASKPASS)$|^CARGO_TARGET_\w+_(RUNNER|LINKER)$/;

/** Variables that change which files a pathspec of git names. */
const PATHSPECS = /^GIT_(LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS$/;

/** Variables that change which files programs find; an allow rule for a program does not cover them. */
const INFLUENCES =
  /^(PATH|CDPATH|NODE_OPTIONS|NODE_PATH|PYTHONPATH|PERL5LIB|RUBYLIB|CLASSPATH|POSIXLY_CORRECT|GIT_INDEX_FILE|npm_config_\w+)$/;

/** Variables whose value names files that libraries read; bash does so at once. */
const FILES = /^(TZ|TZDIR|TERMCAP|TERMINFO|LOCPATH|NLSPATH|INPUTRC)$/;

/** Variables that name a folder which programs write. */
const PLACES =
  /^(GOBIN|GOCACHE|GOMODCACHE|CARGO_(TARGET_DIR|INSTALL_ROOT)|PIP_(TARGET|PREFIX)|PYTHONPYCACHEPREFIX|DESTDIR)$/;

/** Whether other programs read a variable of this name, and load, run or find by it. */
export function isReadByPrograms(name: string): boolean {
  return COMMANDS.has(name) || COMMAND_NAMES.test(name) || LOADERS.test(name) ||
    INFLUENCES.test(name) || TRACES.test(name) || FILES.test(name) ||
    /^(NODE_OPTIONS|LESS|MORE)$/.test(name);
}

/** Records the effects of setting a variable that other programs read. */
export function checkVariable(name: string, value: string, call: Call, run: Runner): void {
  if (name === "GLOBIGNORE") call.shell.dotted = true;
  if (PATHSPECS.test(name)) {
    run.doubt(`"${name}" changes which files git shows`, `${name}=`, call);
  }
  if (PLACES.test(name)) touchWord(value, call, run, { undescribed: true });
  if (TRACES.test(name)) traceInto(name, value, call, run);
  if (FILES.test(name)) {
    for (const path of value.split(":")) run.touch("read", path, call, { implied: true });
  }
  if (
    name === "NODE_OPTIONS" &&
    (isWild(value) ||
      OTHER_MODULES.test(value))
  ) {
    run.doubt(`"${name}" changes what other programs load`, `${name}=`, call);
  }
  if (COMMANDS.has(name) || COMMAND_NAMES.test(name)) {
    if (isWild(value)) {
      run.doubt(`"${name}" names a program to run, and its value is unknown`, name, call);
    } else if (value !== "") run.code(value, { ...call, stdin: "" });
  } else if (name === "LESS" || name === "MORE") {
    const code = /\+{1,2}[^!|]*[!|](.+)$/s.exec(value)?.[1];
    if (code !== undefined) run.code(code, { ...call, stdin: "" });
    if (isWild(value) || /(^|\s)-\w*[oOkK]|--(log|lesskey)/i.test(value)) {
      run.doubt(`"${name}" names a file that the pager writes or loads`, `${name}=`, call);
    }
  } else if (LOADERS.test(name) && !isHarmless(name, value)) {
    run.doubt(`"${name}" changes what other programs load`, `${name}=`, call);
  } else if (INFLUENCES.test(name)) {
    run.note([`${name}=${value}`], call);
  }
}

/** Git appends its trace to a file if the value is not a number or a switch. */
function traceInto(name: string, value: string, call: Call, run: Runner): void {
  if (/^(\d*|true|false)$/i.test(value)) return;
  if (!value.startsWith("/")) run.doubt(`"${name}" may name a file or a socket`, name, call);
  run.touch("write", value, call);
}

function isHarmless(name: string, value: string): boolean {
  if (value === "" || value === "/dev/null") return true;
  if (/^(GIT_CONFIG\w*|PYTHONINSPECT)$/.test(name) && /^\d+$/.test(value)) return true;
  if (/^GIT_(DIR|WORK_TREE)$/.test(name) && /(^|\/)\.git$/.test(value)) return true;
  if (/MAKEFLAGS$/.test(name) && /^-?j?\d*$/.test(value)) return true;
  if (
    /^(JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS$|_OPTS$/.test(name) &&
    /^(-X(m[sx]|ss)\d+\w|\s|-Dfile\.encoding=[\w-]+)+$/.test(value)
  ) return true;
  if (name === "GOFLAGS" && /^(-(mod|tags|count|p)=[\w,]+|-[vx]|\s)+$/.test(value)) return true;
  if (/^PS[012]$/.test(name)) return !/`|\$[({]/.test(value);
  return name === "PS4" && !/[$`]/.test(value.replace(/\$\{?[A-Z_]+\}?/g, ""));
}
