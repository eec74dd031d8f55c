import { decideCommand } from "./command_rules.ts";
import { builtin, type Finding } from "./finding.ts";
import { meter } from "./meter.ts";
import { evaluateAccess, evaluateRead } from "./path_rules.ts";
import type { CompiledPolicy } from "./policy.ts";
import { mentions } from "./protect_command.ts";
import type { PathFacts, Surroundings, ToolRequest } from "./request.ts";
import { absolutePath } from "./interpret/state.ts";
import { type Place, textsOf, TooMuch } from "./foreign_input.ts";
import { commandsIn, pathsIn, urlsIn } from "./foreign_texts.ts";

/**
 * The rules that hold for what a tool of another program is given: every text of its input is
 * searched for paths, commands and addresses of the daemon. The gate does not know what the tool does
 * with them, so they meet the rules for the gate's own tools, whatever the tool itself is allowed.
 */
export function searchInput(
  policy: CompiledPolicy,
  { tool, input, cwd }: ToolRequest,
  around: Surroundings,
): Finding[] {
  const search = new Search(policy, around, cwd ?? around.roots[0] ?? "/", mayChange(tool, input));
  try {
    for (const place of textsOf(input)) search.add(place);
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    search.found.push(
      builtin("ask", "unresolved", "$…", `Cannot search the input: ${error.message}`),
    );
  }
  return search.found;
}

/** Rules that say nothing about one file or command in particular. */
const VAGUE = new Set(["unresolved", "malformed-path", "outside-root", "evaluation"]);

/** Each takes up to a millisecond, in which the daemon answers nobody else. */
const MOST_PATHS = 500;
/** Links are followed for this many paths; the others are compared as they are written. */
const MOST_RESOLVED = 100;
/** The most characters that are read as commands; the rest of a prose text is searched for paths. */
const MOST_COMMAND_CHARS = 24 * 1024;

/** One search of one input. */
class Search {
  readonly found: Finding[] = [];
  readonly #policy: CompiledPolicy;
  readonly #around: Surroundings;
  readonly #cwd: string;
  readonly #changes: boolean;
  readonly #seen = new Set<string>();
  #paths = 0;
  #command_chars = 0;

  constructor(policy: CompiledPolicy, around: Surroundings, cwd: string, changes: boolean) {
    this.#policy = policy;
    this.#around = around;
    this.#cwd = cwd;
    this.#changes = changes;
  }

  add(place: Place): void {
    const key = `${place.kind} ${place.text}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    for (const { path, is_whole } of pathsIn(place)) this.#addPath(path, is_whole, place);
    for (const command of commandsIn(place)) this.#addCommand(command, place);
    for (const { host, port } of urlsIn(place.text)) this.#addUrl(host, port);
    const port = String(this.#around.port);
    if (place.text.includes(port) && mentions(place.text, port)) this.#note(apiFinding(), place);
  }

  /** A path that is the whole text may be written; one within a text only asks. */
  #addPath(path: string, is_whole: boolean, place: Place): void {
    const key = `path ${is_whole} ${path}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const most = place.kind === "path" ? MOST_RESOLVED : MOST_PATHS;
    if (++this.#paths > most) throw new TooMuch(`it names over ${most} paths`);
    const facts = this.#factsOf(path);
    const isWrite = place.kind === "code" || (is_whole && this.#changes);
    meter.reset();
    const found = isWrite
      ? this.#writeFindings(facts, is_whole && /^[/~]|\.\./.test(path))
      : evaluateRead(this.#policy, facts, this.#around);
    for (const one of found) {
      // The unknown part of a word may be anything, so an unsure match in a text does not count.
      if (one.unsure && !is_whole) continue;
      this.#note(is_whole ? one : atMostAsk(one), place);
    }
  }

  #writeFindings(facts: PathFacts, isElsewhere: boolean): Finding[] {
    const found = evaluateAccess(this.#policy, "write", facts, this.#around);
    return found.flatMap((one) => {
      if (one.rule === null || one.effect === "allow") return [];
      if (!VAGUE.has(one.rule.list)) return [one];
      // The tool may only read there, so the finding asks at most.
      const isOutside = one.rule.list === "outside-root" && isElsewhere && this.#changes;
      return isOutside ? [atMostAsk(one)] : [];
    });
  }

  #factsOf(path: string): PathFacts {
    const { user_home, resolve } = this.#around;
    const full = path.startsWith("~")
      ? `${user_home}${path.slice(1)}`
      : path.startsWith("/")
      ? path
      : `${this.#cwd}/${path}`;
    const lexical = absolutePath(full, this.#cwd);
    if (this.#paths > MOST_RESOLVED) return { lexical, real: lexical };
    try {
      return resolve(full);
    } catch {
      return { lexical, real: lexical };
    }
  }

  #addCommand(command: string, place: Place): void {
    const key = `command ${place.kind} ${command}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#command_chars += command.length;
    if (this.#command_chars > MOST_COMMAND_CHARS && place.kind !== "command") {
      if (place.kind === "text") return;
      throw new TooMuch(`its commands are over ${MOST_COMMAND_CHARS} characters`);
    }
    meter.reset();
    const request = { kind: "command" as const, command, cwd: this.#cwd };
    const { findings } = decideCommand(this.#policy, request, this.#around);
    for (const one of findings) {
      if (one.rule === null || one.effect === "allow") continue;
      if (place.kind === "command") this.#note(one, place);
      else if (VAGUE.has(one.rule.list) || one.unsure) continue;
      else if (place.kind === "code") this.#note(one, place);
      // Prose may quote a command, so only what a rule guards counts, and a person decides.
      else if (one.rule.list !== "askCommands") this.#note(atMostAsk(one), place);
    }
  }

  #addUrl(host: string, port: number): void {
    if (port !== this.#around.port) return;
    const finding = apiFinding();
    this.found.push(isLoopback(host) ? finding : atMostAsk(finding));
  }

  #note(finding: Finding, { where }: Place): void {
    const reason = where === "" ? finding.reason : `${finding.reason} (in its "${where}")`;
    this.found.push({ ...finding, reason });
  }
}

function apiFinding(): Finding {
  return builtin(
    "deny",
    "self-protection",
    "localhost",
    "The daemon's API is not for agents' tools",
  );
}

function isLoopback(host: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\]|\[::ffff:.*\])\.?$/.test(
    host,
  );
}

function atMostAsk(finding: Finding): Finding {
  return finding.effect === "deny" ? { ...finding, effect: "ask" } : finding;
}

const READS =
  /^(read|get|list|search|find|view|show|stat|info|fetch|open|query|describe|tree|glob|grep|ls|cat|head|tail|browse|navigate|look|lookup|count|check|diff|compare|preview|screenshot|snapshot|summarize)$/;
const CHANGES =
  /^(write|edit|create|delete|remove|move|rename|copy|append|save|put|upload|download|patch|replace|insert|mkdir|touch|truncate|install|update|apply|exec|execute|run|eval|export|generate|convert|render|sync|restore|extract|unzip|commit|push|add|set)$/;

/** Whether the tool may change files: unless its name says that it reads. */
function mayChange(tool: string, input: Record<string, unknown>): boolean {
  const words = tool.replace(/^mcp_+[^_]+_+/, "").split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/)
    .map((word) => word.toLowerCase());
  if (words.some((word) => CHANGES.test(word))) return true;
  return !words.some((word) => READS.test(word)) || "content" in input || "contents" in input;
}
