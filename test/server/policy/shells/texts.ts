import { ALL_BUILTINS, VARIABLES } from "./builtins.ts";

/** Random numbers, and the share of the parts of a text that are not plain. */
interface Random {
  (): number;
  odd: number;
}

const pick = <T>(from: readonly T[], next: Random): T => from[Math.floor(next() * from.length)]!;
const chance = (share: number, next: Random) => next() < share;
const times = (most: number, next: Random) => Math.floor(next() * (most + 1));
const list = <T>(most: number, next: Random, make: () => T): T[] =>
  Array.from({ length: times(most, next) }, make);
const single = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Code that does what no template allows. */
const ACTS = [
  "canary",
  "canary x",
  ">pwned",
  ": >pwned",
  "echo >pwned",
  "cat .env",
  "cat<.env",
  "cat sub/.env",
  "rm -rf x",
  "git push --force",
  "sudo ls",
  "sh -c canary",
  "echo canary|sh",
  "read x <.env; echo $x",
  "canary&",
  "command canary",
  "exec canary",
];

const FILES = [
  "a.txt",
  "notes.md",
  "src/a.ts",
  "docs/b.md",
  "sub",
  "sub/c.txt",
  "src",
  ".",
  "empty",
  "./a.txt",
  "-",
  "missing",
  "with space.txt",
  "list",
];
const MASKED = [".env", "./.env", "sub/.env", "link", "sub/../.env", "src/../.env", "~/.ssh/id"];
const PROGRAMS = [
  ..."ls cat head tail wc grep echo printf pwd sort uniq cut tr sed find test true stat file".split(
    " ",
  ),
  ..."cat cat cat ls echo head grep wc".split(" "),
];
const OTHERS = [
  ..."mkdir touch cp mv rm git npm node sudo env xargs nice timeout nohup tee sh bash zsh dash awk"
    .split(" "),
  "canary",
  "./act.sh",
];
const OPTIONS = [
  ..."-a -b -c -d -e -f -g -h -i -k -l -m -n -o -p -q -r -s -t -u -v -w -x -z -A -C -D -E -F -H"
    .split(
      " ",
    ),
  ..."-I -L -M -N -P -R -S -T -U -X -Z +x +a +f -- - --version --help -1 -20 -la -rn -ef -pv".split(
    " ",
  ),
  ..."-maxdepth -name -exec -type -print -delete EXIT DEBUG ERR ZERR 0 1 2 = == =~ ! ( ) ;".split(
    " ",
  ),
  ..."expand_aliases extglob globstar dotglob nullglob extdebug promptsubst globsubst shwordsplit"
    .split(" "),
  ..."rcquotes cshnullcmd cshjunkiehistory braceccl ksharrays posix zsh/files zsh/mapfile sh ksh"
    .split(" "),
];

const PLAIN_OPTIONS =
  "-l -n -a -la -r -1 -c -v -s -w -- -f -i -d: -f1 -n1 -o -x --color=never --all -A2 -name -type -rn"
    .split(
      " ",
    );

/** A harmless literal word in one of its spellings. */
function literal(next: Random): string {
  const word = pick(chance(0.12, next) ? MASKED : FILES, next);
  return spell(word, next);
}

function spell(word: string, next: Random): string {
  const at = Math.floor(next() * word.length);
  const [before, after] = [word.slice(0, at), word.slice(at)];
  const has_blank = word.includes(" ");
  if (!chance(next.odd, next)) {
    return pick([
      () => has_blank ? single(word) : word,
      () => has_blank ? `"${word}"` : word,
      () => has_blank ? `"${word}"` : word,
      () => has_blank ? word.replace(" ", "\\ ") : word,
      () => single(word),
      () => `"${word}"`,
      () => `${single(before)}${single(after)}`,
      () => `${single(before)}"${after}"`,
    ], next)();
  }
  return pick([
    () => `${single(before)}${after}`,
    () => `${before}""${after}`,
    () => `${before}\\${after}`,
    () => `${before}\\\n${after}`,
    () => `$'${word}'`,
    () => `$"${word}"`,
    () => `{${word},}`,
    () => `{${word},a.txt}`,
    () => `${before}{${word[at] ?? ""},z}${word.slice(at + 1)}`,
    () => `${before}?${word.slice(at + 1)}`,
    () => `${before}*`,
    () => `${before}[${word[at] ?? "a"}z]${word.slice(at + 1)}`,
    () => `${before}[!z]${word.slice(at + 1)}`,
    () => `@(${word}|z)`,
    () => `(${word}|z)`,
    () => `${word}(N)`,
    () => `${word}(#q.)`,
    () => `=${word}`,
    () => `a=${word}`,
    () => `--file=${word}`,
    () => `-f${word}`,
    () => `@${word}`,
  ], next)();
}

/** A word that names no file by its text alone. */
function wild(next: Random): string {
  return pick([
    ..."* .* ?* [.a]* .[a-z]* *.md */* **/* sub/* */.* .e* .en[v] .e?? {.env,a} {.e,x}nv {.,}env"
      .split(
        " ",
      ),
    ..."*(.) *(D) .*(N) *(om[1]) *(/) ^a* a~b <1-9> *<->* (#i).ENV **/*(D.) $'.env' !(a*) ?(.)env"
      .split(" "),
    ..."{a..c} {1..3} ~ ~+ ~- = != \\* '*' \"*\" -* +* %1 %% %+ %- # #a a#b ^ ! !! !$ !canary !-1"
      .split(" "),
  ], next);
}

/** A word whose value a shell computes. */
function computed(next: Random): string {
  const act = pick(ACTS, next);
  const name = pick(chance(0.5, next) ? VARIABLES : ["x", "y", "a", "i"], next);
  return pick([
    () => `$${name}`,
    () => `"$${name}"`,
    () => `\${${name}}`,
    () => `$(${act})`,
    () => `"$(${act})"`,
    () => `\`${act}\``,
    () => `"\`${act}\`"`,
    () => `'$(${act})'`,
    () => `\\$(${act})`,
    () => `"\\$(${act})"`,
    () => `"\\\`${act}\\\`"`,
    () => `<(${act})`,
    () => `>(${act})`,
    () => `=(${act})`,
    () => `(${act})`,
    () => `{${act}}`,
    () => `$((${name}))`,
    () => `$((a[$(${act})]))`,
    () => `$[a[$(${act})]]`,
    () => `$(( \`${act}\` ))`,
    () => `\${${name}:-$(${act})}`,
    () => `\${${name}:=$(${act})}`,
    () => `\${${name}/a/$(${act})}`,
    () => `\${${name}:$(${act})}`,
    () => `\${${name}[$(${act})]}`,
    () => `\${${name}@P}`,
    () => `\${${name}@E}`,
    () => `\${!${name}}`,
    () => `\${(e)${name}}`,
    () => `\${(P)${name}}`,
    () => `\${(e):-'$(${act})'}`,
    () => `\${~${name}}`,
    () => `$=${name}`,
    () => `$~${name}`,
    () => `*(e:${single(act)}:)`,
    () => `*(e{${single(act)}})`,
    () => `*(.+canary)`,
    () => `*(oe:${single(act)}:)`,
    () => `a.txt(#qe:${single(act)}:)`,
    () => `$'\\x24(${act})'`,
    () => `=${pick(PROGRAMS, next)}`,
    () => `=canary`,
    () => pick(["$@", "$*", "$#", "$?", "$-", "$$", "$!", "$_", "$0", "$1", '"$@"'], next),
    () => `\${| ${act}; }`,
    () => `\${ ${act}; }`,
    () => `$(<.env)`,
    () => `"$(<.env)"`,
    () => `$(<a.txt)`,
    () => `\${$(${act})}`,
    () => `\${${name}:h}`,
    () => `\${#${name}}`,
    () => `\${(%):-%(?.a.b)}`,
    () => `$${name}${pick(TAILS, next)}`,
    () => `"$${name}${pick(TAILS, next)}"`,
    () => `\${${name}${pick(TAILS, next)}}`,
    () => `\${${pick(FLAGS, next)}${name}}`,
    () => `\${\${${name}}${pick(TAILS, next)}}`,
    () => `\${${name}${pick(OPERATORS, next)}${pick(chance(0.5, next) ? FILES : MASKED, next)}}`,
    () => `\${${name}${pick(OPERATORS, next)}${payload(next)}}`,
    () => `\${${name}[${pick(SUBSCRIPTS, next)}]${pick(OPERATORS, next)}${act}}`,
    () => `$(${act} # )\n)`,
    () => `$(case a in a) ${act};; esac)`,
    () => `$(cat <<E\n${act})\nE\n)`,
    () => `$((${name} + ${pick(SUBSCRIPTS, next)}))`,
    () => `$[${name}[${pick(SUBSCRIPTS, next)}]]`,
  ], next)();
}

/** Texts that zsh reads as a part of the variable before them, or bash as a slice. */
const TAILS = (
  ":h :t :r :e :a :A :l :u :q :Q :P :s/a/e/ :gs/a/e/ :x :c :& :h:t :t:r [1] [2] [-1] [1,3] [x] [@] [*] [(r)*] [(e)x] [(i)a] " +
  ":0 :1 :x :1:2 :x:y :$x :$((1)) :(-1) :#a :|x :*x ~/.ssh/id ~ /.env .env @P @E @A @Q ^^ ,, #* %.* //a/e"
).split(" ");
const FLAGS =
  "(e) (P) (f) (s:a:) (z) (Q) (g::) (k) (v) (%) (j:a:) (l:9:) (#) (~) = ~ ^ + # ! ! :- (eP) (Qe)"
    .split(" ");
const OPERATORS = ":- - := = :+ + :? ? # ## % %% / // /# /% ^ ^^ , ,, : :# :| :* :^ @ ::=".split(
  " ",
);
const SUBSCRIPTS = [
  "x",
  "y",
  "1",
  "$x",
  "$(canary)",
  "x[y]",
  "'x'",
  "-1",
  "@",
  "ls",
  "a[$(canary)]",
];
/** Names whose list or value changes what a later command means. */
const TABLES = (
  "functions aliases galiases saliases commands options mapfile nameddirs dis_functions dis_aliases path fpath cdpath " +
  "module_path chpwd_functions precmd_functions zshexit_functions periodic_functions BASH_CMDS BASH_ALIASES " +
  "fish_function_path fish_user_paths command_not_found_handle PROMPT_COMMAND"
).split(" ");

/** A text that some builtin may evaluate again. */
function payload(next: Random): string {
  const act = pick(ACTS, next);
  return pick([
    () => single(act),
    () => single(`$(${act})`),
    () => single(`\`${act}\``),
    () => single(`a[$(${act})]`),
    () => single(`a[\`${act}\`]`),
    () => single(`x=$(${act})`),
    () => single(`() { ${act}; }`),
    () => single(`;${act}`),
    () => `"${act}"`,
    () => `\\;${act}`,
    () => single(`b[a[$(${act})]]`),
    () => single(`1+a[$(${act})]`),
    () => single(`x[\${ ${act}; }]`),
    () => single(`functions[${pick(PROGRAMS, next)}]`),
    () => single(`\${(e):-$(${act})}`),
    () => `'x\\' y '; ${act} #'`,
    () => `$'x\\' ; ${act} #'`,
    () => `"x\\" ; ${act} #"`,
    () => `=(${act})`,
    () => single(`%(?.\`${act}\`.)`),
    () => single(`-\n${act}`),
    () => act.split(" ")[0]!,
  ], next)();
}

function word(next: Random): string {
  const kind = next();
  if (kind < 0.6 || !chance(next.odd, next)) return literal(next);
  if (kind < 0.72) return wild(next);
  if (kind < 0.82) return computed(next);
  if (kind < 0.92) return pick(OPTIONS, next);
  return payload(next);
}

function assignment(next: Random): string {
  const name = pick(VARIABLES, next);
  const value = pick([
    () => literal(next),
    () => payload(next),
    () => computed(next),
    () => pick(["canary", ".", "sub", "a", "*", "'.env a.txt'", "'.e*'", "", "1", "src:."], next),
    () => pick(MASKED, next),
    () => `(${list(3, next, () => word(next)).join(" ")})`,
  ], next)();
  return pick([
    () => `${name}=${value}`,
    () => `${name}=${value}`,
    () => `${name}=${value}`,
    () => `${name}+=${value}`,
    () => `${name}[${pick(["1", "0", "$(canary)", "`canary`", "x", "ls", "cat"], next)}]=${value}`,
    () => `export ${name}=${value}`,
    () => `readonly ${name}=${value}`,
    () => `typeset -${pick([..."aAiftrxuULnghF"], next)} ${name}=${value}`,
    () => `declare -${pick([..."aAiftrxuln"], next)} ${name}=${value}`,
    () => `integer ${name}=${value}`,
    () => `local ${name}=${value}`,
    () => `set ${name} ${value}`,
    () => `set -gx ${name} ${value}`,
    () => `${name} = ${value}`,
    () => `read ${name} <<< ${value}`,
    () => `printf -v ${name} %s ${value}`,
  ], next)();
}

function redirect(next: Random): string {
  const act = pick(ACTS, next);
  const to = chance(0.3, next) ? "pwned" : spell(pick([...FILES, ...MASKED, "pwned"], next), next);
  return pick([
    `>${to}`,
    `>>${to}`,
    `> ${to}`,
    `>|${to}`,
    `>!${to}`,
    `>>|${to}`,
    `>&${to}`,
    `>&${payload(next)}`,
    `<&${payload(next)}`,
    `&>${payload(next)}`,
    `>&${single(to)}`,
    `&>${to}`,
    `&>>${to}`,
    `>&|${to}`,
    `<>${to}`,
    `2>${to}`,
    `2>>${to}`,
    `3<>${to}`,
    `^${to}`,
    `?>${to}`,
    `{fd}>${to}`,
    `<${to}`,
    `<${to}`,
    `< ${to}`,
    `0<${to}`,
    `<?${to}`,
    `<&0`,
    `2>&1`,
    `>&2`,
    `>&-`,
    `1>&${to}`,
    `2>/dev/null`,
    `>/dev/null`,
    `&>/dev/null`,
    `<<<${payload(next)}`,
    `<<<"$(${act})"`,
    `<<E\n$(${act})\nE\n`,
    `<<E\na\nE\n`,
    `<<'E'\n$(${act})\nE\n`,
    `<<-E\n\t\`${act}\`\n\tE\n`,
    `<<\\E\n${act}\nE\n`,
    `<<"E F"\n${act}\nE F\n`,
    `< <(${act})`,
    `> >(${act})`,
  ], next);
}

/** A value that may run code, given to a variable in one of many ways. */
function given(name: string, next: Random): string {
  const value = chance(0.7, next) ? payload(next) : pick(["y", "'y'", "a", "1"], next);
  return pick([
    `${name}=${value}`,
    `${name}=${value}`,
    `y=${value}; ${name}=y`,
    `${name}=(${value} 1)`,
    `${name}+=${value}`,
    `read ${name} <<< ${value}`,
    `echo ${value} | while read ${name}; do :; done`,
    `printf -v ${name} %s ${value}`,
    `: \${${name}:=${value}}`,
    `: \${${name}=${value}}`,
    `set -- ${value}; ${name}=$1`,
    `export ${name}=${value}`,
    `typeset ${name}=${value}`,
    `mapfile ${name} <<< ${value}`,
    `read -a ${name} <<< ${value}`,
    `for ${name} in ${value}; do :; done`,
    `${name}=$(echo ${value})`,
    `${name}='a['; ${name}=$${name}'$(canary)]'`,
    `getopts ${value} ${name} -a`,
    `set ${name} ${value}`,
  ], next);
}

/** A place in which some shell computes with a variable, or expands its value again. */
function used(name: string, next: Random): string {
  const program = pick(PROGRAMS, next);
  return pick([
    `echo $((${name}))`,
    `echo $[${name}]`,
    `echo \${PWD:${name}}`,
    `echo \${PWD:0:${name}}`,
    `echo \${@:${name}}`,
    `echo \${y[${name}]}`,
    `echo $y[${name}]`,
    `echo $${name}[${name}]`,
    `y=([${name}]=1)`,
    `y[${name}]=1`,
    `[[ ${name} -eq 0 ]]`,
    `[[ $${name} -lt 1 ]]`,
    `[[ -v y[${name}] ]]`,
    `[[ -v $${name} ]]`,
    `[[ -t ${name} ]]`,
    `test $${name} -eq 0`,
    `[ ${name} -eq 0 ]`,
    `test -v $${name}`,
    `let y=${name}`,
    `(( ${name} ))`,
    `(( y[${name}] ))`,
    `for ((${name};0;)); do :; done`,
    `declare -i y=${name}`,
    `integer y=${name}`,
    `local -i y; y=${name}`,
    `typeset -F y=${name}`,
    `printf %d ${name}`,
    `printf %d "$${name}"`,
    `printf -v "$${name}" a`,
    `read "$${name}" < a.txt`,
    `unset "$${name}"`,
    `shift ${name}`,
    `shift $${name}`,
    `exit ${name}`,
    `break ${name}`,
    `repeat ${name} echo a`,
    `echo {1..$${name}}`,
    `echo \${(e)${name}}`,
    `echo \${${name}@P}`,
    `echo \${!${name}}`,
    `echo "\${(P)${name}}"`,
    `declare -n y=${name}; echo $y`,
    `eval "$${name}"`,
    `RANDOM=$${name}`,
    `SECONDS=${name}`,
    `$${name}`,
    `${program} $${name}`,
    `${program} $=${name}`,
    `${program} $~${name}`,
    `${program} *(.e'$${name}')`,
    `trap "$${name}" EXIT`,
    `alias ${program}=$${name}\n${program}`,
    `cd $${name} && ${program} .env`,
    `ulimit ${name}`,
    `sched +0 $${name}`,
    `print -P "$${name}"`,
    `env X=$${name} bash -c 'echo $((X))'`,
    `bash -c 'echo $(($1))' _ "$${name}"`,
  ], next);
}

/** A table of a shell that is changed, and a command that may mean something else then. */
function table(next: Random): string {
  const name = pick(TABLES, next);
  const program = pick(PROGRAMS, next);
  const value = pick(
    ["canary", "./sub/ls", "sub", "(canary)", "(sub)", "(f)", ".", "act.sh"],
    next,
  );
  const change = pick([
    `${name}[${program}]=${value}`,
    `${name}=(${program} ${value})`,
    `${name}+=(${program} ${value})`,
    `${name}=${value}`,
    `: \${${name}[${program}]:=${value}}`,
    `read '${name}[${program}]' <<< ${value}`,
    `printf -v '${name}[${program}]' ${value}`,
    `typeset '${name}[${program}]=${value}'`,
    `set -A ${name} ${program} ${value}`,
    `set -g ${name} ${value}`,
    `declare -gA ${name}; ${name}[${program}]=${value}`,
    `for ${name} in ${value}; do :; done`,
  ], next);
  return `f() { canary; }; ${change}; ${pick([program, `${program} a.txt`, "cd sub", "x"], next)}`;
}

/** Programs that a template may allow, with words, and here and there a redirect or an assignment. */
function simple(next: Random): string {
  const program = pick(chance(0.9, next) ? PROGRAMS : OTHERS, next);
  const words = list(3, next, () => chance(0.75, next) ? literal(next) : word(next));
  const is_odd = () => chance(next.odd, next);
  const parts = [chance(0.2, next) && is_odd() ? spell(program, next) : program, ...words];
  if (chance(0.15, next)) {
    const place = is_odd() ? times(parts.length, next) : parts.length;
    parts.splice(place, 0, is_odd() ? redirect(next) : plainRedirect(next));
  }
  if (chance(0.2, next) && is_odd()) parts.unshift(assignment(next));
  if (chance(0.15, next) && is_odd()) {
    parts.unshift(pick("command builtin exec noglob nocorrect - time ! env not".split(" "), next));
  }
  if (chance(0.1, next)) parts.splice(1, 0, pick(PLAIN_OPTIONS, next));
  const is_blank = !is_odd() || chance(0.8, next);
  return parts.join(is_blank ? " " : pick(["\t", "  ", " \\\n", "\r", "\v", "\f"], next));
}

/** Forms that a proof may accept. */
function plain(next: Random): string {
  const name = pick(chance(0.7, next) ? ["x", "f", "file", "name"] : VARIABLES, next);
  const program = pick(PROGRAMS, next);
  const [one, two] = [literal(next), literal(next)];
  return pick([
    () => `for ${name} in ${one} ${two}; do ${program} $${name}; done`,
    () => `for ${name} in ${one} ${two}\ndo\n${program} "$${name}" ${two}\ndone`,
    () => `for ${name} in ${one} *.md; do ${simple(next)}; ${simple(next)}; done`,
    () => `for ${name} in ${one}; do for y in ${two}; do ${program} $y $${name}; done; done`,
    () => `${name}=${one}; ${program} $${name}`,
    () => `${name}=${one} && ${program} "$${name}"`,
    () => `${name}=${one}\n${program} "$${name}" ${two}`,
    () => `cd ${pick(["sub", "src", "missing", "docs", "~", "."], next)}`,
    () => `cd ${pick(["sub", "src", "missing"], next)} && ${simple(next)}`,
    () => `cd ${pick(["sub", "src", "missing"], next)}; ${simple(next)}; cd src`,
    () => `cat <<'E'\n${one}\n${computed(next)}\nE`,
    () => `git commit -m "$(cat <<'E'\n${one} (x)\nE\n)"`,
    () => `${program} *`,
    () => `${program} *.txt sub/* src/*.ts`,
    () => `${program} ${one}*`,
    () => `# ${one}\n${simple(next)}`,
    () => `LC_ALL=C ${simple(next)}`,
    () => `[ -f ${one} ] && ${simple(next)}`,
    () => `test ${one} = ${two} || ${simple(next)}`,
    () => `find . -name '*.md' -not -path ${one} | xargs ${program}`,
    () =>
      `${lister(next)} | xargs ${pick(["", "-n2 ", "-n 1 ", "-L1 ", "-I{} "], next)}${fed(next)}`,
    () =>
      `find ${one} ${pick(["", "-type f ", "-name 'l*' "], next)}-exec ${fed(next)} ${ends(next)}`,
    () => `${program} ${wild(next)} ${two}`,
    () => `echo ${one} ${two} | ${simple(next)} | ${program}`,
    () => `printf '%s\\n' ${one} ${two} > sub/c.txt`,
  ], next)();
}

/** A command that prints names. */
function lister(next: Random): string {
  const one = literal(next);
  return pick([
    "ls",
    "ls *",
    `ls ${one}`,
    "ls | head -3",
    "find . -type f",
    "find *",
    `echo ${wild(next)}`,
    `printf '%s\\n' ${one} ${literal(next)} *`,
    "grep -l a *",
    "grep -rl a",
    "cat list",
  ], next);
}

/** A command that gets names after its words, or in the place of braces. */
function fed(next: Random): string {
  const program = pick(chance(0.8, next) ? PROGRAMS : OTHERS, next);
  return pick([
    program,
    program,
    `${program} ${literal(next)}`,
    `${program} {}`,
    `${program} {} {}`,
  ], next);
}

const ends = (next: Random) => pick(["{} +", "{} \\;", "\\;", "+"], next);

/** A list of words, and a use of one or all of them. */
function listed(next: Random): string {
  const words = list(3, next, () => chance(0.5, next) ? wild(next) : literal(next)).join(" ");
  const given = pick([words, "$(cat list)", "$(ls)", '"$(cat list)"'], next);
  const at = times(4, next);
  const program = pick(PROGRAMS, next);
  return pick([
    `set -- ${given}; ${program} $${at}`,
    `set -- ${given}; ${program} "$${at}"`,
    `set -- ${given}; shift; ${program} "$@"`,
    `set -- ${given}; shift ${at}; ${program} $1`,
    `f() { ${program} "$@"; }; f ${given}`,
    `f() { shift; ${program} $${at}; }; f ${given}`,
    `a=(${given}); ${program} \${a[${at}]}`,
    `a=(${given}); ${program} "\${a[@]}"`,
    `a=(${given}); ${program} "\${a[@]:${at}}"`,
    `a=(${given}); ${program} $a`,
    `a=(${given}); set -- "\${a[@]}"; ${program} "$${at}"`,
    `a[${at}]=${words}; ${program} \${a[${at}]}`,
    `mapfile -t a < list; ${program} "\${a[${at}]}"`,
    `read -r x y < list; ${program} $x $y`,
    `read -ra a < list; ${program} "\${a[${at}]}"`,
    `while read x y; do ${program} $y; done < list`,
    `for x in ${given}; do ${program} $x; done`,
    `x=${given}; ${program} $x`,
  ], next);
}

function plainRedirect(next: Random): string {
  const to = chance(0.3, next) ? "pwned" : spell(pick([...FILES, ...MASKED], next), next);
  return pick(["2>/dev/null", "2>&1", `>${to}`, `> ${to}`, `>>${to}`, `< ${to}`, "1>&2"], next);
}

function builtin(next: Random): string {
  const words = list(
    4,
    next,
    () =>
      chance(0.35, next)
        ? pick(OPTIONS, next)
        : chance(0.3, next)
        ? payload(next)
        : chance(0.3, next)
        ? `${pick([...PROGRAMS, ...VARIABLES], next)}=${payload(next)}`
        : chance(0.3, next)
        ? pick([...PROGRAMS, ...VARIABLES], next)
        : word(next),
  );
  const parts = [pick(ALL_BUILTINS, next), ...words];
  if (chance(0.15, next)) parts.push(redirect(next));
  return parts.join(" ");
}

/** A form of some shell that changes or hides what runs. */
function construct(next: Random, depth: number): string {
  const act = pick(ACTS, next);
  const inner = chance(0.5, next) ? act : text(next, depth + 1);
  const name = pick(PROGRAMS, next);
  const variable = pick(VARIABLES, next);
  return pick([
    () => `${name}() { ${inner}\n}`,
    () => `${name}() ${inner}`,
    () => `function ${name} { ${inner}\n}`,
    () => `function ${name} () { ${inner}\n}`,
    () => `function ${name}\n${inner}\nend`,
    () => `${name} () ( ${inner} )`,
    () => `() { ${inner}\n}`,
    () => `alias ${name}=${single(act)}\n`,
    () => `alias ${name}=canary\n`,
    () => `alias -g a.txt=${single(act)}\n`,
    () => `alias -s txt=canary\n`,
    () => `hash -p ./sub/ls ${name}`,
    () => `hash ${name}=./sub/ls`,
    () => `commands[${name}]=./sub/ls`,
    () => `functions[${name}]=${single(act)}`,
    () => `aliases[${name}]=${single(act)}\n`,
    () => `BASH_CMDS[${name}]=./sub/ls`,
    () => `BASH_ALIASES[${name}]=${single(act)}\n`,
    () => `enable -n ${name}`,
    () => `disable ${name}`,
    () => `trap ${single(act)} ${pick(["EXIT", "0", "DEBUG", "ERR", "CHLD", "RETURN"], next)}`,
    () => `TRAP${pick(["EXIT", "DEBUG", "ZERR"], next)}() { ${act}; }`,
    () =>
      `${
        pick(["precmd", "chpwd", "command_not_found_handle", "command_not_found_handler"], next)
      }() { ${act}; }`,
    () => `${given("x", next)}; ${used("x", next)}`,
    () => `${given(variable, next)}; ${used(variable, next)}`,
    () => `${given("y", next)}\nx=y\n${used("x", next)}`,
    () => table(next),
    () => `f() { ${used("1", next)}; }; f ${payload(next)}`,
    () => `[[ a || ${act} ]]`,
    () => `[[ -n ${literal(next)} && ${act} ]]`,
    () => `[[ ${literal(next)} > ${literal(next)} ]]`,
    () => `function f {\n${act}\n}`,
    () => `function ${name} --on-event fish_exit\n${act}\nend`,
    () => `set PATH sub $PATH; ${name}`,
    () => `path=(sub $path); ${name}`,
    () => `cd ${literal(next)} ${literal(next)} && ${name} .env`,
    () => listed(next),
    () => listed(next),
    () => listed(next),
    () => `${name} ${pick(["''", '""', "$(:)", "$y", "\\\n", "{,}"], next)}~/.ssh/id`,
    () =>
      `${name} .${
        pick(["\\x65", "\\u0065", "\\145", "\\e", "{e}", "[e]", "?", "e#", "(e)"], next)
      }nv`,
    () => `${name} ${pick(["**/", "./**/", "***/", "*/../", "sub/**"], next)}${wild(next)}`,
    () =>
      `echo x ${pick([">", ">>", ">|", "<>", "&>"], next)} ${
        pick(["l*", "?ink", "[!z]ink", "pw*", "{link,}", "l*(N)"], next)
      }`,
    () => `${name} <<< =(${act})`,
    () => `< =(${act}) ${name}`,
    () => `${name} <(${act}) >(${act})`,
    () => `echo${pick(["&!", "&|", "|&", "&&!", ";!", "& !"], next)}${act}`,
    () => `zstyle -e a b ${act}; zstyle -s a b c`,
    () => `zmodload -a zsh/mapfile mapfile; echo $mapfile[.env]`,
    () => `autoload -Uz act.sh; act.sh`,
    () => `string join '' ${single(act)} | source`,
    () => `eval (echo ${single(act)})`,
    () => `complete -c ${name} -a '(${act})'; complete -C '${name} '`,
    () => `abbr -a ${name} ${single(act)}`,
    () => `fc -e - ; r ${name}`,
    () => `history -s ${single(act)}; fc -s`,
    () => `${name}=a ${name} ${word(next)}`,
    () => `case a in (a) ${inner};; esac`,
    () => `case a in a) ${inner};& b) ${act};; esac`,
    () => `for x; do ${inner}; done`,
    () => `for x y in a b; do ${inner}; done`,
    () => `{ ${inner}; } ${redirect(next)}`,
    () => `( ${inner} ) ${redirect(next)}`,
    () => `if true; then ${inner}; fi ${redirect(next)}`,
    () => `exec ${redirect(next)}; ${name}`,
    () => `exec -a ${name} ${act}`,
    () =>
      `setopt ${
        pick([
          "extendedglob",
          "globsubst",
          "kshglob",
          "braceccl",
          "autocd",
          "cdablevars",
          "globdots",
        ], next)
      }; ${name} ${wild(next)}`,
    () =>
      `set -o ${
        pick(["extendedglob", "globsubst", "globdots", "posix", "allexport", "autocd"], next)
      }; ${name} ${wild(next)}`,
    () => `eval ${single(act)}`,
    () => `. ./act.sh`,
    () => `source act.sh`,
    () => `emulate sh -c ${single(act)}`,
    () => `for ${variable} in ${list(3, next, () => word(next)).join(" ")}; do ${inner}\ndone`,
    () => `for ${variable} in ${literal(next)} ${literal(next)}; do cat "$${variable}"; done`,
    () => `for ${variable} in ${literal(next)} ${literal(next)}; do cat $${variable}; done`,
    () => `${variable}=${literal(next)}; ${name} $${variable}`,
    () => `${variable}=${literal(next)}; ${name} "$${variable}"`,
    () =>
      `${variable}=${
        pick(["'.env a.txt'", "'.e*'", "'*'", "-f", "'a.txt sub/.env'"], next)
      }; ${name} $${variable}`,
    () => `${variable}=${literal(next)} && ${name} $${variable}`,
    () => `for ${variable} (a b) ${inner}`,
    () => `for ((${variable}=0;${variable}<1;${variable}++)); do ${inner}\ndone`,
    () => `for ((a[$(${act})];0;)); do :; done`,
    () => `foreach ${variable} (a b) ${inner}\nend`,
    () => `repeat 1 ${inner}`,
    () => `select ${variable} in a b; do ${inner}\ndone <<< 1`,
    () => `while ${inner}; do break; done`,
    () => `until ${inner}; do break; done`,
    () => `if ${inner}; then ${text(next, depth + 1)}\nfi`,
    () => `if true; then ${inner}\nfi`,
    () => `if (true) ${inner}`,
    () => `if [[ -n a ]] { ${inner} }`,
    () => `case ${word(next)} in ${word(next)}) ${inner};; *) ${act};; esac`,
    () =>
      `[[ ${word(next)} ${pick(["=", "==", "=~", "-nt", "-eq", "-ef", "<"], next)} ${
        word(next)
      } ]]`,
    () => `[[ -v ${payload(next)} ]]`,
    () => `[[ ${payload(next)} -eq 0 ]]`,
    () => `test -v ${payload(next)}`,
    () => `[ ${payload(next)} -eq 0 ]`,
    () => `(( ${payload(next)} ))`,
    () => `(( a[$(${act})] ))`,
    () => `let ${payload(next)}`,
    () => `( ${inner} )`,
    () => `{ ${inner}; }`,
    () => `{ ${inner} } always { ${act} }`,
    () => `begin; ${inner}; end`,
    () => `coproc ${inner}`,
    () => `coproc c { ${inner}\n}`,
    () => `! ${inner}`,
    () => `time ${inner}`,
    () => `${inner} &`,
    () => `${inner} &!`,
    () => `set -x; PS4=${payload(next)}; ${name}`,
    () => `set -${pick([..."abefhkmnptuvxBCEHPT"], next)} ${word(next)}`,
    () => `setopt ${pick(OPTIONS, next)}; ${inner}`,
    () => `shopt -s ${pick(OPTIONS, next)}; ${inner}`,
    () =>
      `zmodload zsh/${
        pick("files mapfile system parameter sched stat".split(" "), next)
      }; ${inner}`,
    () => `: $mapfile[.env]`,
    () => `mapfile[pwned]=x`,
    () => `cd ${word(next)}; ${inner}`,
    () => `cd sub && cat .env`,
    () => `cd sub; ls; cat ${literal(next)}`,
    () => `CDPATH=sub; cd c; ${inner}`,
    () => `PATH=.:sub; ${name}`,
    () => `PATH=sub ${name}`,
    () => `path=(. $path); ${name}`,
    () => `NULLCMD=canary; >a.txt`,
    () => `READNULLCMD=canary; <a.txt`,
    () => `<.env`,
    () => `IFS=e; x=canaryex; $x`,
    () => `echo ${act} | ${pick(["sh", "bash", "zsh", "xargs -I{} sh -c {}", "xargs"], next)}`,
    () => `echo .env | xargs cat`,
    () => `printf '%s\\0' .env | xargs -0 cat`,
    () =>
      `find . -name ${word(next)} ${
        pick([
          "-exec cat {} +",
          "-delete",
          "-exec canary {} ;",
          "-exec canary {} \\;",
          "-fprint pwned",
          "-print",
        ], next)
      }`,
    () =>
      `sed ${
        pick(["-n '1w pwned'", "1ecanary", "'r .env'", "-i s/a/b/", "'s/a/canary/e'", "p"], next)
      } a.txt`,
    () =>
      `sort ${
        pick(["-o pwned", "--compress-program=canary -S1", "-T sub", "--files0-from=-", "-u"], next)
      } a.txt`,
    () =>
      `grep ${
        pick(["-r a .", "-rn a", "-f .env a.txt", "-R . sub", "a *", "--include=.env -r a ."], next)
      }`,
    () => `echo 'a' > src/a.ts; . src/a.ts`,
    () => `echo canary > src/run.sh; sh src/run.sh`,
    () => `cp ${literal(next)} ${literal(next)}`,
    () => `mv ${literal(next)} ${literal(next)}`,
    () => `cp a.txt pwned`,
    () => `tee pwned`,
    () => `touch pwned`,
    () => `#${act}\n`,
    () => `# ${act}`,
    () => `#\\\n${act}`,
    () => `: '#' ${act}`,
    () => `%${act}`,
    () => `- ${act}`,
    () =>
      `${
        pick([..."\u0001\u0002\u0007\b\u001b\u007f\u00a0\u0085\u2028\u3000\u200b\ufeff"], next)
      }${inner}`,
  ], next)();
}

const JOINTS = ["; ", "; ", " && ", " && ", " || ", " | ", " | ", "\n", "\n", "; "];
const ODD_JOINTS = [
  " & ",
  " |& ",
  ";;",
  "&|",
  "&!",
  " ; ; ",
  "\r\n",
  "\\\n",
  " # ",
  "\n#",
  " and ",
  " or ",
  ";\n",
  "|\n",
  "&&\n",
];

/** Commands of which most are plain, and some are not. */
function text(next: Random, depth = 0): string {
  const parts = Array.from({ length: 1 + times(depth > 0 ? 1 : 3, next) }, () => {
    if (depth > 2 || !chance(next.odd, next)) {
      return chance(0.7, next) ? simple(next) : plain(next);
    }
    const kind = next();
    if (kind < 0.2) return assignment(next);
    return kind < 0.5 ? builtin(next) : construct(next, depth);
  });
  return parts.reduce((all, part) => {
    const is_odd = chance(next.odd, next) && chance(0.3, next);
    return all + pick(is_odd ? ODD_JOINTS : JOINTS, next) + part;
  });
}

const LETTERS = [
  ..." \"'$(){};|&<>`\\\n#=!*?[]-~^%@+:,.ax\t\r\u0001\u0007\u00a0\u2028",
];

function mutate(code: string, next: Random): string {
  const at = times(code.length, next);
  const kind = next();
  if (kind < 0.4) return code.slice(0, at) + pick(LETTERS, next) + code.slice(at);
  if (kind < 0.7) return code.slice(0, at) + code.slice(at + 1);
  if (kind < 0.85) {
    const to = Math.min(code.length, at + 1 + times(8, next));
    return code.slice(0, to) + code.slice(at, to) + code.slice(to);
  }
  return code.slice(0, at) + pick(ACTS, next) + code.slice(at);
}

/** A command line from a grammar of several shells, sometimes with its letters mutated as well. */
export function randomText(numbers: () => number): string {
  const odd = pick(SHARES, Object.assign(() => numbers(), { odd: 0 }));
  const next = Object.assign(() => numbers(), { odd });
  let code = text(next);
  const mutations = chance(0.75, next) ? 0 : 1 + times(2, next);
  for (let at = 0; at < mutations; at++) code = mutate(code, next);
  return code;
}

/** Texts that are nearly plain come close to what is allowed. */
const SHARES = [0.02, 0.06, 0.06, 0.15, 0.4];

/**
 * Relative places that a slash may follow. A device is only the target of a redirect: root can move
 * and delete it.
 */
const PLACES =
  /[<>]\s*\/dev\/null\b|~\/\.ssh\/id|(?:sub|src)\/\.\.\/\.env|zsh\/|s\/a\/(?:b|canary)\/|(?:\.|\bsub|\bsrc|\bdocs|\*)\//g;
/** A function that calls itself on both sides of a pipe fills the machine with processes. */
const MULTIPLIES = /\(\s*\)[^]*[|&]|[|&][^]*\(\s*\)|function[^]*[|&]|[|&][^]*function/;

const FUNCTION = /([\w.-]+)\s*\(\s*\)|function\s+([\w.-]+)/g;

/** Whether a function may call itself in a substitution, and so start a process at each level. */
function descends(code: string): boolean {
  const rest = code.replaceAll(/\\\n/g, "");
  return [...rest.matchAll(FUNCTION)].some(([, plain, keyword]) => {
    const opener = rest.search(/\$\(|`|[<>=]\(|\$\{[ |]/);
    return opener >= 0 && rest.indexOf((plain ?? keyword)!, opener) >= 0;
  });
}

/** Whether a text can reach nothing outside the folder that it runs in. */
export function staysInside(code: string): boolean {
  const rest = code.replaceAll(PLACES, "");
  return !/\/|\.\.|~\w|kill[^]*-1|\0|-delete[^]*\$|\$[^]*-delete/.test(rest) &&
    !MULTIPLIES.test(code) && !descends(code);
}
