import { isWild } from "../holes.ts";
import type { Call, Runner } from "./call.ts";

/** Variables whose value another program runs as a command. */
const COMMANDS = new Set(
  ("GIT_EXTERNAL_DIFF GIT_SSH_COMMAND GIT_SSH GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS " +
    "GIT_PROXY_COMMAND PAGER MANPAGER EDITOR VISUAL BROWSER FCEDIT HGEDITOR SVN_EDITOR SSH_ASKPASS " +
    "SUDO_ASKPASS SUDO_EDITOR LESSOPEN LESSCLOSE PSQL_EDITOR PSQL_PAGER SYSTEMD_PAGER " +
    "SYSTEMD_EDITOR BAT_PAGER DELTA_PAGER GH_PAGER GH_EDITOR GH_BROWSER AWS_PAGER KUBE_EDITOR " +
    "RSYNC_RSH CVS_RSH SVN_SSH PROMPT_COMMAND FZF_DEFAULT_COMMAND MAKESHELL CRONTAB_EDITOR " +
    "GIT_TEXTCONV NULLCMD READNULLCMD")
    .split(" "),
);

/** Variables that make other programs load or run a file. */
const LOADERS =
  /^(LD_PRELOAD|LD_AUDIT|LD_LIBRARY_PATH|DYLD_\w+|BASH_ENV|ENV|PERL5OPT|RUBYOPT|PYTHONSTARTUP|PYTHONINSPECT|GIT_CONFIG\w*|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|GCONV_PATH|SHELLOPTS|BASHOPTS|BASH_FUNC_\w+|PS[0124]|HOSTALIASES|TAR_OPTIONS)$/;

/** Variables that change which files programs find; an allow rule for a program does not cover them. */
const INFLUENCES =
  /^(PATH|CDPATH|NODE_OPTIONS|NODE_PATH|PYTHONPATH|PERL5LIB|RUBYLIB|CLASSPATH|GIT_DIR|GIT_WORK_TREE|npm_config_\w+)$/;

/** Records the effects of setting a variable that other programs read. */
export function checkVariable(name: string, value: string, call: Call, run: Runner): void {
  if (name === "GLOBIGNORE") call.shell.dotted = true;
  if (COMMANDS.has(name)) {
    if (isWild(value)) {
      run.doubt(`"${name}" names a program to run, and its value is unknown`, name, call);
    } else if (value !== "") run.code(value, { ...call, stdin: "" });
  } else if (name === "LESS" || name === "MORE") {
    const code = /\+{1,2}[^!|]*[!|](.+)$/s.exec(value)?.[1];
    if (code !== undefined) run.code(code, { ...call, stdin: "" });
  } else if (INFLUENCES.test(name)) {
    run.note([`${name}=${value}`], call);
  } else if (LOADERS.test(name) && !isHarmless(name, value)) {
    run.doubt(`"${name}" changes what other programs load`, `${name}=`, call);
  }
}

function isHarmless(name: string, value: string): boolean {
  if (value === "" || value === "/dev/null" || value === "1") return true;
  if (/^PS[012]$/.test(name)) return !/`|\$[({]/.test(value);
  return name === "PS4" && !/[$`]/.test(value.replace(/\$\{?[A-Z_]+\}?/g, ""));
}
