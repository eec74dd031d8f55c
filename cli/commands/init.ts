import { Command, Option } from "@commander-js/extra-typings";
import { realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { madeUpId } from "../../server/projects/identity.ts";
import { backUp, readText, writeText } from "../config_file.ts";
import { lineDiff, readConfig } from "../config_edit.ts";
import { CliError, EXIT } from "../errors.ts";
import { type Answers, askAnswers, askToWrite } from "../init/answers.ts";
import { PLATFORMS, PROJECT_ID, TEMPLATES } from "../init/choices.ts";
import { type Plan, planConfig } from "../init/plan.ts";
import { registerRoot } from "../init/register.ts";
import { type Io, isInteractive } from "../io.ts";
import { paint, print, say } from "../output.ts";
import { placeOf, userHome } from "../place.ts";
import { CONFIG_FILE } from "../project.ts";
import { visibleLine, visibleText } from "../visible.ts";

interface InitOptions {
  yes?: boolean;
  platform: string[];
  id?: string;
  policyTemplate?: (typeof TEMPLATES)[number]["name"];
  extendGlobal?: boolean;
  dryRun?: boolean;
}

/** `gate init`: puts the project of this folder behind the gate. */
export function createCommand(io: Io) {
  return new Command("init")
    .description("Put the project in this folder behind the gate: writes gate.config.json.")
    .option("-y, --yes", "ask nothing")
    .addOption(
      new Option("--platform <platform>", "an agent that works here; may be given several times")
        .choices(PLATFORMS).argParser(collectPlatform).default([] as string[]),
    )
    .option("--id <project_id>", "the project's name; otherwise made of the folder's")
    .addOption(
      new Option("--policy-template <template>", "the rules to start from")
        .choices(TEMPLATES.map(({ name }) => name)),
    )
    .option("--extend-global", "inherit the rules of this machine")
    .option("--dry-run", "show what would change and write nothing")
    .addHelpText("after", HELP)
    .action(async (options) => await init(io, options as InitOptions));
}

async function init(io: Io, options: InitOptions): Promise<void> {
  refuseFolder(io);
  const file = join(io.cwd, CONFIG_FILE);
  const before = readText(file);
  const known = knownAnswers(io, before, options);
  const asks = !options.yes && isInteractive(io);
  if (!options.yes && !asks && !options.dryRun) {
    throw new CliError("Cannot ask: this is no terminal", {
      next: "gate init --yes",
      exit: EXIT.usage,
    });
  }
  const plan = planConfig(before, file, asks ? await askAnswers(io, known) : known);
  showPlan(io, file, plan);
  if (options.dryRun) return say(io, "Nothing was written (--dry-run).");
  if (plan.after !== plan.before) {
    if (asks && !await askToWrite(io, `Write ${CONFIG_FILE}?`)) {
      return say(io, "Nothing was changed.");
    }
    if (before !== null) print(io, `Kept the old one: ${backUp(file, placeOf(io).home)}`);
    writeText(file, plan.after, 0o644);
  }
  print(io, await registerRoot(io, io.cwd));
  say(io, "\n  gate dashboard   and give your agents the MCP server:  gate global-setup");
}

function refuseFolder(io: Io): void {
  if (io.cwd !== userHome(io) && io.cwd !== "/") return;
  throw new CliError(`Cannot put "${io.cwd}" behind the gate: a project is a folder of its own`, {
    next: "cd <project>, then gate init",
  });
}

function knownAnswers(io: Io, before: string | null, options: InitOptions): Answers {
  const current = before === null ? {} : readConfig(before, CONFIG_FILE);
  const root = realpathSync(io.cwd);
  // The very id that the daemon made up as long as the config had none: the ledger stays.
  const made = () => madeUpId(root, basename(root));
  const id = options.id ?? (typeof current.id === "string" ? current.id : made());
  if (!PROJECT_ID.test(id)) {
    throw new CliError(
      `Cannot use the id "${id}": it takes letters, digits, ".", "_" and "-", at most 64`,
      { next: "gate init --id my-project", exit: EXIT.usage },
    );
  }
  return {
    id,
    template: options.policyTemplate ?? (current.policies ? null : "balanced"),
    extendGlobal: options.extendGlobal ?? current.extends === "global",
    platforms: options.platform,
  };
}

function showPlan(io: Io, file: string, { before, after }: Plan): void {
  if (before === after) return print(io, `${visibleLine(file)} needs no change.`);
  print(io, `${before === null ? "Creates" : "Changes"} ${visibleLine(file)}:`);
  for (const line of before === null ? after.trimEnd().split("\n") : lineDiff(before, after)) {
    const style = line.startsWith("-") ? "red" : "green";
    print(io, `  ${paint(io, before === null ? "dim" : style, visibleText(line))}`);
  }
}

function collectPlatform(given: string, before: string[]): string[] {
  if ((PLATFORMS as readonly string[]).includes(given)) return [...before, given];
  throw new CliError(`Cannot set up "${given}": known are ${PLATFORMS.join(", ")}`, {
    exit: EXIT.usage,
  });
}

const HELP = `
What is there stays: comments, the order and keys it does not know. The old file is kept.

Examples:
  gate init                                              asks
  gate init --yes --platform claude-code --id web
  gate init --yes --policy-template strict --extend-global
  gate init --dry-run
`;
