import type { ParameterExpansionPart, Word, WordPart } from "unbash";

/** A form that some shell reads in a way of its own: why, and its text. */
interface Strange {
  reason: string;
  text: string;
}

/**
 * The first part of a word that a shell may read as something else than the interpreter does. The
 * known forms are a closed list, so that a form which nobody thought of asks too.
 */
export function strangePart(word: Word): Strange | null {
  const { text } = word;
  if (PLAIN_WORD.test(text)) return null;
  const strange = (reason: string): Strange => ({ reason, text: text.slice(0, 200) });
  if (/^=[\w./-]/.test(text)) return strange("zsh reads a word after = as the path of a program");
  if (bordersGroup(word)) return strange("zsh reads this brace as the border of a group");
  if (!word.parts) return escapes(text) ? strange(ESCAPES) : null;
  return strangeIn(word.parts, false);
}

/** Whether a word has only signs that mean themselves in each shell. Most words have. */
export function isPlainWord({ text }: Word): boolean {
  return text.length <= SHORT && PLAIN_WORD.test(text);
}

/** A longer word is looked at only where it must be. */
const SHORT = 256;

const PLAIN_WORD = /^[\w./:+,@%-]*$/;

/** Whether the braces outside quotes do not match: zsh begins or ends a group within a word. */
function bordersGroup({ text, parts }: Word): boolean {
  if (!/[{}]/.test(text) || text.length === 1) return false;
  const plain = parts
    ? parts.filter(({ type }) => type === "Literal").map((one) => one.text).join("")
    : text.replace(QUOTED, "");
  let open = 0;
  for (const brace of plain.replace(/\\[^]/g, "").replace(/[^{}]/g, "")) {
    open += brace === "{" ? 1 : -1;
    if (open < 0) return true;
  }
  return open > 0;
}

const QUOTED = /\\[^]|'[^']*'|"(?:\\[^]|[^"\\])*"/g;

const ESCAPES = "fish reads a letter in this way";
const REPEATED = "bash computes with this text, or zsh reads it in another way";

/** As `strangePart` for the parts of a word or of a here-document. */
export function strangeIn(parts: readonly WordPart[], quoted: boolean): Strange | null {
  const braces = quoted || parts.every(({ type }) => !EXPANSIONS.has(type))
    ? undefined
    : parts.find(({ type, text }) => type === "Literal" && /(?<!\\)[{}]/.test(text));
  if (braces) return { reason: "fish expands these braces", text: braces.text.slice(0, 200) };
  for (const [at, part] of parts.entries()) {
    const reason = whyStrange(part, at === 0, quoted);
    if (reason !== null) return { reason, text: part.text.slice(0, 200) };
    const inner = part.type === "DoubleQuoted" || part.type === "LocaleString"
      ? strangeIn(part.parts, true)
      : null;
    if (inner) return inner;
  }
  return null;
}

const EXPANSIONS = new Set<WordPart["type"]>([
  "SimpleExpansion",
  "ParameterExpansion",
  "CommandExpansion",
]);

function whyStrange(part: WordPart, is_first: boolean, quoted: boolean): string | null {
  const { text } = part;
  switch (part.type) {
    case "Literal":
      if (quoted) return null;
      if (escapes(text)) return ESCAPES;
      return !is_first && text.startsWith("~") ? "zsh reads a tilde behind an empty part" : null;
    case "SingleQuoted":
      return isOpenEnded(text) ? "fish reads on behind this quote" : null;
    case "AnsiCQuoted":
      return /\\'/.test(text) ? "dash ends the text at another quote" : null;
    case "ExtendedGlob":
      return PLAIN_GLOB.test(part.pattern) ? null : "zsh may run code in this glob";
    case "ParameterExpansion":
      if (!isPlainParameter(part)) return REPEATED;
      return !quoted && GROUPS.test(text.replace(QUOTED, "")) ? IN_BRACES : null;
    case "CommandExpansion":
      return text.startsWith("${") ? "shells read these braces differently" : null;
    case "ArithmeticExpansion":
      return isPlainArithmetic(text) ? null : REPEATED;
    default:
      return null;
  }
}

/** Whether zsh reads a part as an index or a modifier of the variable before it: `$list[1]`, `$f:r`. */
export function continues(part: WordPart, before: WordPart | undefined): boolean {
  return before?.type === "SimpleExpansion" && /^(\[|:[&A-Za-z])/.test(part.text);
}

/** Without a bar, zsh reads the parentheses at the end as qualifiers. */
const PLAIN_GLOB = /^[\w.*?/-]*(\|[\w.*?/-]*)+$/;

/** `\x2e` outside quotes: fish decodes it, the other shells drop the backslash. */
function escapes(text: string): boolean {
  return /\\[xXuUc0-7]/.test(text.replaceAll("\\\\", ""));
}

/** A parenthesis that begins no substitution: `${x==(command)}` runs the command in zsh. */
const GROUPS = /(?<![$(])\(/;
const IN_BRACES = "zsh may run code in these parentheses";

/** Whether an odd number of backslashes stands before the last quote, which fish then takes as text. */
function isOpenEnded(text: string): boolean {
  return (/\\+(?='$)/.exec(text)?.[0].length ?? 0) % 2 === 1;
}

const NAME = /^\$\{[#!]?(?:[A-Za-z_]\w*|\d+|[@*#?$!_-])/;
/** A number, a name, `@` or `*`, perhaps in quotes. */
const INDEX = /^(?:@|\*|-?\d+|"?\$?[A-Za-z_]\w*"?|"?\$\{\w+\}"?)$/;
const OFFSET = /^\s*(?:-?\d+|\(-\d+\)|\$[A-Za-z_]\w*|\$\{\w+\})\s*$/;

function isPlainParameter({ text, index, operation }: ParameterExpansionPart): boolean {
  if (!NAME.test(text) || (index && !INDEX.test(index.text))) return false;
  switch (operation?.type) {
    case undefined:
    case "Default":
    case "Remove":
    case "Replace":
    case "CaseModification":
      return true;
    case "Slice": {
      const { offset, length } = operation;
      return OFFSET.test(offset.text) && (!length || OFFSET.test(length.text));
    }
    case "Transform":
      return /^[QULuaEAKk]$/.test(operation.operand.text);
    default:
      return false;
  }
}

/** Whether an expression only has numbers, names, operators, and items of lists by such. */
export function isPlainArithmetic(text: string): boolean {
  return /^[\w\s$(){}+*/%<>=!&|^?:,.-]*$/.test(
    text.replace(/^\$\[|\]$/g, "").replace(/\w\[\$?\w+\]/g, "")
      .replace(/\$\([^()`]*\)|\$\{#?\w+(\[[@*]\])?\}|"/g, ""),
  );
}

/** A text that runs code where a shell computes with it: `a[$(code)]`. */
const PAYLOAD = /\w\[[^]*(?:\$[({]|`)/;

/** Whether a shell would run code in this value if it computed with it. */
export function hidesCode(value: string): boolean {
  return PAYLOAD.test(value);
}

/** Lists in which a shell keeps its functions, aliases, programs and options. */
const TABLES =
  /^(dis_)?(aliases|builtins|commands|functions|galiases|mapfile|modules|nameddirs|options|parameters|reswords|saliases|userdirs|widgets|keymaps|BASH_CMDS|BASH_ALIASES)$/;
/** Variables in small letters that change which programs and folders a shell finds, or what it calls. */
const SEARCHED =
  /^(path|cdpath|fpath|module_path|argv|(chpwd|precmd|preexec|periodic|zshexit|zshaddhistory|zsh_directory_name)_functions)$/;

/** Whether setting a variable changes what the commands after it mean. */
export function changesMeaning(name: string, is_list: boolean): boolean {
  return SEARCHED.test(name) || (is_list && TABLES.test(name));
}

/** Whether a word names such a table or an item of it: `functions[ls]`. */
export function namesTable(word: string): boolean {
  return TABLES.test(/^\w+(?=\[|$)/.exec(word)?.[0] ?? "");
}

/** Builtins that only one family of shells has, and that no program of the same name explains. */
const BUILTINS_OF_ONE = new Set(
  ("- abbr and argparse autoload begin bindkey block breakpoint bye chdir clone commandline comparguments " +
    "compadd compcall compctl compdescribe compfiles compgroups compquote compset comptags comptry " +
    "compvalues contains disable echotc echoti emit end fc fish_add_path foreach funced funcsave functions " +
    "getln isatty limit noglob nocorrect not or print private pushln r rehash repeat sched setcap setenv " +
    "string switch sysopen sysread sysseek syswrite syserror ttyctl unfunction unhash unlimit vared " +
    "whence where zcompile zcurses zdelattr zf_chgrp zf_chmod zf_chown zf_ln zf_mkdir zf_mv zf_rm zf_rmdir zf_sync " +
    "zformat zftp zgdbmpath zgetattr zle zlistattr zmodload zparseopts zprof zpty zregexparse zselect " +
    "zsetattr zsocket zstat zstyle zsystem ztcp ztie zuntie pcre_compile pcre_match pcre_study strftime " +
    "bind complete psub nextd prevd cdh dirh set_color math status always case do done elif else esac fi then in ]]")
    .split(" "),
);

/** Words before a command that leave it a command of the shell. */
const BEFORE = /^(builtin|command|exec|time|!|-.*)$/;

/** Whether a command is one of some shell's own that gate does not follow. */
export function isOfOneShell(argv: readonly string[]): boolean {
  const program = argv.find((word) => word === "-" || !BEFORE.test(word)) ?? "";
  return BUILTINS_OF_ONE.has(program) || /^[!{]./.test(program);
}
