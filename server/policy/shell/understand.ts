import { forEachChild, parse, type SyntaxNode, type Word } from "unbash";
import { ANY, SPLIT } from "../holes.ts";
import { readCommand } from "./grammar.ts";
import { hasStrayOpener, refuseText } from "./guards.ts";
import { baseName } from "./rules.ts";
import type { Understanding, Unit } from "./unit.ts";

/** What a command is understood against. */
export interface Setting {
  cwd: string;
  user_home: string;
}

/** Reads a command: what runs, what is touched, what nobody can know. Never throws. */
export function understand(source: string, _setting: Setting): Understanding {
  const found: Understanding = { units: [], effects: [], doubts: [], unresolved: [] };
  const refused = refuseText(source);
  if (refused) return doubt(found, refused, source);
  const script = parse(source);
  if (script.errors?.length) return doubt(found, "it cannot be read as a command", source);
  if (hasStrayOpener(source, script)) doubt(found, "quoted text may be run a second time", source);
  visit(script, found);
  return found;
}

function doubt(found: Understanding, reason: string, text: string): Understanding {
  found.doubts.push({ reason, text, effect: "ask" });
  return found;
}

function visit(node: SyntaxNode, found: Understanding): void {
  if (node.type === "Command" && node.name) {
    const words = [node.name, ...node.suffix.filter((one) => one.type === "Word")];
    const argv = words.map((word) => valueOf(word as Word));
    if (/[\uFDD0-\uFDD6]/.test(argv[0]!)) doubt(found, "the program is not known", node.name.text);
    found.units.push(toUnit(argv));
  }
  forEachChild(node, (child) => visit(child, found));
}

function valueOf(word: Word): string {
  const parts = word.parts ?? [];
  const known = ["Literal", "SingleQuoted", "AnsiCQuoted", "Glob"];
  if (parts.every((part) => known.includes(part.type))) return word.value;
  const quoted = parts.every((part) => part.type === "DoubleQuoted");
  const plain = quoted &&
    parts.every((part) =>
      part.type === "DoubleQuoted" && part.parts.every((child) => child.type === "Literal")
    );
  return plain ? word.value : quoted ? ANY : SPLIT;
}

function toUnit(argv: string[]): Unit {
  const read = readCommand(baseName(argv[0]!), argv.slice(1));
  return { argv, read, pipes: [], passive: false };
}
