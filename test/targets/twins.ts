import { onTestFinished } from "vitest";
import type { Finding } from "../../cli/scenario/schema.ts";
import { LOGINS, serveShop, SHOP } from "../cli/scenario/foreign_shop.ts";
import { execs, folder } from "../cli/scenario/harness.ts";
import { BOARDS, type Bug as BoardBug, serveBoards } from "../cli/scenario/nested_records.ts";
import { DOCUMENT } from "../cli/scenario/seeded/document.ts";
import { ROUTES } from "../cli/scenario/seeded/routes.ts";
import { isAbout } from "../cli/scenario/seeded/seeds.ts";
import { type Bug, BUGS, openShop } from "../cli/scenario/seeded/shop.ts";
import { startTwins, WINDOWS } from "../cli/scenario/twins.ts";
import { runTool } from "./tool.ts";

/** A service of ours that can have holes, and its twin without any. */
interface Twin {
  name: string;
  holes: readonly string[];
  /** Only one hole can be open at a time. */
  oneByOne?: true;
  /** Starts it with these holes. Returns the arguments and the files of the run. */
  open: (holes: readonly string[]) => Promise<{ argv: string[]; files: Record<string, unknown> }>;
  shows: (finding: Finding, hole: string) => boolean;
  /** True for another finding of the same cause. */
  isAlso?: (finding: Finding) => boolean;
}

/** The findings of the tool on one twin. */
export interface TwinRow {
  name: string;
  holes: number;
  missed: string[];
  findings: number;
  /** Findings about none of its holes. */
  stray: string[];
  /** Findings on the guarded twin. */
  guarded: string[];
  /** Findings that only one of two runs showed. */
  unlike: string[];
}

/** The holes of the shop that takes its forms in the query, with the finding that shows each. */
const FOREIGN: Record<string, RegExp> = {
  "the orders of another": /^foreign_\w+ GET .*\/orders$/,
  "an address for another": /^foreign_\w+ POST .*\/addresses$/,
  "an address of another": /^foreign_\w+ GET .*\/\{addressId\}$/,
  "deletion of an address of another": /^foreign_\w+ DELETE .*\/\{addressId\}$/,
  "an order to the address of another": /^foreign_reference POST .*\/orders$/,
  "the role": /^own_role PUT/,
  "paying too often": /^spend_race POST \/pay$/,
  "giving too often": /^spend_race POST \/gift$/,
};
/** The owner is never compared, which shows in other operations too. */
const SAME_CAUSE = /^foreign_/;

const USERS = ["alice", "bob"];
const users = (token: (name: string) => string) =>
  USERS.flatMap((name) => ["--as", `${name}=Authorization: Bearer ${token(name)}`]);
const withDocument = (document: object, url: string, logins: readonly string[]) => ({
  argv: ["--target", url, "--spec", "openapi.json", ...logins],
  files: { "openapi.json": document },
});

const TWINS: Twin[] = [
  {
    name: "shop with 20 bugs",
    holes: BUGS,
    open: async (holes) => {
      const { url, server } = await openShop(holes as Bug[], ROUTES);
      onTestFinished(() => {
        server.closeAllConnections();
        server.close();
      });
      return withDocument(DOCUMENT, url, users((name) => `token-${name}`));
    },
    shows: ({ family, operation }, hole) =>
      isAbout({ family, operation: operation ?? "" }, hole as Bug),
  },
  {
    name: "shop with forms in the query",
    holes: Object.keys(FOREIGN),
    open: async (holes) => {
      const { url } = await serveShop({ isGuarded: holes.length === 0 });
      return withDocument(SHOP, url, LOGINS);
    },
    shows: (finding, hole) => FOREIGN[hole]!.test(nameOf(finding)),
    isAlso: (finding) => SAME_CAUSE.test(nameOf(finding)),
  },
  {
    name: "boards and payments",
    holes: ["card_idor", "any_points", "close_race", "key_race", "key_replays", "key_ignored"],
    oneByOne: true,
    open: async ([bug]) =>
      withDocument(BOARDS, await serveBoards(bug as BoardBug), users((name) => name)),
    shows: () => true,
  },
  {
    name: "races with windows of 5 ms to a tick",
    holes: WINDOWS,
    open: async (holes) => {
      const twins = await startTwins("node");
      onTestFinished(twins.stop);
      const kind = holes.length === 0 ? "guarded" : "open";
      const race = { mode: "http", method: "POST", body: "{}", concurrency: 10, rounds: 20 };
      const list = WINDOWS.map((window) => ({ ...race, path: `/${kind}/${window}/{{uniq}}` }));
      return {
        argv: ["--target", twins.secure, "--insecure", "--scenarios", "races.json"],
        files: {
          "races.json": execs(...list).map((one, n) => ({ ...one, title: `${WINDOWS[n]} open` })),
        },
      };
    },
    shows: ({ title }, hole) => title === `${hole} open`,
  },
];

export const TWIN_NAMES: readonly string[] = TWINS.map(({ name }) => name);

/** Runs the tool on one twin: twice with its holes, once without. */
export async function measureTwin(name: string): Promise<TwinRow> {
  const twin = TWINS.find((one) => one.name === name)!;
  const groups = twin.oneByOne ? twin.holes.map((hole) => [hole]) : [[...twin.holes]];
  const missed: string[] = [];
  const found: Finding[] = [];
  const stray: string[] = [];
  const unlike: string[] = [];
  for (const holes of groups) {
    const [first, second] = [await findingsOf(twin, holes), await findingsOf(twin, holes)];
    found.push(...first);
    missed.push(...holes.filter((hole) => !first.some((one) => twin.shows(one, hole))));
    stray.push(
      ...first.filter((one) => !holes.some((hole) => twin.shows(one, hole)) && !twin.isAlso?.(one))
        .map(nameOf),
    );
    const [names, again] = [first, second].map((list) => list.map(nameOf)) as [string[], string[]];
    unlike.push(...names.filter((one) => !again.includes(one)));
    unlike.push(...again.filter((one) => !names.includes(one)));
  }
  return {
    name,
    holes: twin.holes.length,
    missed,
    findings: found.length,
    stray,
    guarded: (await findingsOf(twin, [])).map(nameOf),
    unlike,
  };
}

async function findingsOf(twin: Twin, holes: readonly string[]): Promise<Finding[]> {
  const { argv, files } = await twin.open(holes);
  const { stdout, stderr } = await runTool(folder(files), "run", ...argv, "--output", "json");
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout).findings;
}

function nameOf({ family, operation, title }: Finding): string {
  return `${family} ${operation ?? title}`;
}
