import process from "node:process";

/**
 * The variables that a command gets from the agent's environment. Every other variable is dropped,
 * above all those that make the next program load code or start another program:
 *
 * | Dropped, among others                                     | Reason                             |
 * | --------------------------------------------------------- | ---------------------------------- |
 * | LD_*, DYLD_*                                              | libraries for every program        |
 * | BASH_ENV, ENV, BASH_FUNC_*, SHELLOPTS, PS4, CDPATH        | code and options for shells        |
 * | NODE_OPTIONS, NODE_PATH, BUN_OPTIONS, PYTHONPATH, PERL5OPT | code for interpreters             |
 * | RUBYOPT, JAVA_TOOL_OPTIONS, CLASSPATH, RUSTC_WRAPPER      | code for interpreters and builds   |
 * | GIT_*, XDG_CONFIG_HOME, SSH_ASKPASS                       | programs that git or ssh starts    |
 * | EDITOR, VISUAL, PAGER, LESSOPEN, BROWSER, MAKEFLAGS       | programs that other programs start |
 * | npm_config_*, PIP_*, CARGO_BUILD_*, KUBECONFIG            | settings that name programs        |
 * | AWS_*, *_TOKEN, *_KEY, DATABASE_URL                       | secrets                            |
 */
const KEPT = {
  programs: ["PATH", "SHELL"],
  person: ["HOME", "USER", "LOGNAME", "HOSTNAME"],
  language: ["LANG", "LANGUAGE", "TZ"],
  terminal: [
    ...["TERM", "COLORTERM", "COLUMNS", "LINES"],
    ...["NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"],
  ],
  temporary_files: ["TMPDIR", "TMP", "TEMP"],
  desktop: [
    ...["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"],
    ...["XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP"],
    ...["XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"],
  ],
  network: [
    ...["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"],
    ...["HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"],
    ...["SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"],
    ...["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "DOCKER_HOST"],
  ],
  // A socket to the agent that holds the keys: without it no push over ssh works.
  ssh: ["SSH_AUTH_SOCK"],
  identity_in_git: [
    ...["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"],
    ...["GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE"],
  ],
  // They choose an installation, as PATH does.
  tools: [
    ...["JAVA_HOME", "MAVEN_HOME", "SDKMAN_DIR", "ANDROID_HOME"],
    ...["ANDROID_SDK_ROOT", "DOTNET_ROOT", "GOPATH", "GOROOT", "GOBIN", "CARGO_HOME"],
    ...["RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "NVM_DIR", "NVM_BIN", "PNPM_HOME", "VOLTA_HOME"],
    ...["FNM_DIR", "FNM_MULTISHELL_PATH", "BUN_INSTALL", "DENO_DIR", "DENO_INSTALL", "ASDF_DIR"],
    ...["ASDF_DATA_DIR", "PYENV_ROOT", "PYENV_VERSION", "RBENV_ROOT", "RBENV_VERSION"],
    ...[
      "VIRTUAL_ENV",
      "CONDA_PREFIX",
      "CONDA_DEFAULT_ENV",
      "NIX_PROFILES",
      "PLAYWRIGHT_BROWSERS_PATH",
    ],
  ],
  mode: ["CI", "GITHUB_ACTIONS", "NODE_ENV", "DEBIAN_FRONTEND", "DO_NOT_TRACK"],
  gate: ["GATE_HOME", "GATE_PORT"],
  windows: [
    ...["SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "USERNAME"],
    ...["USERDOMAIN", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA"],
    ...["PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "PUBLIC"],
    ...["COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMPUTERNAME", "ALLUSERSPROFILE"],
    ...["NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"],
  ],
};

const NAMES = new Set(Object.values(KEPT).flat());
const LOCALE = /^LC_[A-Z]+$/;

/**
 * Settings that win over every config file of git: a folder that only looks like a bare repository
 * is none, and `git status` starts no program that a repository names.
 */
const GIT = {
  GIT_CONFIG_COUNT: "2",
  GIT_CONFIG_KEY_0: "safe.bareRepository",
  GIT_CONFIG_VALUE_0: "explicit",
  GIT_CONFIG_KEY_1: "core.fsmonitor",
  GIT_CONFIG_VALUE_1: "false",
};

/** These load code into the shell or into every program, so no command may name them either. */
const NEVER = /^(LD_|DYLD_|BASH|ENV$|SHELLOPTS$|PS4$|PROMPT_COMMAND$|GCONV_PATH$|GLIBC_TUNABLES$)/;

/**
 * Returns the environment of a command: the known variables of `env`, those that the approved
 * command line itself names, and safe settings for git.
 */
export function commandEnvironment(
  env: Record<string, string | undefined>,
  named: readonly string[] = [],
): Record<string, string | undefined> {
  const passed = new Set(named.filter((name) => !NEVER.test(name)));
  const kept = Object.entries(env).filter(([name]) => isKept(name) || passed.has(name));
  return { ...Object.fromEntries(kept), ...GIT };
}

function isKept(name: string): boolean {
  const known = process.platform === "win32" ? name.toUpperCase() : name;
  return NAMES.has(known) || LOCALE.test(known);
}
