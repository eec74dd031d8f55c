import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import { acceptChanges, openChanges, showChange, waitingChanges } from "../config/accept.ts";
import { CliError } from "../errors.ts";
import type { ConfigProblem } from "../../server/config/schema.ts";
import type { Io } from "../io.ts";
import { examples } from "../options.ts";
import { openRules } from "../project.ts";
import { PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { count, paint, print, printJson } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate config`: changes of config files that wait for a person. */
export function createCommand(io: Io) {
  const config = new Command("config")
    .description("Show or accept changes of config files that another program or you made.")
    .addHelpText("after", HELP);
  config.command("show")
    .description(
      "Show the changes of the project's and the machine's config since they were accepted.",
    )
    .option("--project <id>", "the project (default: that of this folder, or the machine's config)")
    .option("--json", "print JSON: the config in force, with outside_changes")
    .addHelpText("after", examples("gate config show"))
    .action(async ({ project, json }) => {
      const client = await openRules(io, project);
      const view = await unwrap(client.api.config.$get());
      if (json) return printJson(io, view);
      if (view.error !== null) print(io, paint(io, "red", `! ${visibleLine(view.error)}`));
      if (view.outside_changes.length === 0) return print(io, "The accepted configs are in force.");
      for (const change of view.outside_changes) showChange(io, change, view);
      if (waitingChanges(view).length > 0) print(io, "Accept what waits: gate config accept");
      else if (openChanges(view).length > 0) print(io, "Keep it in force: gate config accept");
    });
  config.command("accept")
    .description(
      "Accept the changes, after showing them, so that no program undoes them. You prove it with your passphrase.",
    )
    .option("--all", "show each difference, also the many that are in force already")
    .option("--sha256 <hash>", "accept only if a changed file has this content")
    .option("--project <id>", "the project (default: that of this folder, or the machine's config)")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON: the config in force")
    .addHelpText("after", examples("gate config show && gate config accept"))
    .action(async ({ all = false, sha256, project, json, passphraseStdin }) => {
      const client = await openRules(io, project, { passphraseStdin });
      const view = await unwrap(client.api.config.$get());
      const changes = openChanges(view).filter(({ after_sha256 }) =>
        sha256 === undefined || after_sha256 === sha256
      );
      if (view.problem && changes.length === 0) throw isBroken(view.problem);
      if (sha256 !== undefined && changes.length === 0) throw hasNone(sha256);
      if (!json) { for (const change of changes) showChange(io, change, { summary: !all }); }
      const accepted = await acceptChanges(io, client, changes) ?? view;
      if (json) printJson(io, accepted);
      else if (changes.length === 0) print(io, "Nothing waits: the accepted configs are in force.");
      else print(io, `${paint(io, "green", "✓")} accepted: ${count(changes.length, "file")}`);
    });
  return config;
}

function isBroken({ path, line, column, cause }: ConfigProblem): CliError {
  const place = path === null ? "" : `${path}:${line}:${column}: `;
  return new CliError(`Cannot accept the config: everything is denied: ${place}${cause}`, {
    next: path === null ? "gate doctor" : `correct ${path}, then the same command`,
  });
}

function hasNone(sha256: string): CliError {
  const why = `no changed file has the hash ${sha256}`;
  return new CliError(`Cannot accept the config: ${why}`, { next: "gate config show" });
}

const HELP = `
What denies or asks more is in force as soon as the file is saved. What may allow more waits until a
person accepts it, because an agent may have written it. An accepted change stays in force when
another program undoes it in the file.

Examples:
  gate config show
  gate config accept
  pass show gate | gate config accept --passphrase-stdin
`;
