import { Hono } from "hono";
import { html } from "hono/html";
import { isAllowed, isPublic } from "./auth/scopes.ts";
import { listOperations, type Operation } from "./route.ts";
import { createOpenApi } from "./openapi_document.ts";

const STYLE = `
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 0.25rem 0.75rem 0.25rem 0; vertical-align: top; }
code { font-family: ui-monospace, monospace; }
`;

/** `/api/openapi.json` and `/docs`, generated from the routes. */
export function createDocs(routes: Parameters<typeof listOperations>[0]) {
  const operations = listOperations(routes);
  let document: Record<string, unknown> | null = null;
  return new Hono()
    .get("/api/openapi.json", (c) => c.json(document ??= createOpenApi(operations)))
    .get("/docs", (c) => c.html(page(operations)))
    .get("/docs/style.css", (c) => c.body(STYLE, 200, { "content-type": "text/css" }));
}

function page(operations: readonly Operation[]) {
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>HTTP API · gate</title>
        <link rel="stylesheet" href="/docs/style.css">
      </head>
      <body>
        <h1>The HTTP API of gate</h1>
        <p>Send <code>Authorization: Bearer …</code> with what <code>gate token</code> prints, or use
    <code>gate api GET /api/actions</code>. The whole contract is the OpenAPI 3.1 document at
    <code>/api/openapi.json</code>.</p>
        <table>
          <thead>
            <tr>
              <th>Route</th>
              <th>Purpose</th>
              <th>Who</th>
            </tr>
          </thead>
          <tbody>
    ${operations.map(row)}
          </tbody>
        </table>
      </body>
    </html>
  `;
}

function row(operation: Operation) {
  const { method, path, summary } = operation;
  return html`
    <tr>
      <td><code>${method} ${path}</code></td>
      <td>${summary}</td>
      <td>${who(operation)}</td>
    </tr>
  `;
}

function who({ method, path }: Operation): string {
  if (isPublic(method, path)) return "everybody";
  const example = path.replaceAll(/\{\w+\}/g, "x");
  const agent = isAllowed("agent", method, example) ? ["agent"] : [];
  const viewer = isAllowed("viewer", method, example) ? ["viewer"] : [];
  return [...agent, ...viewer, "reviewer"].join(", ");
}
