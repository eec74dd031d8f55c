import { quote } from "../shown/quote.ts";

/** How a text of an input is read: as a command, as code or other words for a program, or as text. */
export type TextKind = "command" | "code" | "path" | "text";

/** One text of an input. */
export interface Place {
  text: string;
  kind: TextKind;
  /** Its keys, for a person: `files[0].path`. */
  where: string;
}

/** The input is larger than anything that can be searched. */
export class TooMuch extends Error {}

const LIMITS = { depth: 40, texts: 8_000, chars: 4 * 1024 * 1024, json: 256 * 1024 };

const COMMAND = /^(command|commands|cmd|cmds|commandline|shell|bash|sh|exec|argv)$/;
const CODE =
  /^(args|arguments|script|scripts|code|stdin|chars|input|run|program|executable|expression|function|line|lines|snippet|source|eval|text_to_send|keys|entrypoint|hook|patch|diff)$/;
const PATH =
  /(^|[_-])(path|paths|file|files|filename|filenames|filepath|filepaths|dir|dirs|directory|directories|folder|folders|cwd|workdir|root|uri|uris|src|dest|destination|target|targets|from|to|location|output|old_path|new_path)$/;

/** Every text of the input, keys included. @throws TooMuch */
export function textsOf(input: unknown): Place[] {
  const places: Place[] = [];
  let chars = 0;
  const add = (place: Place) => {
    chars += place.text.length;
    if (places.length >= LIMITS.texts) throw new TooMuch(`it has over ${LIMITS.texts} texts`);
    if (chars > LIMITS.chars) throw new TooMuch(`it is over ${LIMITS.chars} characters`);
    places.push(place);
  };
  const walk = (value: unknown, kind: TextKind, where: string, depth: number): void => {
    if (depth > LIMITS.depth) throw new TooMuch("it nests too deep");
    if (typeof value === "string") addText(value, kind, where, depth);
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) return walkList(value, kind, where, depth);
    for (const [key, entry] of Object.entries(value)) {
      // A key may itself name a file: { "src/a.ts": "its content" }.
      if (/[/\\~.%]/.test(key)) add({ text: key, kind: "path", where });
      walk(
        entry,
        kindOf(key, kind),
        where === "" ? key : `${where}.${key}`.slice(0, 200),
        depth + 1,
      );
    }
    const line = commandLineOf(value as Record<string, unknown>);
    if (line !== null) add({ text: line, kind: "command", where });
  };
  const walkList = (list: unknown[], kind: TextKind, where: string, depth: number): void => {
    const isWords = list.length > 1 && list.every((word) => typeof word === "string");
    if (isWords && kind !== "text" && kind !== "path") {
      add({ text: list.map((one) => quote(String(one))).join(" "), kind, where });
    }
    const each = isWords && kind === "command" ? "code" : kind;
    for (const [i, entry] of list.entries()) walk(entry, each, `${where}[${i}]`, depth + 1);
  };
  const addText = (text: string, kind: TextKind, where: string, depth: number): void => {
    add({ text, kind, where });
    if (!/^\s*[{[]/.test(text) || text.length > LIMITS.json) return;
    try {
      walk(JSON.parse(text), kind, where, depth + 1);
    } catch (error) {
      if (error instanceof TooMuch) throw error;
    }
  };
  walk(input, "text", "", 0);
  return places;
}

function kindOf(key: string, above: TextKind): TextKind {
  const name = key.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
  if (COMMAND.test(name)) return "command";
  if (CODE.test(name)) return "code";
  if (PATH.test(name)) return "path";
  return above === "command" ? "code" : above;
}

/** The command line of a program and its arguments, as servers of tools often take them. */
function commandLineOf(value: Record<string, unknown>): string | null {
  const entries = Object.entries(value);
  const program = entries.find(([key, one]) =>
    /^(command|cmd|program|executable|file|bin|binary)$/i.test(key) && typeof one === "string"
  )?.[1];
  const args = entries.find(([key, one]) =>
    /^(args|argv|arguments|params|parameters)$/i.test(key) &&
    (Array.isArray(one) || typeof one === "string")
  )?.[1];
  if (program === undefined || args === undefined) return null;
  const words = Array.isArray(args)
    ? args.filter((one) => typeof one === "string" || typeof one === "number").map((one) =>
      quote(String(one))
    )
    : [String(args)];
  return [String(program), ...words].join(" ");
}
