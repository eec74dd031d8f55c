/** The entries of a git config file, in its order: the key in lower case but for its subsection. */
export function readGitConfig(text: string): [key: string, value: string][] | null {
  const entries: [string, string][] = [];
  let section = "";
  for (const line of text.replace(/\\\r?\n/g, "").split(/\r?\n/)) {
    const plain = line.trim();
    if (plain === "" || plain.startsWith("#") || plain.startsWith(";")) continue;
    const head = /^\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)$/.exec(plain);
    if (head) {
      section = head[1]!.toLowerCase() + (head[2] === undefined ? "" : `.${head[2]}`);
      // Git reads an entry after the bracket too.
      if (head[3]!.trim() !== "" && !/^\s*[#;]/.test(head[3]!)) return null;
      continue;
    }
    const entry = /^([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$/.exec(plain);
    if (!entry || section === "") return null;
    entries.push([`${section}.${entry[1]!.toLowerCase()}`, entry[2] ?? "true"]);
  }
  return entries;
}
