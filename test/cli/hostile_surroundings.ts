import { GIVEN } from "./hostile_texts.ts";

/** A run of a command in a folder, with a home and with variables whose names act on a terminal. */
export interface Try {
  args: string[];
  input?: string;
  /** It serves until a signal comes, and this is what it prints before. */
  until?: string;
  /** It reads its whole input, which a person does not type. */
  isPiped?: true;
  /** An action is held for it. */
  isHeld?: true;
}

/** The beginning of the command that is held. */
export const HELD = "npm publish";

const tried = (...lines: string[]): Try[] =>
  lines.flatMap((line) =>
    line.includes("TEXT") ? GIVEN.map((text) => tryOf(line, text)) : [tryOf(line)]
  );
const tryOf = (line: string, text = ""): Try => ({
  args: line.split(" ").map((word) => word.replace("TEXT", text)),
});
const given = (line: string, input: string): Try => ({ args: line.split(" "), input });

const PASSPHRASES = "correct horse battery\nanother horse battery\n";

/** The attempts with each command, in this order. */
export const SURROUNDED: Record<string, Try[]> = {
  "daemon start": tried("daemon start", "daemon start --json", "daemon start --auth TEXT"),
  init: tried(
    "init --dry-run",
    "init --dry-run --verbose",
    "init --yes --id web",
    "init --yes --json",
    "init --yes --enforce --platform claude-code",
    "init --yes --id TEXT",
    "init --yes --platform TEXT",
  ),
  "global-config init": tried(
    "global-config init --dry-run",
    "global-config init",
    "global-config init --json",
  ),
  "global-config edit": tried("global-config edit", "global-config edit --draft TEXT"),
  dashboard: tried("dashboard --no-open", "dashboard", "dashboard --json"),
  start: [{ args: ["start"], until: "localhost" }],
  watch: [
    { args: ["watch"], until: HELD, isHeld: true },
    { args: ["watch", "--json"], until: HELD },
    ...tried("watch --as TEXT", "watch --project TEXT --TEXT").map((one) => ({
      ...one,
      until: HELD,
    })),
  ],
  "proof set": [
    given("proof set --passphrase-stdin", PASSPHRASES),
    ...tried("proof set --passkey", "proof set --member TEXT --link TEXT"),
  ],
  "proof change": [
    given("proof change --passphrase-stdin", PASSPHRASES),
    ...tried("proof change --member TEXT"),
  ],
  "proof remove": tried("proof remove", "proof remove --member TEXT"),
  "hub join": tried("hub join", "hub join --project TEXT"),
  "hub leave": tried("hub leave", "hub leave --project TEXT"),
  "service install": tried("service install --dry-run", "service install", "service install TEXT"),
  "service logs": tried("service logs", "service logs --json"),
  "service remove": tried("service remove", "service remove --json"),
  statusline: [
    {
      args: ["statusline"],
      isPiped: true,
      input: JSON.stringify({ model: { display_name: GIVEN.join() }, rate_limits: {} }),
    },
  ],
  "daemon restart": tried("daemon restart", "daemon restart --json"),
  "daemon stop": tried("daemon stop", "daemon stop", "daemon stop --json"),
};

/** Commands whose outputs `hostile_surroundings.test.ts` reads, or checks in another way. */
export const ELSEWHERE = [...Object.keys(SURROUNDED), "demo", "man", "mcp", "hook", "scenario"];
