import { Command, Option } from "@commander-js/extra-typings";
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Client, unwrap } from "../../server/client.ts";
import { hashOf } from "../../server/config/config_text.ts";
import { HOSTS, PLATFORMS } from "../../server/hosts/hosts.ts";
import { deriveId } from "../../server/projects/identity.ts";
import { openHome } from "../../server/runtime/home.ts";
import { backUp, lineDiff, readConfig, readText, writeText } from "../config_file.ts";
import { acceptChanges, showChange, waitingChanges } from "../config/accept.ts";
import { scopedClient } from "../daemon/connect.ts";
import { findDaemon } from "../daemon/find.ts";
import { leaveRoot } from "../daemon/waiting_roots.ts";
import { CliError, EXIT, Exit, explain } from "../errors.ts";
import { enforceHosts, type HookReport, showReports } from "../hosts/enforce_report.ts";
import { machineOf } from "../hosts/machine.ts";
import { launchOf } from "../hosts/ours.ts";
import { type Answers, askAnswers, askToWrite } from "../init/answers.ts";
import { PROJECT_ID, type Template, TEMPLATE_NAMES } from "../init/choices.ts";
import { type Plan, planConfig } from "../init/plan.ts";
import { summarizeRules } from "../init/summary.ts";
import { type Io, isInteractive } from "../io.ts";
import { count, paint, print, printJson, say } from "../terminal/output.ts";
import { userHome } from "../home.ts";
import { placeOf } from "../place.ts";
import { CONFIG_FILE, findRoot } from "../project.ts";
import { offerPassphrase } from "../proof/offer.ts";
import { quote } from "../../server/shown/quote.ts";
import { PASSPHRASE_STDIN, type PassphraseOptions } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { hideTyping } from "../terminal/typing.ts";
import { visibleLine, visibleText } from "../terminal/visible.ts";

interface InitOptions extends PassphraseOptions {
  yes?: boolean;
  platform: string[];
  id?: string;
  policyTemplate?: Template;
  extendGlobal?: boolean;
  dryRun?: boolean;
  verbose?: boolean;
  json?: boolean;
  /** True installs the hooks in the project's own files, false removes them. */
  enforce?: boolean;
}

/** `gate init`: puts the project of this folder behind the gate. */
export function createCommand(io: Io) {
  return new Command("init")
    .description("Put the project in this folder behind the gate: write gate.config.json.")
    .option("-y, --yes", "ask no questions; use the options and defaults")
    .addOption(
      new Option("--platform <platform>", "an agent host that is used here; repeat it for several")
        .choices(PLATFORMS).argParser(collectPlatform).default([] as string[], "none"),
    )
    .option("--id <project_id>", "the project's id (default: made from the folder's name)")
    .addOption(
      new Option("--policy-template <template>", "the rules to start with (default: balanced)")
        .choices(TEMPLATE_NAMES),
    )
    .option("--extend-global", "also apply the machine's rules (gate global-config)")
    .option("--enforce", "also check the agents' own tools in this project, with the hosts' hooks")
    .option("--no-enforce", "remove those hooks")
    .option("--dry-run", "show the changes and write nothing")
    .option("--verbose", "show the whole config or change, not a summary")
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON; needs --yes or --dry-run")
    .addHelpText("after", HELP)
    .action(async (options, command) => {
      // If neither option is given, commander sets "enforce" to true: ignore that default.
      const isSaid = command.getOptionValueSource("enforce") === "cli";
      const { enforce, ...rest } = options;
      await init(io, { ...rest, ...(isSaid ? { enforce } : {}) } as InitOptions);
    });
}

async function init(io: Io, options: InitOptions): Promise<void> {
  refuseFolder(io);
  const file = join(io.cwd, CONFIG_FILE);
  const before = readText(file);
  const known = knownAnswers(io, before, options);
  const asks = !options.yes && !options.json && isInteractive(io);
  if (!options.yes && !asks && !options.dryRun) {
    throw new CliError("Cannot ask questions: the input is not a terminal", {
      next: "gate init --yes",
      exit: EXIT.usage,
    });
  }
  // Between the questions too, because the last one is for a passphrase.
  if (asks) hideTyping(io);
  const plan = planConfig(before, file, asks ? await askAnswers(io, known) : known);
  const isNew = plan.after !== plan.before;
  const outcome = !isNew ? "unchanged" : before === null ? "created" : "updated";
  if (!options.json) showPlan(io, file, { ...plan, isWhole: options.verbose ?? false });
  if (options.policyTemplate && before !== null && !options.json) say(io, ONLY_GROWS);
  const around = before === null ? findRoot({ ...io, cwd: dirname(io.cwd) }) : null;
  if (around !== null && !options.json) say(io, insideOf(around));
  if (isNew && asks && !options.dryRun && !await askToWrite(io, `Write ${CONFIG_FILE}?`)) {
    return say(io, "Nothing changed.");
  }
  // The project is of no use without a home that can hold its ledger.
  if (!options.dryRun) openHome(placeOf(io).home);
  const done = options.dryRun ? { backup: null } : write(io, file, plan);
  const hooks = await enforceHere(io, plan, options);
  const { id, error, former } = options.dryRun ? NOT_REGISTERED : await registerRoot(io, {
    ...options,
    written: isNew ? plan : null,
  });
  const { dryRun: dry_run = false } = options;
  if (options.json) {
    printJson(io, { dry_run, file, outcome, ...done, registered_as: id, hooks, text: plan.after });
  } else showDone(io, { ...done, hooks, id, former, dry_run });
  if (!options.json && !options.dryRun) await offerPassphrase(io, { asks });
  if (error !== null) throw new CliError(error, { next: "correct the file, then gate doctor" });
  if (hooks?.some((report) => report.outcome === "failed")) throw new Exit(EXIT.failed);
}

/** A person who meant the project around finds it out before they are asked to write. */
function insideOf(around: string): string {
  return `${visibleLine(around)} is a project already. ` +
    "Agents that start in this folder or below it belong to the new one.";
}

/** A new id begins a new ledger, and a person who looks for older records must find them. */
function keptIn(other: string): string {
  return `! This folder was the project ${visibleLine(other)} before. Its records stay there: ` +
    `gate log --project ${quote(other)}`;
}

function write(io: Io, file: string, { before, after }: Plan): { backup: string | null } {
  if (before === after) return { backup: null };
  const backup = before === null ? null : backUp(file, placeOf(io).home);
  writeText(file, after, 0o644);
  return { backup };
}

interface Done {
  backup: string | null;
  hooks: HookReport[] | null;
  id: string | null;
  former: readonly string[];
  dry_run: boolean;
}

function showDone(io: Io, { backup, hooks, id, former, dry_run }: Done): void {
  if (backup !== null) print(io, `Backup of the old file: ${backup}`);
  if (hooks !== null) showReports(io, hooks, dry_run);
  if (dry_run) return say(io, "Nothing was written (--dry-run).");
  print(
    io,
    id === null
      ? "The project is registered when the daemon starts: gate daemon start"
      : `Registered as ${visibleLine(id)}.`,
  );
  for (const other of former) say(io, keptIn(other));
  say(
    io,
    "\n  Next: gate global-setup registers gate in your agents; gate dashboard opens the dashboard",
  );
}

/** Changes the hooks of the hosts in the config, or of the hosts in use on this machine. */
async function enforceHere(
  io: Io,
  { after }: Plan,
  { enforce, dryRun = false }: InitOptions,
): Promise<HookReport[] | null> {
  if (enforce === undefined) return null;
  const machine = machineOf(io);
  const { platforms } = readConfig(after, CONFIG_FILE);
  const named = Array.isArray(platforms) ? platforms : [];
  const hosts = HOSTS.filter(({ id }) => named.length === 0 || named.includes(id));
  const place = placeOf(io);
  const around = { machine, home: place.home, launch: launchOf(machine, place) };
  const isAsked = named.length > 0 || !enforce;
  const here = { ...around, root: realpathSync(io.cwd), install: enforce, isAsked, dryRun };
  const reports = await enforceHosts(hosts, here);
  return reports.filter(({ outcome }) => isNamed(outcome, named));
}

function isNamed(outcome: HookReport["outcome"], named: unknown[]): boolean {
  return named.length > 0 || !["no_hooks", "not_installed", "unchanged"].includes(outcome);
}

/** What the daemon knows about the folder after it is registered. */
interface Registration {
  /** Null when no daemon runs: the next start registers the folder. */
  id: string | null;
  error: string | null;
  /** Other projects that this folder belonged to. */
  former: readonly string[];
}

const NOT_REGISTERED: Registration = { id: null, error: null, former: [] };

/**
 * Registers a project with the running daemon. A config that was there before may have an error, and
 * then the policy denies everything.
 */
async function registerRoot(
  io: Io,
  { written, ...options }: PassphraseOptions & { json?: boolean; written: Plan | null },
): Promise<Registration> {
  const place = placeOf(io);
  const root = io.cwd;
  if (!await findDaemon(place)) {
    leaveRoot(place.home, root);
    return NOT_REGISTERED;
  }
  const review = await openReview(io, { ...options, start: false });
  const { id } = await unwrap(review.client.api.hub.projects.$post({ json: { root } }));
  if (written !== null) {
    await acceptWritten(io, scopedClient(review, id), { ...written, json: options.json });
  }
  const { error } = await unwrap(scopedClient(review, id).api.config.$get());
  const { items } = await unwrap(review.client.api.hub.projects.$get());
  const real = realpathSync(root);
  const others = items.filter((one) => one.id !== id && one.roots.includes(real));
  return { id, error, former: others.map((one) => one.id) };
}

/** Accepts what this command changed in an accepted config, and nothing that others wrote. */
async function acceptWritten(
  io: Io,
  client: Client,
  { before, after, json = false }: Plan & { json?: boolean | undefined },
): Promise<void> {
  const view = await unwrap(client.api.config.$get());
  const waiting = waitingChanges(view).filter(({ before_sha256, after_sha256 }) =>
    after_sha256 === hashOf(after) && (before === null || before_sha256 === hashOf(before))
  );
  if (!json) { for (const one of waiting) showChange(io, one); }
  try {
    await acceptChanges(io, client, waiting);
  } catch (error) {
    const why = visibleLine(explain(error).message.split("\n")[0]!);
    say(io, `What the config allows waits: ${why}\n  Next: gate config accept`);
  }
}

function refuseFolder(io: Io): void {
  if (io.cwd !== userHome(io) && io.cwd !== "/") return;
  const why = "a project needs a folder of its own";
  throw new CliError(`Cannot put "${io.cwd}" behind the gate: ${why}`, {
    next: "cd <project>, then gate init",
  });
}

function knownAnswers(io: Io, before: string | null, options: InitOptions): Answers {
  const current = before === null ? {} : readConfig(before, CONFIG_FILE);
  const root = realpathSync(io.cwd);
  // The daemon's own rule for a project without an id, so that the project keeps its ledger.
  const made = () => deriveId(root, basename(root));
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

const MORE_ABOUT =
  "  --verbose shows every rule, gate policy templates the reasons; edit the file as you like.";

/** A summary of a new config, or the changed lines of an existing one. */
function showPlan(
  io: Io,
  file: string,
  { before, after, isWhole }: Plan & { isWhole: boolean },
): void {
  if (before === after) return print(io, `${visibleLine(file)} needs no change.`);
  print(io, `${before === null ? "Creates" : "Changes"} ${visibleLine(file)}:`);
  if (before === null && !isWhole) {
    for (const [word, text] of summarizeRules(after, file)) {
      print(io, `  ${paint(io, "bold", word.padEnd(8))}  ${text}`);
    }
    return print(io, paint(io, "dim", MORE_ABOUT));
  }
  const lines = before === null ? after.trimEnd().split("\n") : lineDiff(before, after);
  const shown = isWhole ? lines : lines.slice(0, MOST_LINES);
  for (const line of shown) {
    const style = line.startsWith("-") ? "red" : "green";
    print(io, `  ${paint(io, before === null ? "dim" : style, visibleText(line))}`);
  }
  const left = lines.length - shown.length;
  if (left > 0) print(io, `  … ${count(left, "more line")}: --verbose shows them`);
}

const MOST_LINES = 20;

function collectPlatform(given: string, before: string[]): string[] {
  if (PLATFORMS.includes(given)) return [...before, given];
  throw new CliError(`Cannot set up "${given}": known platforms are ${PLATFORMS.join(", ")}`, {
    exit: EXIT.usage,
  });
}

const ONLY_GROWS =
  "! The template only adds rules: the config still allows everything that it allowed before.\n" +
  "  To begin with this template alone, delete gate.config.json and run gate init again.";

const HELP = `
An existing gate.config.json keeps its comments, its order and its unknown keys. gate keeps a backup
of it in its data folder.

Examples:
  gate init
  gate init --yes --platform claude-code --id web
  gate init --yes --policy-template strict --extend-global
  gate init --yes --platform claude-code --enforce
  gate init --dry-run --verbose
`;
