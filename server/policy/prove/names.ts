function namesIn(...lines: string[]): Set<string> {
  return new Set(lines.join(" ").split(" "));
}

/**
 * Names that bash, zsh, dash or fish give a meaning of their own. A command of such a name may be a
 * keyword, a builtin or a function, and not the program that the name says.
 */
export const OF_A_SHELL: ReadonlySet<string> = namesIn(
  "if then else elif fi case esac for select while until do done in function time coproc ! { } [[ ]]",
  "repeat foreach end nocorrect noglob and or not begin switch",
  ". : [ alias argparse autoload abbr bg bind bindkey block break breakpoint builtin bye caller",
  "cd cdh chdir command commandline comparguments compadd compcall compctl compdescribe compfiles",
  "compgen compgroups complete compopt compquote compset comptags comptry compvalues contains",
  "continue count declare dirh dirs disable disown echo echotc echoti emit emulate enable eval exec",
  "exit export false fc fg float functions funced funcsave getln getopts hash help histexpand history",
  "integer isatty jobs kill let limit local log logout mapfile math nextd popd path prevd print",
  "printf private psub pushd pushln pwd r random read readarray readonly rehash return run-help",
  "sched set setenv set_color setopt shift shopt source status string suspend test times trap true",
  "ttyctl type typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt vared wait",
  "whence where which which-command zcompile zformat zle zmodload zparseopts zregexparse zstyle _",
  "edit_command_buffer export umask alias N_ fish_config fish_add_path fish_update_completions",
);

/** Variables that zsh sets or reads itself, among those in lower case. */
const OF_ZSH = namesIn(
  "aliases argv builtins cdpath commands dirstack errnos fignore fpath funcfiletrace funcsourcetrace",
  "funcstack functions functions_source functrace galiases histchars history historywords jobdirs",
  "jobstates jobtexts keymaps langinfo mailpath manpath mapfile module_path modules nameddirs options",
  "parameters patchars path pipestatus prompt psvar reswords saliases signals status sysparams",
  "termcap terminfo userdirs usergroups watch widgets zsh_eval_context zsh_scheduled_events",
  "auto_resume fish_function_path fish_user_paths",
);

/**
 * Whether a shell or a program may read a variable of this name. Programs name theirs in capitals;
 * those in lower case are the proxies and the settings of npm.
 */
export function isInterpreted(name: string): boolean {
  return !/^[a-z][a-z0-9_]*$/.test(name) || OF_ZSH.has(name) ||
    /^(dis|npm|pnpm|yarn|zsh|zle|fish|bash)_|_(proxy|functions|hooks?)$/.test(name);
}

/** Variables before a program that choose only how it prints, and the values that they may have. */
const HARMLESS: readonly [name: RegExp, value: RegExp][] = [
  [/^(LANG|LANGUAGE|LC_[A-Z]+)$/, /^[A-Za-z0-9_.@-]*$/],
  [/^(NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|CI|COLUMNS|LINES|DO_NOT_TRACK)$/, /^\w*$/],
  [/^(PAGER|GIT_PAGER|GH_PAGER)$/, /^(cat)?$/],
  [/^(GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED)$/, /^\d?$/],
  [/^TZ$/, /^[A-Za-z]\w*([/+-]\w+)*$/],
];

/** Whether a program that gets this variable does the same as without it, but for its printing. */
export function isHarmlessVariable(name: string, value: string): boolean {
  return HARMLESS.some(([names, values]) => names.test(name) && values.test(value));
}
