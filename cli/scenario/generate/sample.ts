import type { Schema } from "./operation.ts";
import { isObject } from "../json.ts";

/** The deepest nesting of a sample. */
const DEPTH = 6;
/** The most properties of an object, so that scenarios stay readable. */
const PROPERTIES = 40;
/** The most schemas that one sample follows: references may be circular, or double at each level. */
const SCHEMAS = 2_000;

/** One walk through a schema. */
interface Walk {
  resolve: (value: unknown) => Schema;
  /** How many schemas may still be followed. */
  left: number;
}

/**
 * A value that fits a schema: its example, constant, default or first enum value, else the smallest
 * value that its rules allow. The same schema gives the same value.
 */
export function sampleOf(schema: unknown, resolve: (value: unknown) => Schema): unknown {
  return sampleAt(schema, { resolve, left: SCHEMAS }, 0);
}

function sampleAt(schema: unknown, walk: Walk, depth: number): unknown {
  if (walk.left-- <= 0) return {};
  const one = walk.resolve(schema);
  const given = givenValue(one);
  if (given !== undefined) return given;
  const all = Array.isArray(one.allOf) ? one.allOf : [];
  const choice = [one.oneOf, one.anyOf].find((list) => Array.isArray(list) && list.length > 0);
  if (choice && !one.properties) return sampleAt((choice as unknown[])[0], walk, depth + 1);
  if (all.length > 0) return mergeSamples([...all, { ...one, allOf: undefined }], walk, depth);
  return byType(typeOf(one), one, walk, depth);
}

/** The type of a schema, or the type that its keywords imply. */
export function typeOf(schema: Schema): string {
  const { type } = schema;
  if (typeof type === "string") return type;
  if (Array.isArray(type)) return String(type.find((name) => name !== "null") ?? "null");
  if (isObject(schema.properties)) return "object";
  return schema.items ? "array" : "string";
}

/** True for a string without an enum, a format or a pattern. */
export function isFreeText(schema: Schema): boolean {
  return typeOf(schema) === "string" && !schema.enum && !schema.format && !schema.pattern;
}

/** True when the schema excludes this text as the value of a path or query parameter. */
export function isRuledOut(schema: Schema, text: string): boolean {
  const type = typeOf(schema);
  if (Array.isArray(schema.enum)) return !schema.enum.map(String).includes(text);
  if (type === "integer" || type === "number") {
    const { minimum = -Infinity, maximum = Infinity } = schema;
    return Number(text) < Number(minimum) || Number(text) > Number(maximum);
  }
  if (type !== "string") return true;
  const { minLength = 0, maxLength = Infinity, format, pattern } = schema;
  return text.length < Number(minLength) || text.length > Number(maxLength) ||
    (typeof format === "string" && !(format === "uuid" && UUID.test(text))) ||
    (typeof pattern === "string" && !matches(pattern, text));
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * A hostile pattern may backtrack for hours, so only simple patterns are tried. Others count as not
 * matching.
 */
function matches(pattern: string, text: string): boolean {
  const isPlain = !/\)[*+?{]|\\[1-9k]/.test(pattern) &&
    (pattern.match(/[*+?{]/g) ?? []).length <= 4;
  try {
    return isPlain && new RegExp(pattern, "u").test(text);
  } catch {
    return false;
  }
}

function givenValue(schema: Schema): unknown {
  if (schema.example !== undefined) return schema.example;
  if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  return Array.isArray(schema.enum) && schema.enum.length > 0 ? schema.enum[0] : undefined;
}

function byType(
  type: string,
  schema: Schema,
  walk: Walk,
  depth: number,
): unknown {
  switch (type) {
    case "object":
      return depth >= DEPTH ? {} : objectOf(schema, walk, depth);
    case "array": {
      const least = depth >= DEPTH ? 0 : Math.min(3, Math.max(1, Number(schema.minItems) || 0));
      return Array.from({ length: least }, () => sampleAt(schema.items, walk, depth + 1));
    }
    case "integer":
    case "number":
      return numberOf(schema);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return stringOf(schema);
  }
}

function objectOf(schema: Schema, walk: Walk, depth: number) {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const names = Object.keys(properties).filter((name) => required.has(name) || depth < 2);
  const entries = names
    .filter((name) => walk.resolve(properties[name]).readOnly !== true)
    .slice(0, PROPERTIES)
    .map((name) => [name, usualFor(name, sampleAt(properties[name], walk, depth + 1))]);
  // A map without an entry is often refused.
  const { additionalProperties } = schema;
  if (Object.keys(properties).length === 0 && isObject(additionalProperties)) {
    return { sample: sampleAt(additionalProperties, walk, depth + 1) };
  }
  return Object.fromEntries(entries);
}

const END = /^(end|ends|expires?|until|valid_?(to|until)|due|deadline)(_?(at|on|date|time))?$/i;

/** A right that an ordinary request does not ask for. */
const RIGHT = /^(is_?)?(admin|staff|super_?user|root)$/i;

/** An end that is after every other sample of a time, and after today; a right that is not given. */
export function usualFor(name: string, value: unknown): unknown {
  if (value === true && RIGHT.test(name)) return false;
  return END.test(name) && typeof value === "string" && value.startsWith(FORMATS.date!)
    ? value.replace(FORMATS.date!, "2099-12-31")
    : value;
}

function mergeSamples(parts: unknown[], walk: Walk, depth: number) {
  const samples = parts.map((part) => sampleAt(part, walk, depth + 1)).filter(isObject);
  return Object.assign({}, ...samples);
}

function numberOf(schema: Schema): number {
  const least = Number(schema.minimum ?? schema.exclusiveMinimum ?? 1);
  const most = Number(schema.maximum ?? schema.exclusiveMaximum ?? Infinity);
  const isOpen = typeof schema.exclusiveMinimum === "number" || schema.exclusiveMinimum === true;
  const value = (Number.isFinite(least) ? least : 1) + (isOpen ? 1 : 0);
  return value > most ? most : value;
}

const FORMATS: Record<string, string> = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  email: "user@example.com",
  uuid: "00000000-0000-4000-8000-000000000001",
  uri: "https://example.com/",
  url: "https://example.com/",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  byte: "Z2F0ZQ==",
  binary: "data",
  password: "correct horse battery",
};

/** A pattern that names fixed words: `password`, `^password$`, `^(asc|desc)$`. */
const WORDS = /^\^?\(?(?:\?:)?([\w -]+)(?:\|[\w |-]*)?\)?\$?$/;

function stringOf(schema: Schema): string {
  const word = WORDS.exec(String(schema.pattern ?? ""))?.[1];
  if (word !== undefined) return word;
  const base = FORMATS[String(schema.format)] ?? "sample";
  const least = Math.min(4_096, Number(schema.minLength) || 0);
  const most = Math.max(0, Number(schema.maxLength ?? Infinity));
  return base.padEnd(least, "x").slice(0, most);
}
