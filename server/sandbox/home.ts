import { existsSync, lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Mount } from "./schema.ts";

/** Folders of the home in which tools are installed; each is read-only in the sandbox. */
const TOOLS = [
  ...[".cargo", ".rustup", ".nvm", ".deno", ".bun", ".volta", ".asdf", ".pyenv", ".rbenv", ".rvm"],
  ...[".nodenv", ".goenv", ".jenv", ".phpenv", ".sdkman", ".ghcup", ".stack", ".opam", ".elan"],
  ...[".gem", ".bundle", ".mix", ".pub-cache", ".yarn", ".pnpm-store", ".proto", ".juliaup"],
  ...[".m2", ".gradle", ".ivy2", ".coursier", ".nuget", ".dotnet", ".cabal", ".composer", "go"],
  ...["miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda", "Android/Sdk"],
  ...[".local/bin", ".local/lib", ".local/pipx", ".linuxbrew", ".node", ".npm-global", "n"],
  ...["pnpm", "uv", "mise", "fnm", "virtualenvs", "pipx", "pypoetry", "gem", "bundle", "rtx"]
    .map((name) => `.local/share/${name}`),
];

/** Caches of large downloads that tools cannot work without; the rest of `.cache` is private. */
const CACHES = ["ms-playwright", "puppeteer", "Cypress", "node-gyp", "electron", "prisma"]
  .map((name) => `.cache/${name}`);

/** Files in those folders that open other systems. */
const CREDENTIALS = [
  ...[".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".bundle/config"],
  ...[".pub-cache/credentials.json", ".m2/settings.xml", ".m2/settings-security.xml"],
  ...[
    ".gradle/gradle.properties",
    ".gradle/init.d",
    ".gradle/init.gradle",
    ".gradle/init.gradle.kts",
    ".ivy2/.credentials",
    ".cabal/config",
  ],
  ...[".nuget/NuGet", ".composer/auth.json", ".composer/config.json", ".mix/hex.config"],
  ...[
    ".local/share/uv/credentials",
    ".dotnet/corefx",
    ".conda/.condarc",
    ".conda/condarc",
    ".yarn/config",
    ".coursier/credentials.properties",
  ],
];

/** The user's home with only the tools in it, and what of them is hidden. */
export function homeMounts(home: string, cache: string): Mount[] {
  const listed = new Map<string, Set<string>>();
  const isFolderOfHome = (name: string) => {
    const folder = dirname(name);
    let names = listed.get(folder);
    if (!names) listed.set(folder, names = foldersIn(join(home, folder)));
    return names.has(basename(name));
  };
  const shown = (names: readonly string[]) =>
    names.filter(isFolderOfHome).map((name): Mount => ({ at: join(home, name), as: "read_only" }));
  return [
    { at: home, as: "new_folder" },
    ...shown(TOOLS),
    { at: join(home, ".cache"), as: "writable", from: cache },
    ...[".npm", ".gitconfig"].map((name): Mount => (
      { at: join(home, name), as: "link", from: `.cache/${name.slice(1)}` }
    )),
    ...shown(CACHES),
    ...CREDENTIALS.filter((name) => isFolderOfHome(name.split("/")[0]!))
      .map((name) => join(home, name)).filter((at) => existsSync(at)).map((at) => (
        { at, as: isFolder(at) ? "hidden_folder" as const : "hidden_file" as const }
      )),
  ];
}

/** The names of the folders in a folder. A link could lead anywhere, so it is none of them. */
function foldersIn(folder: string): Set<string> {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return new Set(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name));
  } catch {
    return new Set(); // it is not there
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
