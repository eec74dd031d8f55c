import { Command } from "@commander-js/extra-typings";
import { basename, join, resolve } from "node:path";
import { unwrap } from "../../server/client.ts";
import { parseConfig } from "../../server/config/load.ts";
import { describeUnknown } from "../../server/config/misspelt.ts";
import { GlobalConfig } from "../../server/config/schema.ts";
import { MACHINE_ID } from "../../server/constants.ts";
import { compilePolicy } from "../../server/policy/evaluate.ts";
import { globalTemplate } from "../../server/policy/templates.ts";
import { openHome } from "../../server/runtime/home.ts";
import { backUp, formatConfig, readConfig, readText, writeText } from "../config_file.ts";
import { editText } from "../terminal/editor.ts";
import { acceptChanges, showChange, waitingChanges } from "../config/accept.ts";
import { scopedClient } from "../daemon/connect.ts";
import { findDaemon } from "../daemon/find.ts";
import { CliError, explain } from "../errors.ts";
import { quote } from "../../server/shown/quote.ts";
import { examples } from "../options.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson, say } from "../terminal/output.ts";
import { placeOf } from "../place.ts";
import { PASSPHRASE_STDIN, type PassphraseOptions } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { visibleLine, visibleText } from "../terminal/visible.ts";
import { sayWrong } from "../../server/issue.ts";

/** `gate global-config`: the rules for every project of this machine. */
export function createCommand(io: Io) {
  const config = new Command("global-config")
    .description("Create, show or edit the rules that apply to every project of this machine.")
    .addHelpText("after", examples("gate global-config init", "gate global-config edit"));
  config.command("init")
    .description("Create the file with default rules; does not change an existing file.")
    .option("--dry-run", "show the file and write nothing")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate global-config init --dry-run", "gate global-config init"))
    .action(({ dryRun, json }) => init(io, dryRun ?? false, json ?? false));
  config.command("show")
    .description("Print the file.")
    .option("--json", "print JSON, without comments")
    .addHelpText("after", examples("gate global-config show --json | jq .policies"))
    .action(({ json }) => {
      const text = require(io);
      if (json) printJson(io, readConfig(text, pathOf(io)));
      else print(io, visibleText(text.trimEnd()));
    });
  config.command("edit")
    .description(
      "Edit the file in $VISUAL or $EDITOR; it is validated before it is saved. The first edit begins with default rules.",
    )
    .option("--draft <file>", "edit this file instead, such as one kept by a failed edit")
    .option(...PASSPHRASE_STDIN)
    .addHelpText("after", examples("EDITOR=vi gate global-config edit"))
    .action(async ({ draft, passphraseStdin }) => await edit(io, draft, { passphraseStdin }));
  return config;
}

function init(io: Io, dry_run: boolean, json: boolean): void {
  const file = pathOf(io);
  const isThere = readText(file) !== null;
  const text = defaultText();
  if (!isThere && !dry_run) {
    openHome(placeOf(io).home);
    writeText(file, text, 0o600);
  }
  if (json) printJson(io, { dry_run, file, outcome: isThere ? "unchanged" : "created" });
  else if (isThere) print(io, `${file} already exists.`);
  else if (dry_run) print(io, `Would create ${file}:\n${text.trimEnd()}`);
  else print(io, `Created ${file}. Edit it: gate global-config edit`);
}

async function edit(
  io: Io,
  draft: string | undefined,
  options: PassphraseOptions,
): Promise<void> {
  const before = readText(pathOf(io));
  const shown = before ?? defaultText();
  await editText(io, shown, {
    ...draft !== undefined && { draft: resolve(io.cwd, draft) },
    name: "config.json",
    use: (after) => {
      if (after === shown) print(io, "Nothing was changed.");
      else change(io, before, after);
    },
    again: (file) => `gate global-config edit --draft ${quote(file)}`,
  });
  if (readText(pathOf(io)) !== before) await acceptEdited(io, options);
}

/** Accepts the part of the saved file that waits, because a person has just written it. */
async function acceptEdited(io: Io, options: PassphraseOptions): Promise<void> {
  if (!await findDaemon(placeOf(io))) return print(io, "It applies when the daemon starts.");
  const client = scopedClient(await openReview(io, { ...options, start: false }), MACHINE_ID);
  const waiting = waitingChanges(await unwrap(client.api.config.$get()));
  for (const one of waiting) showChange(io, one);
  try {
    await acceptChanges(io, client, waiting);
  } catch (error) {
    const { message } = explain(error);
    throw new CliError(`The file is saved, but a part of it waits: ${message}`, {
      next: "gate config accept",
    });
  }
  print(io, "The new rules are in force.");
}

/** @param before null while there is no file */
function change(io: Io, before: string | null, after: string): void {
  const path = pathOf(io);
  const unknown = check(after, path);
  if (readText(path) !== before) {
    throw new CliError(`Cannot write "${path}": another program changed it during the edit`);
  }
  if (before === null) openHome(placeOf(io).home);
  else print(io, `Backup of the old file: ${backUp(path, placeOf(io).home)}`);
  writeText(path, after, 0o600);
  print(io, "Saved.");
  for (const warning of unknown) say(io, paint(io, "yellow", `! ${visibleLine(warning)}`));
}

/**
 * The warnings about keys without effect. @throws CliError or GateError for an invalid config or rule
 */
function check(text: string, path: string): string[] {
  const parsed = GlobalConfig.safeParse(readConfig(text, path));
  if (!parsed.success) {
    const why = sayWrong(parsed.error.issues[0]!);
    throw new CliError(`Cannot save the config: ${why}; nothing changed`);
  }
  const { fault, unknown } = parseConfig(path, text, GlobalConfig);
  if (fault) throw new CliError(`Cannot save the config: ${fault.cause}; nothing changed`);
  compilePolicy({ global: parsed.data.policies ?? null, project: null, override_global: false });
  return unknown.flatMap((one) => describeUnknown(one, basename(path)) ?? []);
}

function defaultText(): string {
  return `${formatConfig({ version: "1", policies: globalTemplate() })}\n`;
}

function require(io: Io): string {
  const text = readText(pathOf(io));
  if (text !== null) return text;
  throw new CliError(`Cannot read "${pathOf(io)}": it does not exist yet`, {
    next: "gate global-config init",
  });
}

function pathOf(io: Io): string {
  return join(placeOf(io).home, "config.json");
}
