import type { FileDiff } from "../../server/sessions/schema.ts";

/** A folder with the files and folders that changed in it. */
export interface Folder {
  /** Its path from the folder above, which may have several names. */
  name: string;
  folders: Folder[];
  files: { name: string; file: FileDiff }[];
}

/** Sorts files into their folders. A folder that holds only one folder is joined with it. */
export function treeOf(files: readonly FileDiff[]): Folder {
  const root: Folder = { name: "", folders: [], files: [] };
  for (const file of files) {
    const names = file.path.split("/");
    const name = names.pop()!;
    let at = root;
    for (const folder of names) {
      let next = at.folders.find((one) => one.name === folder);
      if (!next) at.folders.push(next = { name: folder, folders: [], files: [] });
      at = next;
    }
    at.files.push({ name, file });
  }
  return joined(root);
}

/** The files in the order in which the tree shows them. */
export function listOf({ folders, files }: Folder): FileDiff[] {
  return [...folders.flatMap(listOf), ...files.map(({ file }) => file)];
}

function joined(folder: Folder): Folder {
  const folders = folder.folders.map(joined).map((one) => {
    const [only, ...more] = one.folders;
    if (!only || more.length > 0 || one.files.length > 0) return one;
    return { ...only, name: `${one.name}/${only.name}` };
  });
  return { ...folder, folders: folders.toSorted((a, b) => a.name < b.name ? -1 : 1) };
}
