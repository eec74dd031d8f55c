import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";

/** The page of an audit bundle in one file, with an empty place for the evidence. */
export async function buildEvidencePage(root: string): Promise<string> {
  const folder = join(root, "ui", "evidence");
  const page = await readFile(join(folder, "page.html"), "utf8");
  const [script, style] = await Promise.all([
    bundle(folder, "main.tsx"),
    bundle(folder, "styles.css"),
  ]);
  if (/<!--|<\/(?:script|style)/i.test(script + style)) {
    throw new Error(
      "Cannot build the page of a bundle: its code contains text that ends its HTML element",
    );
  }
  const policy = `default-src 'none'; script-src ${sourceOf(script)}; ` +
    `style-src ${sourceOf(style)}; base-uri 'none'; form-action 'none'`;
  const parts: [string, string][] = [
    ["default-src 'none'", policy],
    ['<link rel="stylesheet" href="styles.css">', `<style>${style}</style>`],
    ['<script src="main.tsx"></script>', `<script>${script}</script>`],
  ];
  return parts.reduce((text, [name, part]) => put(text, name, part), page);
}

function put(text: string, name: string, part: string): string {
  const [before, after, ...more] = text.split(name);
  if (after !== undefined && more.length === 0) return before + part + after;
  throw new Error(`Cannot build the page of a bundle: it must contain ${name} exactly once`);
}

async function bundle(folder: string, entry: string): Promise<string> {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: folder,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["es2023", "chrome120", "firefox121", "safari17.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "warning",
  });
  return outputFiles[0]!.text.trim();
}

function sourceOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
