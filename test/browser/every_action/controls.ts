import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Node, readSource, textOf } from "../../architecture/source.ts";

const UI = fileURLToPath(new URL("../../../ui", import.meta.url));
/** Elements and components that a person acts on. */
const CONTROLS =
  /^(button|select|input|textarea|summary|Button|Segmented|Choice|CopyButton|LineForm|TextField|SelectField|PassphraseField|TypedField|EndField|RepairButton|More)$/;
/** Their names, the best first. */
const NAMES = ["aria-label", "label", "title", "name", "verb", "placeholder", "id"];
/** The folders of parts that others use, and the page of a bundle, which no daemon serves. */
const ASIDE = /^(parts|evidence)\//;

/** Each control and key of the dashboard's source: `approvals/queue: Show all`, `main: key ?`. */
export function listControls(): string[] {
  const files = readdirSync(UI, { recursive: true, encoding: "utf8" });
  const found = files.filter((file) => /\.tsx?$/.test(file) && !ASIDE.test(file))
    .flatMap((file) =>
      controlsOf(join(UI, file)).map((one) => `${file.replace(/\.tsx?$/, "")}: ${one}`)
    );
  return [...new Set(found)].sort();
}

function controlsOf(file: string): string[] {
  const found: string[] = [];
  const source = readSource(file, readFileSync(file, "utf8"));
  source.walk((node) => {
    if (node.type === "JSXElement") found.push(...nameOf(node));
    if (node.type === "CallExpression" && (node.callee as Node).name === "bind") {
      found.push(...keysOf(node.arguments as Node[]));
    }
    if (node.type === "ObjectExpression") found.push(...keyOf(node.properties as Node[]));
  });
  return found;
}

function nameOf(element: Node): string[] {
  const { name, attributes } = element.openingElement as { name: Node; attributes: Node[] };
  if (typeof name.name !== "string" || !CONTROLS.test(name.name)) return [];
  const own = attributes.filter(({ type }) => type === "JSXAttribute");
  const words = textIn(element.children as Node[]);
  if (words !== "") return [words];
  const texts = NAMES.map((wanted) =>
    own.find((one) => (one.name as Node).name === wanted)?.value as Node | undefined
  ).filter((value) => value !== undefined).map(valueOf);
  return [texts.find((text) => text !== "…") ?? `<${name.name}>`];
}

/** The text of an element; an expression is "…". */
function textIn(children: Node[]): string {
  const texts = children.map((child) => {
    if (child.type === "JSXText") return String(child.value);
    if (child.type === "JSXExpressionContainer") {
      const inner = child.expression as Node;
      return inner.type === "JSXEmptyExpression" ? "" : expressionOf(inner);
    }
    if (child.type !== "JSXElement") return "";
    const { name } = child.openingElement as { name: Node };
    if (name.name === "Text") return "…";
    if (name.name === "Icon" || name.name === "Key" || name.name === "option") return "";
    return textIn(child.children as Node[]);
  });
  return texts.join("").replace(/\s+/g, " ").replace(/…( ?…)+/g, "…").trim();
}

function valueOf(value: Node): string {
  if (value.type !== "JSXExpressionContainer") return textOf(value) ?? "…";
  return expressionOf(value.expression as Node);
}

function expressionOf(node: Node): string {
  const text = textOf(node);
  if (text !== null) return text === " " ? " " : text.replaceAll("?", "…");
  if (node.type !== "ConditionalExpression") return "…";
  const ways = [node.consequent, node.alternate].map((one) => textOf(one as Node));
  return ways.every((way) => way !== null) ? ways.join(" | ").replaceAll("?", "…") : "…";
}

function keysOf(given: Node[]): string[] {
  return given.slice(1).flatMap((row) => {
    const [key] = (row.elements ?? []) as Node[];
    const text = key ? textOf(key) : null;
    return text === null ? [] : [`key ${text}`];
  });
}

/** An object with a key, such as a span of a snooze. */
function keyOf(properties: Node[]): string[] {
  const valueFor = (name: string) => {
    const found = properties.find((one) => (one.key as Node | undefined)?.name === name);
    return found ? textOf(found.value as Node) : null;
  };
  const keys = valueFor("keys");
  return keys !== null && valueFor("label") !== null ? [`key ${keys}`] : [];
}
