import type { ActionDetail } from "../../server/actions/schema.ts";
import { bytesOf } from "../words.ts";
import { Path, Text } from "./text.tsx";

/** What is no text cannot be read here; its size and hash say whether it is the right one. */
export function Opaque({ detail }: { detail: ActionDetail }) {
  const rows = [
    { name: "Now", side: detail.before, hash: detail.before_sha256 },
    { name: "After", side: detail.after, hash: detail.after_sha256 },
  ];
  return (
    <section class="file" aria-label="What changes">
      <header class="file-head">
        <span class="code-text">{detail.path !== null && <Path value={detail.path} />}</span>
        <span class="figure-fact">
          {isLargeText(detail) ? "too large to show here" : "not text: told by size and hash"}
        </span>
      </header>
      <table class="opaque">
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col" class="opaque-size">Size</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, side, hash }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{side ? bytesOf(side.bytes) : "no file"}</td>
              <td class="code-text hash">{hash ?? "none"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A move keeps the content: what counts is which path goes and which one comes. */
export function Moved({ detail }: { detail: ActionDetail }) {
  return (
    <section class="file" aria-label="What changes">
      <table class="opaque moved">
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col">Path</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          {detail.changes.map((change) => (
            <tr key={change.path}>
              <th scope="row">{wordOf(change)}</th>
              <td class="code-text">
                <Text value={change.path} />
              </td>
              <td class="code-text">{change.after_sha256 ?? change.before_sha256}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function wordOf(change: ActionDetail["changes"][number]): string {
  if (change.before_sha256 === null) return "Comes";
  return change.after_sha256 === null ? "Goes" : "Changes";
}

/** Whether a text is too large for the daemon to hand out: more than a megabyte. */
export function isLargeText({ before, after }: ActionDetail): boolean {
  return Math.max(before?.bytes ?? 0, after?.bytes ?? 0) > 1024 * 1024;
}
