/** The absolute form of a path as the command sees it, `.` and `..` folded. */
export function absolutePath(path: string, cwd: string): string {
  const full = path.startsWith("/") ? path : `${cwd}/${path}`;
  if (!/\/\.{0,2}(\/|$)/.test(full)) return full;
  const names: string[] = [];
  for (const name of full.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.length === 0 || !/[\uFDD0\uFDD1\uFDD3]/.test(names.at(-1)!)) names.pop();
    else names.push(name);
  }
  return `/${names.join("/")}`;
}

/** The path as seen from a folder: relative below it, absolute elsewhere. */
export function seenFrom(path: string, folder: string): string {
  if (path === folder) return ".";
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}
