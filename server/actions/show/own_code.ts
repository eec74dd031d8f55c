/** The known parts of a command: its scripts, the program files that it starts, and its words. */
interface Known {
  scripts: readonly unknown[];
  programs: readonly { name: string; changeable?: string | undefined }[] | null;
  commands: readonly (readonly string[])[];
}

/** Programs that run code of the project, although no script is among their words. */
const RUNS_OWN_CODE =
  /^(make|gmake|cmake|ninja|bazel|npm|npx|pnpm|yarn|bun|bunx|deno|node|tsx|vite|vitest|jest|mocha|ava|playwright|cypress|webpack|rollup|python[\d.]*|py\.?test|tox|nox|uv|poetry|cargo|go|swift|dotnet|gradlew?|mvnw?|ant|sbt|rake|rspec|bundle|phpunit|composer|mix|just|task)$/;

/** Whether a command runs code that agents can change, such as tests, builds and scripts. */
export function runsOwnCode({ scripts, programs, commands }: Known): boolean {
  return scripts.length > 0 ||
    (programs ?? []).some(({ name, changeable }) => changeable || isRunner(name)) ||
    commands.some(([program = ""]) => isRunner(program));
}

function isRunner(program: string): boolean {
  return RUNS_OWN_CODE.test(program.slice(program.lastIndexOf("/") + 1));
}
