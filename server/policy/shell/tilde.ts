import type { Word, WordPart } from "unbash";
import { ANY } from "../holes.ts";
import type { Shell } from "./state.ts";

/** The beginning of a word of a command, with the home that `~` means in it. */
export function tildeInWord(value: string, text: string, shell: Shell): string {
  // Bash takes `of=~/x` for an assignment even among the arguments of a program.
  const { length } = shell.plain ? "" : /^[A-Za-z_]\w*\+?=/.exec(text)?.[0] ?? "";
  return value.slice(0, length) + tilde(value.slice(length), text.slice(length), shell);
}

/** A value that is assigned, such as `~/a:~/b`, with the homes that `~` means in it. */
export function homesIn(word: Word, shell: Shell): Word {
  if (!/(?:^|:)~/.test(word.text)) return word;
  const { type, pos, end, text, value } = word;
  const parts = word.parts ?? [{ type: "Literal", pos, end, text, value } as const];
  const homes = parts.map((part, at) => withHomes(part, at === 0, shell));
  return { type, pos, end, text, value, parts: homes };
}

function withHomes(part: WordPart, isFirst: boolean, shell: Shell): WordPart {
  if (part.type !== "Literal") return part;
  const texts = part.text.split(":");
  const values = part.value.split(":").map((value, at) =>
    at > 0 || isFirst ? tilde(value, texts[at] ?? "", shell) : value
  );
  return { ...part, value: values.join(":") };
}

function tilde(value: string, text: string, shell: Shell): string {
  if (!text.startsWith("~")) return value;
  const name = /^~[^/]*/.exec(value)![0];
  const rest = value.slice(name.length);
  if (name === "~") return shell.valuesOf("HOME")[0]! + rest;
  return (name === "~+" ? shell.cwd : ANY) + rest;
}
