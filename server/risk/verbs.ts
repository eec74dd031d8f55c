/** The effect of a verb, of a command line or a tool's name, on its object. */
export type VerbKind = "reads" | "changes" | "destroys";

const setOf = (text: string) => new Set(text.split(/\s+/));

const READS = setOf(
  "get list ls describe show plan diff view whoami top explain search validate lint fmt synth preview tail head read inspect check " +
    "test wait listen find fetch query lookup count cat stat resolve detect analyze analyse init dump export",
);
/** Nouns that show something unless another verb follows: `config` and `config set`. */
const SHOWS = setOf(
  "logs log status version versions help info template history events output outputs docs completion graph console ps images config " +
    "context current metrics releases builds",
);
const DESTROYS = setOf(
  "destroy delete del rm rb remove terminate uninstall purge drop wipe nuke flush drain prune revoke disable deregister kill " +
    "erase undeploy teardown empty clear reset decommission detach unpublish yank archive ban truncate unlink clean",
);
const CHANGES = setOf(
  "apply create put update scale deploy up upgrade install set patch edit replace restart rollback promote exec cp copy sync mv move " +
    "attach enable start stop reboot resize import taint untaint submit publish push add grant assign bind invoke send restore failover " +
    "label annotate cordon uncordon autoscale configure modify register associate authorize change tag write link transfer migrate switch " +
    "merge close post comment reply insert upsert save execute run trigger dispatch approve release undo ship rotate refresh transition " +
    "convert open upload book order pay charge refund lock unlock pin follow invite share schedule rename fork reopen mark disconnect",
);

/** The first verb among the words; a word such as `delete-bucket` or `pg:reset` has several parts. */
export function verbOf(
  words: readonly string[],
  ignored: ReadonlySet<string> = NONE,
): { kind: VerbKind; verb: string } | null {
  for (const [at, word] of words.entries()) {
    const parts = word.split(/[-:_.]/).filter((one) => !ignored.has(one));
    for (const part of parts) {
      const kind = kindOf(part);
      if (kind !== null) return { kind, verb: part };
    }
    const noun = parts.find((part) => SHOWS.has(part));
    if (noun === undefined) continue;
    const next = words[at + 1] ?? "";
    const kind = kindOf(next) ??
      kindOf(at === 0 && /^[a-z]+-/.test(next) ? next.split("-")[0]! : "");
    return { kind: kind ?? "reads", verb: kind === null ? noun : next };
  }
  return null;
}

function kindOf(word: string): VerbKind | null {
  if (DESTROYS.has(word)) return "destroys";
  if (CHANGES.has(word)) return "changes";
  return READS.has(word) ? "reads" : null;
}

const NONE: ReadonlySet<string> = new Set();

const PRODUCTION = /(^|[^a-z0-9])(prod|production|prd|live|prod\d+)([^a-z]|$)/i;
const NO_PLACE = /--omit|^--production$|\.(md|txt|ts|js)$/i;

/** Whether one of the words names a production system. */
export function namesProduction(words: readonly string[]): string | null {
  return words.find((word) => word.length < 400 && PRODUCTION.test(word) && !NO_PLACE.test(word)) ??
    null;
}
