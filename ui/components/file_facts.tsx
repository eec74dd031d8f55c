import type { ActionDetail } from "../../server/actions/schema.ts";
import { bytesOf } from "../words.ts";
import type { FileChange } from "./file_diff.tsx";
import { Path, Text } from "./text.tsx";

/** What is no text cannot be read here; its size and hash say whether it is the right one. */
export function Opaque({ file }: { file: FileChange }) {
  const rows = [
    { name: "Now", side: file.before, hash: file.before_sha256 },
    { name: "After", side: file.after, hash: file.after_sha256 },
  ];
  return (
    <section class="file" aria-label="What changes">
      <header class="file-head">
        <span class="code-text">{file.path !== null && <Path value={file.path} />}</span>
        <span class="figure-fact">
          {isLargeText(file) ? "too large to show here" : "not text: told by size and hash"}
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

/** Of a move, and of a command that has run, what counts is which paths come, go and change. */
export function Moved({ detail }: { detail: ActionDetail }) {
  return (
    <section class="file" aria-label={detail.command === null ? "What changes" : "What it changed"}>
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
              <td class="code-text hash">{change.after_sha256 ?? change.before_sha256}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function wordOf(change: ActionDetail["changes"][number]): string {
  if (change.before_sha256 === null) return "New";
  return change.after_sha256 === null ? "Gone" : "Changed";
}

/** Whether a text is too large for the daemon to hand out: more than a megabyte, or with others. */
export function isLargeText({ before, after, is_left_out }: FileChange): boolean {
  return is_left_out === true || Math.max(before?.bytes ?? 0, after?.bytes ?? 0) > 1024 * 1024;
}
