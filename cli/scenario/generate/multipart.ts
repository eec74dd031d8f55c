import { isObject } from "../json.ts";

const BOUNDARY = "----part-of-a-scenario";
/** The content type of a form with files. */
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** A file in a form. */
export interface FilePart {
  filename: string;
  type: string;
  content: string;
}

/** The head of a picture, in printable characters so that it can stand in a script. */
const PICTURE: FilePart = {
  filename: "sample.gif",
  type: "image/gif",
  content: "GIF89a0000000;",
};
const TEXT: FilePart = { filename: "sample.txt", type: "text/plain", content: "sample\n" };
const IS_PICTURE = /image|picture|photo|avatar|logo|icon|thumbnail/i;

/** True for a form with files. */
export function isForm(content_type: string): boolean {
  return /^multipart\/form-data/i.test(content_type);
}

/** True for the schema of a file. */
export function isFile({ type, format, contentMediaType }: Record<string, unknown>): boolean {
  return type === "file" || format === "binary" || typeof contentMediaType === "string";
}

/** True for a field whose file is a picture, as its name says. */
export function isPicture(name: string): boolean {
  return IS_PICTURE.test(name);
}

/** The sample of a form with a file in the place of each binary text. */
export function withFiles(sample: unknown, { properties }: Record<string, unknown>): unknown {
  if (!isObject(sample) || !isObject(properties)) return sample;
  return Object.fromEntries(
    Object.entries(sample).map(([name, value]) => {
      const schema = isObject(properties[name]) ? properties[name] : {};
      const items = isObject(schema.items) ? schema.items : {};
      const file = IS_PICTURE.test(name) ? PICTURE : TEXT;
      if (isFile(schema)) return [name, file];
      return [name, isFile(items) ? [file] : value];
    }),
  );
}

/** The parts of a form, with the text of each plain value. */
export function encodeForm(sample: object, plain: (value: unknown) => string): string {
  const parts = Object.entries(sample).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => part(name, one, plain))
  );
  return [...parts, `--${BOUNDARY}--\r\n`].join("");
}

function part(name: string, value: unknown, plain: (value: unknown) => string): string {
  const file = isObject(value) && typeof value.filename === "string" ? value : null;
  const head = file ? `; filename="${file.filename}"\r\nContent-Type: ${file.type}` : "";
  const content = file ? String(file.content) : plain(value);
  const field = name.replaceAll(/["\r\n]/g, "_");
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${field}"${head}\r\n\r\n${content}\r\n`;
}
