import type { Cause } from "../facts.ts";
import { asksHelp, type Call, has, LOCAL, one, type Row, triesOnly } from "./call.ts";

/** Programs that install or publish packages. */
export const PACKAGES: readonly Row[] = [
  [/./, packageCauses],
  [/^(npx|bunx|pnpx|uvx|dlx)$/, runnerCauses],
];

const INSTALL =
  /^(install|add|i|ci|get|update|upgrade|remove|uninstall|rm|sync|up|link|tap|bootstrap|require|dlx|in|un|isntall|restore|download|import)$/;

function packageCauses(call: Call): Cause[] {
  const { program, words } = call;
  if (asksHelp(call)) return [];
  const text = words.join(" ");
  if (/^(npm|pnpm|yarn|bun|lerna|changeset|nx|rush|jsr|vsce|ovsx|clasp)$/.test(program)) {
    const acts = words.find((word) => !/^(run|exec|npm|workspace|workspaces)$/.test(word));
    if (
      /^(publish|unpublish|deprecate|dist-tag|dist-tags|access|owner|token|release)$/.test(
        acts ?? "",
      ) && !words.includes("run")
    ) {
      if (triesOnly(call) || /\b(ls|list|get)\b/.test(text)) return [];
      const causes = one("publishes", `${program} ${acts} changes what others install`);
      if (acts === "unpublish") {
        causes.push({ name: "destroys_whole", why: "what others install disappears" });
      }
      return causes;
    }
  }
  if (
    /^(cargo|gem|poetry|uv|twine|hatch|flit|pdm|mvn|gradle|gradlew|dotnet|nuget|composer|mix|sbt|lein|pod|helm|conan|pub|dart|flutter|goreleaser|semantic-release|np|standard-version|release-it|fastlane|jfrog|jf|cosign|oras|skopeo|deno|rubygems|luarocks|cpan-upload|quarto|mkdocs|gh-pages|surge|rsconnect|expo|eas)$/
      .test(program)
  ) {
    const isPublish =
      /(^|[ :])(publish\w*|upload|push|yank|release\w*|deploy|gh-deploy|trunk|submit|hex\.publish|nuget)([ :]|$)/
        .test(text) ||
      /^(goreleaser|semantic-release|np|release-it|gh-pages|surge)$/.test(program);
    if (isPublish && !triesOnly(call) && !has(call, /^--snapshot$/)) {
      return one("publishes", `${program} publishes something that others use`);
    }
  }
  const runs =
    /^(npm|pnpm|yarn|bun|pip|pip\d|pipx|pipenv|uv|uvx|poetry|pdm|conda|mamba|gem|bundle|bundler|cargo|go|apt|apt-get|aptitude|brew|dnf|yum|zypper|pacman|apk|snap|flatpak|port|nix|nix-env|composer|mix|opam|cpan|cpanm|luarocks|rustup|nvm|asdf|mise|volta|deno|dotnet|nuget|code|cursor|claude|gemini|codex|winget|choco|scoop|helm|krew|volta|corepack|dpkg|rpm|pod|flutter|dart|swift|ghcup|sdk|jabba|pyenv|rbenv|easy_install|vcpkg|conan)$/;
  if (!runs.test(program)) return [];
  if (triesOnly(call)) return [];
  const isInstall = words.slice(0, 3).some((word) => INSTALL.test(word)) ||
    (program === "yarn" && words.length === 0) ||
    /^(dpkg|rpm)$/.test(program) && has(call, /^-[iUe]/) ||
    has(call, /^--install-extension/) || (program === "pacman" && has(call, /^-[SRU]/)) ||
    (program === "go" && words[0] === "install");
  if (!isInstall || words[0] === "run" || words[0] === "list" || words[0] === "mod") return [];
  return isUntrusted(call)
    ? one("foreign_code", `${program} takes packages from a source that nobody proves`)
    : one("installs", `${program} may download code and run it`);
}

/** Packages over a connection that everybody on the way can change. */
function isUntrusted(call: Call): boolean {
  if (
    has(call, /^--(trusted-host|allow-unauthenticated|no-gpg-check|nogpgcheck|force-yes|insecure)/)
  ) {
    return true;
  }
  return call.argv.some((word) => {
    const url = /(?:^|=|\+)(http:\/\/\S+)/i.exec(word)?.[1];
    return url !== undefined && !LOCAL.test(url);
  });
}

const LOCAL_TOOLS =
  /^(tsc|eslint|prettier|vitest|jest|mocha|biome|vite|webpack|rollup|esbuild|tsx|ts-node|next|nuxt|astro|playwright|cypress|stylelint|nx|turbo|lint-staged|husky|prisma|drizzle-kit|knex|typeorm|sequelize|sequelize-cli|tailwindcss|svelte-check|vue-tsc|knip|madge|depcheck|nyc|c8|ava|tap|oxlint|dprint|storybook|rimraf|concurrently|wrangler|vercel|netlify|cdk|sls|serverless|firebase|expo|eas|semantic-release|np|release-it|lerna|changeset|commitlint|tap|uvu|remark|markdownlint|cspell|tsup|swc|babel|parcel|gulp|grunt|ncu|npm-check-updates|license-checker|typedoc|jsdoc|api-extractor|size-limit|publint|attw|ruff|black|mypy|pytest|pyright|flake8|isort|tox|nox|pre-commit|cowsay)(@[\w.-]+)?$/;

function runnerCauses(call: Call): Cause[] {
  const [first = ""] = call.words;
  if (first === "" || asksHelp(call)) return [];
  if (LOCAL_TOOLS.test(first) && !has(call, /^(-y|--yes|-p|--package.*)$/)) return [];
  return one("installs", `${call.program} may download "${first}" and run it`);
}
