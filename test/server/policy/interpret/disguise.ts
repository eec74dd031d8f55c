/** A generator of numbers that gives the same ones for the same seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

type Random = () => number;
const pick = <T>(from: readonly T[], next: Random): T => from[Math.floor(next() * from.length)]!;
const single = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const double = (text: string) => `"${text.replace(/[\\"$`]/g, "\\$&")}"`;

const FORBIDDEN = [
  "rm -rf x",
  "rm -f -r x",
  "rm --recursive --force x",
  "git reset --hard",
  "git clean -fd",
  "git push --force",
  "git push -f",
];

/** Each hides a command in a larger one that runs it. */
const DISGUISES: ((code: string, next: Random) => string)[] = [
  (c) => `bash -c ${single(c)}`,
  (c) => `sh -c ${double(c)}`,
  (c) => `eval ${single(c)}`,
  (c) => `echo ${single(c)} | sh`,
  (c) => `printf '%s\\n' ${single(c)} | cat | bash`,
  (c) => `sh <<< ${single(c)}`,
  (c) => `bash <<'E'\n${c}\nE`,
  (c) => `cat <<'E' | sh\n${c}\nE`,
  (c) => `echo "$(${c})"`,
  (c) => `v=$(${c})`,
  (c) => `{ ${c}; }`,
  (c) => `(${c})`,
  (c) => `if true; then ${c}\nfi`,
  (c) => `for i in 1; do ${c}\ndone`,
  (c) => `f() { ${c}\n}; f`,
  (c) => `true && ${c}`,
  (c) => `false || ${c}`,
  (c) => `! { ${c}\n}`,
  (c) => `${c} &\nwait`,
  (c) => `cat <(${c})`,
  (c) => `. <(echo ${single(c)})`,
  (c) => `trap ${single(c)} EXIT`,
  (c) => `v=${single(c)}; eval "$v"`,
  (c) => `printf -v v '%s' ${single(c)}; eval "$v"`,
  (c) => `xargs -I{} sh -c ${single(c)} <<< a`,
  (c) => `echo ${single(c)} | rev | rev | bash`,
  (c) => `echo ${btoa(c)} | base64 -d | sh`,
  (c) => `case a in a) ${c}\n;; esac`,
  (c) => `while :; do ${c}\nbreak; done`,
  (c) => `: "\${none:-$(${c})}"`,
  (c) => `: "\${none:=$(${c})}"`,
  (c) => `a='q[$(${c.replaceAll("'", "")})]'; (( a ))`,
  (c) => `[[ -v 'q[$(${c.replaceAll("'", "")})]' ]]`,
  (c) => `coproc { ${c}\n}; wait`,
  (c) => `env A=1 bash -c ${single(c)}`,
  (c) => `alias z=:; ${c}`,
  (c) => `sh -c '"$@"' _ sh -c ${single(c)}`,
  (c) => `find . -maxdepth 0 -exec sh -c ${single(c)} \\;`,
  (c) => `echo a | while read -r l; do ${c}\ndone`,
  (c) => `bash -c "$(cat <<'E'\n${c}\nE\n)"`,
  (c) => `sed 's,^a,,' <<< ${single(`a${c}`)} | sh`,
  (c) => `tr 'a-z' 'b-za' <<< ${single(c)} | tr 'b-za' 'a-z' | sh`,
];

/** Other spellings of the same words. */
const SPELLINGS: ((words: string[], next: Random) => string)[] = [
  (words) => words.join(" "),
  (words) => words.map(single).join(" "),
  (words) => words.map((word) => `${word[0]}""${word.slice(1)}`).join(" "),
  (words) => words.map((word) => `\\${word}`).join(" "),
  (words) =>
    words.map((word) => `$'${[...word].map((c) => `\\x${c.charCodeAt(0).toString(16)}`).join("")}'`)
      .join(" "),
  (words) => `{${words.join(",")}}`,
  (words) => words.join("${IFS}"),
  (words) => `set -- ${words.join(" ")}; "$@"`,
  (words) => `w=(${words.join(" ")}); "\${w[@]}"`,
  (words) => `w=${words[0]}; $w ${words.slice(1).join(" ")}`,
  (words) => `w=${single(words.join(" "))}; $w`,
  (words) => `w=zz${words[0]}; \${w#zz} ${words.slice(1).join(" ")}`,
  (words) => `w=${words[0]!.toUpperCase()}; \${w,,} ${words.slice(1).join(" ")}`,
  (words) => `$(echo ${words[0]}) ${words.slice(1).join(" ")}`,
  (words) => `read -r p q <<< ${single(words.join(" "))}; $p $q`,
  (words) => `for w in ${words[0]}; do $w ${words.slice(1).join(" ")}; done`,
  (words) => `IFS=,; w=${words.join(",")}; $w`,
  (words) => `o=${words[1]}; ${words[0]} $o ${words.slice(2).join(" ")}`,
  (words) => words.join(" \\\n "),
  (words) => `command ${words.join(" ")}`,
  (words) => `env ${words.join(" ")}`,
  (words) => `nice -n 5 ${words.join(" ")}`,
  (words) => `timeout 5 ${words.join(" ")}`,
  (words) => `nohup ${words.join(" ")}`,
  (words) => `exec ${words.join(" ")}`,
  (words) => `echo ${words.slice(1).join(" ")} | xargs ${words[0]}`,
];

const LETTERS = [..." \"'$(){};|&<>`\\\n#=!*?[]-ax"];

/** A forbidden command in disguise, sometimes with its letters mutated as well. */
export function disguise(next: Random): string {
  let code = pick(SPELLINGS, next)(pick(FORBIDDEN, next).split(" "), next);
  const layers = Math.floor(next() * 3);
  for (let at = 0; at < layers; at++) code = pick(DISGUISES, next)(code, next);
  const mutations = next() < 0.5 ? 0 : 1 + Math.floor(next() * 3);
  for (let at = 0; at < mutations; at++) code = mutate(code, next);
  return code;
}

function mutate(code: string, next: Random): string {
  const at = Math.floor(next() * (code.length + 1));
  const kind = next();
  if (kind < 0.4) return code.slice(0, at) + pick(LETTERS, next) + code.slice(at);
  if (kind < 0.7) return code.slice(0, at) + code.slice(at + 1);
  const to = Math.min(code.length, at + 1 + Math.floor(next() * 8));
  return code.slice(0, to) + code.slice(at, to) + code.slice(to);
}
