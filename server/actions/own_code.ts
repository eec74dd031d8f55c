/** The known parts of a command: its scripts, the program files that it starts, and its words. */
interface Known {
  scripts: readonly unknown[];
  programs: readonly { name: string; changeable?: string | undefined }[] | null;
  commands: readonly (readonly string[])[];
}

/** Programs that run code of the project, although no script is among their words. */
const RUNS_OWN_CODE = new RegExp(
  "^(make|gmake|cmake|ctest|ninja|meson|bazel|just|task|" +
    "npm|npx|pnpm|yarn|bun|bunx|deno|node|tsx|ts-node|vite|vitest|jest|mocha|ava|karma|playwright|" +
    "cypress|webpack|rollup|next|nuxt|astro|turbo|nx|gulp|grunt|eslint|stylelint|prettier|" +
    "python[\\d.]*|pip[\\d.]*|py\\.?test|tox|nox|uv|poetry|pdm|hatch|pipenv|sphinx-build|mkdocs|inv|invoke|" +
    "pre-commit|cargo|go|swift|dotnet|gradlew?|mvnw?|ant|sbt|rake|rspec|bundle|phpunit|composer|mix|" +
    "stack|cabal|zig|dart|flutter)$",
);

/** Whether a command runs code that agents can change, such as tests, builds and scripts. */
export function runsOwnCode({ scripts, programs, commands }: Known): boolean {
  return scripts.length > 0 ||
    (programs ?? []).some(({ name, changeable }) => changeable || isRunner(name)) ||
    commands.some(([program = ""]) => isRunner(program));
}

/** Whether an agent's sandboxed commands can change the code that a command runs. */
export function runsChangeableCode({ scripts, commands }: Pick<Known, "scripts" | "commands">) {
  const open = commands.filter((argv) => !isSelfContained(argv));
  return runsOwnCode({ scripts, programs: null, commands: open });
}

/** Whether the words of a call hold all of its code, or it only prints a version. */
function isSelfContained([program = "", first, ...rest]: readonly string[]): boolean {
  if (first === "--version") return rest.length === 0;
  return INLINE.some(({ name, option }) => name.test(nameOf(program)) && option.test(first ?? ""));
}

const INLINE = [
  { name: /^python[\d.]*$/, option: /^-c$/ },
  { name: /^node$/, option: /^(-e|-p|--eval|--print)$/ },
];

function isRunner(program: string): boolean {
  return RUNS_OWN_CODE.test(nameOf(program));
}

function nameOf(program: string): string {
  return program.slice(program.lastIndexOf("/") + 1);
}
