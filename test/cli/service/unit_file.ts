/** A parsed unit file: section → key → values in order. */
export type UnitFile = Record<string, Record<string, string[]>>;

/** Parses a unit as systemd.syntax(7) describes. @throws Error for an invalid line */
export function parseUnit(text: string): UnitFile {
  const unit: UnitFile = {};
  let section: Record<string, string[]> | undefined;
  for (const line of text.split("\n")) {
    if (line.trim() === "" || /^[#;]/.test(line)) continue;
    const head = /^\[([A-Za-z]+)\]$/.exec(line);
    if (head) {
      section = unit[head[1]!] ??= {};
      continue;
    }
    const pair = /^([A-Za-z]+)=(.*)$/.exec(line);
    if (!pair || !section) throw new Error(`no unit has this line: ${line}`);
    (section[pair[1]!] ??= []).push(pair[2]!);
  }
  return unit;
}

/** Splits a command line as systemd does. @throws Error for unbalanced quotes */
export function wordsOf(value: string): string[] {
  const words: string[] = [];
  const rest = /\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))/gy;
  while (rest.lastIndex < value.length) {
    const match = rest.exec(value);
    if (!match) throw new Error(`no command has these quotes: ${value}`);
    words.push(unescape(match[1] ?? match[2]!));
  }
  // systemd does not expand variables in the program name.
  const [program = "", ...args] = words.map((word) => word.replaceAll("%%", "%"));
  return [program, ...args.map((arg) => arg.replaceAll("$$", "$"))];
}

/** The variable that an `Environment=` line sets. */
export function variableOf(value: string): [name: string, value: string] {
  const inner = value.startsWith('"') ? value.slice(1, -1) : value;
  const text = unescape(inner).replaceAll("%%", "%");
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/g, "$1");
}
