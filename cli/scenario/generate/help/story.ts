import type { Exec } from "../../schema.ts";
import type { Depth, Draft, Story } from "../family.ts";
import { recordedOperation } from "../recorded.ts";
import type { CliPage } from "./explore.ts";

/** The text and the words of one command line. The rest follows from the page. */
export type CliStory =
  & Pick<Story, "title" | "who" | "chaos" | "expected" | "failures" | "priority" | "is_edge_case">
  & { words: string[]; exec: Pick<Exec, "expected_exit" | "expected_end"> };

/** One way in which command lines break. `tell` returns nothing where it does not fit. */
export interface CliFamily {
  name: string;
  depth: Depth;
  tell: (page: CliPage) => CliStory[];
}

/** The expected ends, because no help text tells the exit codes. */
export const REFUSED: CliStory["exec"] = { expected_end: "refused" };
export const ORDERLY: CliStory["exec"] = { expected_end: "orderly" };

/** The drafts of one family for one page. */
export function cliDrafts(page: CliPage, { name, tell }: CliFamily): Draft[] {
  return tell(page).map((story) => ({
    title: story.title,
    user_perspective: story.who,
    preconditions: [`${page.argv[0]} is installed`],
    steps: [`Run: ${[...page.argv, ...story.words].map(shown).join(" ")}`],
    chaos_factors: story.chaos,
    expected_behavior: story.expected,
    failure_modes: story.failures,
    priority: story.priority,
    confidence_area: page.argv.slice(0, 2).join(" "),
    is_edge_case: story.is_edge_case ?? true,
    exec: {
      mode: "cli",
      command: [...page.argv, ...story.words],
      ...story.exec,
      forbidden: { traces: true },
    },
    family: name,
    operation: recordedOperation({ method: "run", path: nameOf(page) }),
  }));
}

/** The words of a page, its name in titles. */
export function nameOf({ argv }: CliPage): string {
  return argv.join(" ");
}

function shown(word: string): string {
  const short = word.length > 60 ? `${word.slice(0, 20)}… (${word.length} characters)` : word;
  return /^[\w./:@=+,-]+$/.test(short) ? short : JSON.stringify(short);
}
