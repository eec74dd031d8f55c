import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Client, unwrap } from "../../server/client.ts";
import type { PolicySuggestions } from "../../server/trials/schema.ts";
import type { Policies } from "../../server/policy/schema.ts";
import { scopedClient } from "../daemon/connect.ts";
import { isConfirmed } from "../terminal/prompts.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import { type Io, isInteractive } from "../io.ts";
import { count, paint, print, printJson, say } from "../terminal/output.ts";
import { chooseProject } from "../project.ts";
import { PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { withSpinner } from "../terminal/prompts.ts";
import { visibleJson, visibleLine } from "../terminal/visible.ts";
import { readSince } from "./replay.ts";

/** `gate policy suggest`: suggests rules for actions that people always approved. */
export function addSuggest(policy: CommandUnknownOpts, io: Io): void {
  policy.command("suggest")
    .description("Suggest allow rules for actions that people always approved.")
    .option("--since <time>", "the start: 12h, 30d or 2w ago, or a date such as 2026-03-01", "30d")
    .option("--apply", "write them into the project's config after a confirmation")
    .option("--yes", "confirm --apply without a question")
    .option("--project <id>", "the project; default: that of this folder")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async ({ since, apply, yes, project, json, passphraseStdin }) => {
      if (apply && !yes && !isInteractive(io)) throw unasked();
      const connection = await openReview(io, { passphraseStdin });
      const client = scopedClient(
        connection,
        await chooseProject(io, connection.client, project),
      );
      const body = { since: readSince(since, Date.now()) };
      const found = await withSpinner(
        io,
        "Scoring rules on the history",
        () => unwrap(client.api.policy.suggest.$post({ json: body })),
      );
      if (json) printJson(io, found);
      else print(io, describe(io, found));
      if (apply && found.suggestions.length + found.sandbox.length > 0) {
        await write(io, client, { found, yes });
      }
    });
}

function unasked(): CliError {
  return new CliError("Cannot ask for a confirmation: there is no terminal; add --yes to --apply", {
    next: "gate policy suggest --apply --yes",
    exit: EXIT.usage,
  });
}

async function write(
  io: Io,
  client: Client,
  { found, yes }: { found: PolicySuggestions; yes: boolean | undefined },
): Promise<void> {
  const { config, etag } = await unwrap(client.api.config.$get());
  if (
    !yes &&
    !await isConfirmed(
      io,
      `Write these rules into the config (${found.suggestions.length + found.sandbox.length})?`,
    )
  ) {
    throw new Exit(EXIT.failed);
  }
  const json = toPolicies(found, config.policies ?? {});
  await unwrap(client.api.config.policies.$put({ json }, { headers: { "If-Match": etag } }));
  say(io, `Written: ${Object.keys(json).join(", ")}. gate policy replay shows what it changes.`);
}

/** The lists with the suggestions appended to their present entries. */
function toPolicies({ suggestions, sandbox }: PolicySuggestions, old: Policies): Policies {
  const policies: Policies = {};
  for (const { list, entry } of sandbox) {
    const known = policies.sandbox ?? old.sandbox ?? {};
    policies.sandbox = { ...known, [list]: [...known[list] ?? [], entry] };
  }
  for (const { list, entry } of suggestions) {
    policies[list] = [...policies[list] ?? old[list] ?? [], entry];
  }
  return policies;
}

function describe(io: Io, found: PolicySuggestions): string {
  const { asked, approved, rejected, older, newer, prompts_saved, suggestions } = found;
  const lines = [
    `A person was asked ${count(asked, "time")}: ${approved} approved, ${rejected} rejected` +
    (found.truncated ? " (older history was not read)" : ""),
  ];
  for (const { why, count } of found.unjudged) lines.push(`  not evaluated: ${count}, ${why}`);
  for (const { list, entry, opened } of found.sandbox) {
    lines.push(
      `People opened this wall ${count(opened, "time")}: sandbox.${list} ${visibleLine(entry)}`,
    );
  }
  if (suggestions.length === 0) {
    if (found.sandbox.length > 0) lines.push(APPLY);
    else lines.push("No rule to suggest: no kind of action was approved often enough.");
    return lines.join("\n");
  }
  lines.push(
    `Learned from the older ${older} actions. Of the newer ${newer} these rules save ` +
      paint(io, "green", count(prompts_saved, "prompt")) +
      " and allow nothing that nobody approved:",
    "",
    visibleJson(toPolicies(found, {}), 2),
    "",
    ...suggestions.map(({ entry, prompts_saved: saved, learned_from }) =>
      `  ${saved} of ${newer} saved (learned from ${learned_from})  ${
        visibleLine(typeof entry === "string" ? entry : entry.pattern)
      }`
    ),
    "",
    APPLY,
  );
  return lines.join("\n");
}

const APPLY =
  "Paste them into the policies of gate.config.json, or run: gate policy suggest --apply";

const HELP = `
It also suggests the hosts and folders that people opened in the sandbox three times or more.

It learns rules from the older half of the held actions and scores them on the newer half. It never
suggests a rule that would have allowed an action that nobody approved, or that touches files which
always need a person, or that deletes, deploys or runs other programs.

Examples:
  gate policy suggest --since 30d
  gate policy suggest --json
  gate policy suggest --apply
`;
