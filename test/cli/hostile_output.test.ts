import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openConnection } from "../../cli/daemon/connect.ts";
import { displayWidth } from "../../cli/terminal/width.ts";
import { unwrap } from "../../server/client.ts";
import { listCommands } from "./every_command.ts";
import { CONFIG, type GatedProject, openGatedProject } from "./gated_project.ts";
import { ELSEWHERE } from "./hostile_surroundings.ts";
import { ACTS, around, COLOUR, GIVEN, TEXTS } from "./hostile_texts.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

/** The arguments of each command that prints texts of agents, files or other people. */
const PRINTS: Record<string, string[][]> = {
  "global-config show": [[]],
  "team list": [[]],
  "team whoami": [[]],
  "route list": [[]],
  "route test": [["--path", "TEXT"], ["--command", "TEXT"]],
  "notify list": [[]],
  "notify failed": [[]],
  "config show": [[]],
  "project list": [[]],
  "hub status": [[]],
  "workspace list": [[]],
  "workspace show": [["odd"]],
  "daemon status": [[]],
  "daemon logs": [[]],
  "service status": [[]],
  status: [[]],
  doctor: [[]],
  prompt: [[]],
  pending: [[], ["--routed"], ["--escalations"]],
  show: [["HELD"], ["WRITE"], ["REJECTED"], ["DENIED"], ["TEXT"]],
  approve: [["DENIED"], ["TEXT"]],
  reject: [["DENIED", "--reason", "TEXT"]],
  "sandbox show": [[]],
  "grant list": [[]],
  "grant revoke": [["TEXT"]],
  rollback: [["DONE", "--dry-run"], ["TEXT"]],
  log: [["-n", "500"], ["TEXT"], ["--agent", "TEXT"], ["--session", "TEXT"]],
  "session list": [[]],
  "session show": [["SESSION"], ["TEXT"]],
  "session diff": [["SESSION"]],
  "session blocks": [[]],
  "session assess": [["SESSION"]],
  "session evaluate": [["SESSION"]],
  "session recommend": [["SESSION"]],
  "session end": [["TEXT"]],
  "session unblock": [["TEXT"]],
  "session rollback": [["SESSION", "--dry-run"]],
  "agents history": [[], ["--agent", "TEXT"]],
  agents: [[]],
  "policy test": [["--command", "TEXT"], ["--path", "TEXT"], ["--command", "program-7 x"]],
  "policy explain": [["--command", "TEXT"], ["--path", "TEXT"], ["--command", "program-7 x"]],
  "policy replay": [["--since", "30d"], ["--policies", "rules.json"], ["--policies", "TEXT"]],
  "policy suggest": [[]],
  "policy templates": [[]],
  "analytics summary": [[]],
  "analytics attention": [[]],
  "audit verify": [[], ["TEXT"]],
  "audit export": [["--format", "csv"], ["--format", "json"], ["--project", "web"]],
  "audit checkpoint": [[]],
  gc: [["--dry-run", "--days", "1"]],
  api: [["GET", "/api/actions"], ["GET", "/TEXT"]],
  "update-instructions": [["--check"]],
  "cleanup-mcp": [["--dry-run"]],
  "global-setup": [["--dry-run"]],
  "workspace start": [["odd", "--no-open"], ["TEXT"]],
  "policy bench": [["corpus.jsonl"], ["TEXT"]],
  token: [[]],
  "proof status": [[]],
  completion: [["TEXT"]],
  "agents terminate": [["TEXT"]],
  "notify add": [["webhook", "TEXT"], ["TEXT", "ops"]],
  "notify remove": [["TEXT"]],
  "notify test": [[], ["TEXT"]],
  "notify retry": [["TEXT"]],
  "notify discard": [["TEXT"]],
  "project remove": [["TEXT"]],
  "project trust-override": [["TEXT"]],
  "workspace add-project": [["odd", "TEXT"], ["TEXT", "TEXT"]],
  "workspace remove-project": [["odd", "TEXT"]],
  "workspace remove": [["TEXT"]],
  "sandbox open": [["TEXT"]],
  "sandbox close": [["TEXT"]],
  "team change": [["TEXT", "--role", "viewer"]],
  "team link": [["TEXT"]],
  "team accept": [[]],
  "team remove": [["TEXT"]],
  "route change": [["TEXT", "--quorum", "1"]],
  "route remove": [["TEXT"]],
  // These leave what they add.
  "workspace create": [["TEXT"]],
  "team add": [["TEXT"]],
  "route add": [["TEXT", "--member", "ann", "--command", "TEXT"]],
};

let gated: GatedProject;
let ids: Record<string, string>;

beforeAll(async () => {
  gated = await openGatedProject();
  const { terminal, folder, good } = gated;
  const rules = TEXTS.map((text, at) => ({
    pattern: `program-${at} *`,
    reason: text,
    alternative: `instead ${text}`,
  }));
  const policies = { ...CONFIG.policies, askCommands: rules, maxDenialsPerSession: 1 };
  writeFileSync(join(folder, "gate.config.json"), JSON.stringify({ ...CONFIG, policies }));
  writeFileSync(
    join(folder, "rules.json"),
    JSON.stringify({ blockedCommands: rules.slice(0, 40) }),
  );
  const cases = TEXTS.map((text, at) => ({
    id: `c-${at}`,
    category: text.slice(0, 60),
    command: `program ${text}`,
    expect: "allow",
  }));
  writeFileSync(join(folder, "corpus.jsonl"), cases.map((one) => JSON.stringify(one)).join("\n"));
  mkdirSync(join(folder, "src"), { recursive: true });
  await good("config", "accept");
  await good("workspace", "create", "p\u0430ypal \u05d0\u05d1 读我🚀", "--id", "odd");
  await good("workspace", "add-project", "odd", folder);
  const route = ["--quorum", "1", "--command", "program-1*"];
  await good("team", "add", "Ann");
  await good("route", "add", "Route p\u0430ypal 读我", "--member", "ann", ...route);
  ids = await plant(terminal.env, folder);
});
afterAll(() => gated?.close());

/** Submits actions that carry the texts, and returns one id of each kind. */
async function plant(env: GatedProject["terminal"]["env"], folder: string) {
  const { client } = await openConnection({ env, cwd: folder, pid: 1 }, { scope: "agent" });
  const secret = new Map<string, string>();
  const open = async (agent: string) => {
    const session = await unwrap(client.api.sessions.$post({ json: { agent, root: folder } }));
    secret.set(session.id, session.session_secret);
    return session.id;
  };
  const submit = async (session_id: string, tool: string, input: Record<string, unknown>) => {
    const headers = { "x-gate-session": secret.get(session_id)! };
    return await unwrap(
      client.api.actions.$post({ json: { tool, input, session_id } }, { headers }),
    );
  };
  let session = "";
  const held: string[] = [];
  for (const [at, text] of TEXTS.entries()) {
    if (at % 5 === 0) session = await open(`agent ${text}`.slice(0, 200));
    held.push((await submit(session, "run_command", { command: `program-${at} ${text}` })).id);
  }
  const write = await submit(session, "write_file", { path: "a.txt", content: TEXTS.join("\n") });
  const first = await submit(session, "write_file", { path: "src/b.txt", content: "one\n" });
  const done = await submit(session, "write_file", {
    path: "src/b.txt",
    content: TEXTS.join("\n"),
  });
  await submit(session, "write_file", { path: "src/读我读我.txt", content: "wide" });
  const denied = await submit(session, "write_file", { path: ".env", content: TEXTS.join("\n") });
  const other = await open("gone");
  for (const path of [".env", "deep/.env", "x/.env"]) {
    await submit(other, "write_file", { path, content: "A" });
  }
  await gated.good("reject", held[1]!, "--reason", `no ${TEXTS[101]}`);
  expect([first, done].map(({ execution }) => execution)).toEqual(["succeeded", "succeeded"]);
  return {
    HELD: held[7]!,
    WRITE: write.id,
    DONE: done.id,
    DENIED: denied.id,
    REJECTED: held[1]!,
    SESSION: session,
  };
}

test("each command is tried here or in hostile_surroundings.test.ts", async () => {
  const names = (await listCommands()).filter(({ command }) =>
    command.commands.length === 0 || command.registeredArguments.length > 0 ||
    Object.hasOwn(PRINTS, command.name())
  ).map(({ path }) => path.join(" "));
  const tried = [...Object.keys(PRINTS), ...ELSEWHERE, "config accept"];
  expect(names.filter((name) => !tried.includes(name))).toEqual([]);
});

describe.each(Object.keys(PRINTS))("gate %s", (name) => {
  const variants = PRINTS[name]!;
  test.each(variants.map((args) => [args.join(" "), args] as const))(
    "%s prints no character that acts on a terminal",
    async (_, args) => {
      const isAny = args.some((arg) => arg.endsWith("TEXT"));
      for (const text of isAny ? GIVEN : [""]) {
        const filled = args.map((arg) => ids[arg] ?? arg.replace("TEXT", text));
        await check([...name.split(" "), ...filled]);
      }
      if (await hasJson(name)) {
        await check([
          ...name.split(" "),
          ...args.map((arg) => ids[arg] ?? arg),
          "--json",
        ]);
      }
    },
  );
});

test.each([false, true])(
  "gate config accept prints no such character of what has changed (for a person: %s)",
  async (person) => {
    const config = join(gated.folder, "gate.config.json");
    const { policies, ...rest } = JSON.parse(readFileSync(config, "utf8"));
    const changed = TEXTS.map((text, at) => ({
      pattern: `other-${person}-${at} *`,
      reason: text,
    }));
    const next = { ...policies, blockedCommands: changed };
    writeFileSync(config, JSON.stringify({ ...rest, policies: next }));
    const { stdout, stderr } = await gated.terminal.run(["config", "accept"], {
      ...{ person, columns: 80 },
    });
    expect(stdout).toContain(`other-${person}-0`);
    for (const text of [stdout.replace(COLOUR, ""), stderr.replace(COLOUR, "")]) {
      expect(text.match(ACTS)?.[0], around(text)).toBeUndefined();
    }
  },
);

const withJson = new Set(
  (await listCommands()).filter(({ command }) =>
    command.options.some(({ long }) => long === "--json")
  )
    .map(({ path }) => path.join(" ")),
);
const hasJson = (name: string) => withJson.has(name);

async function check(args: string[]): Promise<void> {
  const piped = await gated.terminal.run(args);
  // A pipe gets the exact bytes of data.
  const isData = args[0] === "api" || (args[0] === "audit" && args[1] === "export");
  for (const text of [isData ? "" : piped.stdout, piped.stderr]) {
    expect(text.match(ACTS)?.[0], `${JSON.stringify(args)}: ${around(text)}`).toBeUndefined();
  }
  const { stdout } = await gated.terminal.run(args, { person: true, columns: 80 });
  const bare = stdout.replace(COLOUR, "");
  expect(bare.match(ACTS)?.[0], `${JSON.stringify(args)}: ${around(bare)}`).toBeUndefined();
  const wide = bare.split("\n").find((line) => displayWidth(line) > 80);
  if (!args.includes("--json") && !isData) {
    expect(wide, args.join(" ")).toBeUndefined();
  }
}
