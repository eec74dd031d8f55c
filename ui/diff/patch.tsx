import { Text } from "../parts/text.tsx";

const KINDS: Record<string, string> = { "+": "add", "-": "del", "@": "hunk" };

/** Shows a unified diff from the daemon. */
export function Patch({ text, caption }: { text: string; caption: string }) {
  return (
    <div class="diff diff-unified file">
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <colgroup>
          <col class="col-number" />
          <col class="col-number" />
          <col class="col-sign" />
          <col class="col-text" />
        </colgroup>
        <tbody>
          {rowsOf(text).map(({ sign, before, after, text }, at) => (
            <tr key={at} class={`line-${KINDS[sign] ?? "same"}`}>
              <td class="line-number">{before}</td>
              <td class="line-number">{after}</td>
              <td class="line-sign">{sign === "@" ? "" : sign}</td>
              <Text as="td" class="line-text" value={text} code />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** One line of a patch, with its number in each version that has it. */
interface Row {
  sign: string;
  before: number | null;
  after: number | null;
  text: string;
}

/** The lines of a patch without its file names, which stand above its first hunk. */
export function rowsOf(patch: string): Row[] {
  let [before, after] = [0, 0];
  const lines = patch.replace(/\n$/, "").split("\n");
  // Below, "--- x" is the removed line "-- x".
  return lines.slice(Math.max(0, lines.findIndex((line) => HUNK.test(line)))).map((line) => {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      return { sign: "@", before: null, after: null, text: line };
    }
    const sign = line[0] ?? "";
    // "\ No newline at end of file" is no line of the file.
    const isNote = sign === "\\";
    return {
      sign,
      before: isNote || sign === "+" ? null : before++,
      after: isNote || sign === "-" ? null : after++,
      text: line.slice(1),
    };
  });
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;
