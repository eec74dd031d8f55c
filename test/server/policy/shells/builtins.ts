/** The builtins and reserved words of each shell; a test compares them with the installed shells. */
export const BUILTINS: Record<string, string> = {
  bash: ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue " +
    "declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history " +
    "jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set " +
    "shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait " +
    "! [[ ]] case coproc do done elif else esac fi for function if in select then time until " +
    "while { }",
  dash: ". : [ alias bg break cd chdir command continue echo eval exec exit export false fg " +
    "getopts hash jobs kill local printf pwd read readonly return set shift test times trap true " +
    "type ulimit umask unalias unset wait ! case do done elif else esac fi for if in then until " +
    "while { }",
  zsh: "- . : [ alias autoload bg bindkey break builtin bye cap cd chdir clone command compadd " +
    "comparguments compcall compctl compdescribe compfiles compgroups compquote compset comptags " +
    "comptry compvalues continue declare dirs disable disown echo echotc echoti emulate enable " +
    "eval exec exit export false fc fg float functions getcap getln getopts hash history integer " +
    "jobs kill let limit local log logout noglob popd print printf private pushd pushln pwd r " +
    "read readonly rehash return sched set setcap setopt shift source stat strftime suspend " +
    "syserror sysopen sysread sysseek syswrite test times trap true ttyctl type typeset ulimit " +
    "umask unalias unfunction unhash unlimit unset unsetopt vared wait whence where which zcompile " +
    "zcurses zdelattr zf_chmod zf_ln zf_mkdir zf_mv zf_rm zf_rmdir zformat zftp zgdbmpath zgetattr " +
    "zle zlistattr zmodload zparseopts zprof zpty zregexparse zselect zsetattr zsocket zstat " +
    "zstyle zsystem ztcp ztie zuntie pcre_compile pcre_match pcre_study " +
    "chgrp chmod chown example ln mkdir mv rm rmdir sync zf_chgrp zf_chown zf_sync ! [[ case coproc do done " +
    "elif else end esac fi for foreach function if nocorrect repeat select then time until while " +
    "{ }",
  fish:
    "and abbr argparse begin bind block breakpoint builtin cd command commandline complete contains count emit end " +
    "eval exec functions history if math not or path random read realpath set_color set source status string switch " +
    "test time type ulimit wait while",
};

/** Every builtin and reserved word once, in an order that does not change. */
export const ALL_BUILTINS: readonly string[] = [
  ...new Set(Object.values(BUILTINS).flatMap((list) => list.split(" "))),
];

/** Variables that some shell, or a program that it starts, gives a meaning. */
export const VARIABLES = (
  "PATH IFS CDPATH ENV BASH_ENV PS4 PS1 PROMPT_COMMAND RANDOM SECONDS LINENO OPTIND OPTARG HISTFILE " +
  "HISTCMD HISTCONTROL HOME PWD OLDPWD SHELL SHELLOPTS BASHOPTS POSIXLY_CORRECT GLOBIGNORE EXECIGNORE " +
  "FIGNORE TMOUT TMPDIR MAILPATH MAIL MAILCHECK BASH_CMDS BASH_ALIASES BASH_XTRACEFD BASH_COMPAT " +
  "BASH_LOADABLES_PATH FUNCNEST LD_PRELOAD LD_LIBRARY_PATH GCONV_PATH PAGER GIT_PAGER GIT_SSH " +
  "GIT_EXTERNAL_DIFF GIT_DIR EDITOR LESSOPEN COLUMNS LINES TZ LANG LC_ALL DIRSTACK GROUPS EUID UID " +
  "SHLVL SRANDOM EPOCHSECONDS COMP_WORDS NULLCMD READNULLCMD FPATH fpath path cdpath manpath " +
  "module_path psvar PROMPT SPROMPT RPS1 TIMEFMT TMPPREFIX POSTEDIT argv status pipestatus histchars " +
  "signals options commands functions aliases galiases saliases reswords builtins modules userdirs " +
  "nameddirs parameters widgets keymaps jobtexts watch WATCH HISTCHARS ZDOTDIR USERNAME GID EGID " +
  "ARGC SAVEHIST HISTSIZE KEYTIMEOUT TTYIDLE ERRNO LISTMAX match MATCH reply REPLY mapfile MAPFILE " +
  "x y a i file name"
).split(" ");
