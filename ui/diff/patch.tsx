import { Text } from "../parts/text.tsx";

const KINDS: Record<string, string> = { "+": "add", "-": "del", "@": "hunk" };

/** Shows a unified diff from the daemon. */
export function Patch({ text, caption }: { text: string; caption: string }) {
  const lines = text.replace(/\n$/, "").split("\n").filter((line) => !HEADER.test(line));
  return (
    <div class="diff diff-unified file">
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <colgroup>
          <col class="col-sign" />
          <col class="col-text" />
        </colgroup>
        <tbody>
          {lines.map((line, at) => (
            <tr key={at} class={`line-${KINDS[line[0] ?? ""] ?? "same"}`}>
              <td class="line-sign">{line[0] === "@" ? "" : line[0]}</td>
              <Text as="td" class="line-text" value={line[0] === "@" ? line : line.slice(1)} code />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const HEADER = /^(?:Index: |={5,}$|--- |\+\+\+ )/;
