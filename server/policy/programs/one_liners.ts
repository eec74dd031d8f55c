const listed = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Perl's words that compute, print or repeat; a bare word beyond them may be a file or a call. */
const PERL = listed(
  "print printf my if else elsif unless while until for foreach last next and or not x eq ne lt gt le ge cmp " +
    "join reverse sort map grep length substr index rindex uc lc ucfirst lcfirst sprintf abs int sqrt sin cos " +
    "atan2 exp log hex oct push pop shift unshift scalar defined undef time localtime gmtime rand STDOUT STDERR",
);

const PERL_TEXT = /'(?:[^'\\]|\\[\\'])*'|"(?:[^"\\$@]|\\[nt\\"$@]|\$\w+(?![\w[{(:>-]))*"/g;

/**
 * Whether Perl code only computes and prints. A name has a sigil and is declared by `my`, so nothing
 * reads the environment, another variable of Perl, a file or a symbol by its name.
 */
export function isComputingPerl(code: string): boolean {
  // A line that begins with "=" begins a comment of many lines, in which quotes are no quotes.
  if (/^=/m.test(code)) return false;
  const texts = code.match(PERL_TEXT) ?? [];
  const bare = code.replace(PERL_TEXT, '""');
  // In `$a'b` and `$"` the quote belongs to the name.
  if (/[\w$@%&*\\]""/.test(bare)) return false;
  const names = [...bare.matchAll(/\bmy\s*\(?\s*((?:[$@]\w+[\s,]*)+)/g)]
    .flatMap(([, list]) => list!.match(/\w+/g) ?? []);
  // Perl's own variables have capital letters: `my $ENV` declares no `$ENV{X}`.
  const own = new Set([...names.filter((name) => /^[a-z]/.test(name)), "_", "a", "b"]);
  const used = [...bare.matchAll(/[$@](\w+)/g), ...texts.join("").matchAll(/(?<!\\)\$(\w+)/g)];
  if (used.some(([, name]) => !own.has(name!))) return false;
  // Each value is now "0". A sign between two values is an operator; elsewhere it may begin a name, a
  // pattern or the name of a file.
  const values = bare.replaceAll('""', "0").replace(/[$@]\w+|\b(?:0x)?\d[\d_.]*(?:e\d+)?\b/g, "0");
  const plain = values.replace(/(?<=[0)])\s*(?:\*\*?|%|\/|&&|<=>|<=?)\s*(?=[0(])/g, " ");
  if (/["'$@%&`\\#~?:*/<]|->|-\s*[A-Za-z]|[^\s!-~]/.test(plain)) return false;
  // `sort $x 1, 2` calls the function that the text in $x names.
  if (/\bsort\s*[(\s]*\$/.test(bare)) return false;
  return [...plain.matchAll(/[A-Za-z_]\w*/g)].every(([word]) => PERL.has(word));
}

/** Ruby's words that compute, print or repeat. None calls a method by a computed name. */
const RUBY = listed(
  "puts print p if else elsif unless end while until do then true false nil and or not for in times map each " +
    "select reject sum min max sort reverse join split length size upcase downcase capitalize to_s to_i to_f to_a " +
    "first last uniq flatten upto downto abs floor ceil round Math sqrt PI Time now RUBY_VERSION RUBY_PLATFORM",
);

const RUBY_TEXT = /'(?:[^'\\]|\\[\\'])*'|"(?:[^"\\#]|\\[nt\\"])*"/g;

/** Whether Ruby code only computes and prints. Names of its own have one letter, as no method has. */
export function isComputingRuby(code: string): boolean {
  const bare = code.replace(RUBY_TEXT, '""');
  // A slash after a value divides; elsewhere it begins a pattern, in which quotes are no quotes.
  const plain = bare.replaceAll('""', "").replace(/\{\s*\|[\w, ]+\|/g, "")
    .replace(/[\d)\]][ \t]*\/|\b[a-oq-z][ \t]*\/(?=\s)/g, "0");
  if (/["'`$@#\\?:%&~{/]|->|<<|[^\s!-~]/.test(plain)) {
    return false;
  }
  return [...bare.matchAll(/[A-Za-z_]\w*[!?]?/g)]
    .every(([word]) => RUBY.has(word) || /^[a-oq-z]$/.test(word));
}
