import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listCommands } from "../cli/every_command.ts";
import { ELSEWHERE, SHAPES } from "./json_shapes.ts";
import { World } from "./world.ts";

/** One command line with its expected outcome. */
interface Step {
  /** A word that begins with `$` is replaced by a value that an earlier step kept. */
  line: string;
  /** The text on standard input. */
  input?: string;
  code?: number;
  /** A part of the error; without one the command must print JSON in its shape. */
  error?: string;
  // deno-lint-ignore no-explicit-any
  keep?: (json: any) => Record<string, string>;
}

const STEPS: Step[] = [
  { line: "daemon start --json" },
  { line: "daemon start --json" },
  { line: "init --yes --id demo --dry-run --policy-template strict --json" },
  { line: "init --yes --json" },
  { line: "init --json", code: 64, error: "Cannot ask" },
  { line: "status --json" },
  { line: "status --jsn", code: 64, error: "(Did you mean --json?)" },
  { line: "daemon status --json" },
  { line: "daemon logs -n 1 --json" },
  { line: "daemon logs -n many", code: 64, error: "whole number from 0 to 100000" },
  { line: "prompt --json" },
  { line: "dashboard --no-open --json" },
  { line: "project list --json" },
  { line: "hub status --json" },
  { line: "hub join", code: 1, error: "names no server" },
  { line: "hub leave --project demo", code: 1, error: "on this machine already" },
  { line: "pending --json" },
  { line: "pending --project none", code: 1, error: 'Cannot find project "none"' },
  { line: "show $write --json" },
  { line: "show 00000000", code: 1, error: "try: " },
  { line: "approve $write --json" },
  { line: "approve $write", code: 1, error: "it is approved\n  try: gate show " },
  { line: "reject $refused --reason no --json" },
  { line: "reject $refused --reason no", code: 1, error: "it is rejected\n  try: gate show " },
  { line: "approve $granted --remember project --json" },
  { line: "grant list --json", keep: ([{ id }]) => ({ grant: id }) },
  { line: "grant revoke $grant --json" },
  { line: "grant revoke $grant", code: 1, error: "revoked" },
  { line: "rollback $write --dry-run --json" },
  { line: "rollback $write --json" },
  { line: "rollback $refused", code: 1, error: "Cannot roll back" },
  { line: "log --json" },
  { line: "log --status maybe", code: 64, error: "Allowed choices are" },
  { line: "analytics summary --json" },
  { line: "analytics attention --window 7d --json" },
  { line: "analytics attention --window week", code: 64, error: "Expected minutes, hours or days" },
  { line: "agents --json" },
  { line: "agents history --json" },
  { line: "agents terminate 1", code: 1, error: "no agent's session left it behind" },
  { line: "session list --json", keep: ([{ id }]) => ({ session: id }) },
  { line: "session show $session --json" },
  { line: "session blocks --json" },
  { line: "session assess $session --json" },
  { line: "session evaluate $session --json" },
  { line: "session recommend $session --json" },
  { line: "session unblock none", code: 1, error: "it has none" },
  { line: "session show none", code: 1, error: "Cannot find session" },
  { line: "session diff $session --json" },
  { line: "session rollback $session --dry-run --json" },
  { line: "policy test --path src/a.ts --action write --json" },
  { line: "policy test --path .env --action write --json", code: 1 },
  { line: "policy test", code: 64, error: "no command or path is given" },
  { line: "policy explain --command ls --json" },
  { line: "policy suggest --json" },
  { line: "audit verify --json" },
  { line: "audit checkpoint --json" },
  { line: "audit export --format xml", code: 64, error: "Allowed choices are json, csv" },
  { line: "workspace create Shop --id shop --json" },
  { line: "workspace create Shop --id shop", code: 1, error: "it exists already" },
  { line: "workspace add-project shop . --json" },
  { line: "workspace add-project shop /nowhere", code: 1, error: "/nowhere" },
  { line: "workspace list --json" },
  { line: "workspace show shop --json" },
  { line: "workspace start shop --no-open --json" },
  { line: "workspace start none", code: 1, error: 'Cannot find workspace "none"' },
  { line: "workspace remove-project shop demo --json" },
  { line: "workspace remove shop --json" },
  { line: "team add Ann --role admin --json" },
  { line: "team add Ann", code: 1, error: "the id is taken" },
  { line: "team list --json" },
  { line: "team whoami --json" },
  { line: "team change ann --role reviewer --json" },
  { line: "team change ann", code: 64, error: "give --name, --role or --email" },
  { line: "team link ann --json" },
  { line: "team link none", code: 1, error: 'Cannot find member "none"' },
  { line: "route add All --member ann --quorum 2", code: 1, error: "it has only 1 approvers" },
  { line: "route add Docs --path docs/** --member ann --role admin --quorum 2 --json" },
  { line: "route list --json" },
  { line: "route test --path docs/x.md --json" },
  { line: "route test", code: 64, error: "no command or path is given" },
  { line: "route change docs --quorum 1 --expires-after 1h --json" },
  { line: "route change docs", code: 64, error: "give at least one option" },
  { line: "team remove ann", code: 1, error: 'route "docs" names them' },
  { line: "team accept --json" },
  { line: "route remove docs --json" },
  { line: "route remove docs", code: 1, error: 'Cannot find approval route "docs"' },
  { line: "team remove ann --json" },
  { line: "global-config init --json" },
  { line: "global-config init --json" },
  { line: "global-config show --json" },
  { line: "notify list --json" },
  { line: "notify test", code: 1, error: "no receiver is configured" },
  { line: "notify add slack chat --url-env GATE_NO_SUCH --json" },
  { line: "notify add slack chat --url-env A", code: 1, error: "the name is taken" },
  { line: "notify add slack b --url https://a.example", code: 64, error: "url" },
  { line: "notify failed --json" },
  { line: "notify retry --all --json" },
  { line: "notify retry none", code: 1, error: 'Cannot find message "none"' },
  { line: "notify discard none", code: 1, error: 'Cannot find message "none"' },
  { line: "notify remove chat --json" },
  { line: "config show --json" },
  { line: "config accept --json" },
  { line: "config accept --sha256 none", code: 1, error: "Cannot accept the config" },
  { line: "global-setup --host cursor --dry-run --json" },
  { line: "global-setup --host cursor --json" },
  { line: "global-setup --host emacs", code: 64, error: "Allowed choices are" },
  { line: "cleanup-mcp --json" },
  { line: "update-instructions --check --json", code: 1 },
  { line: "update-instructions --json" },
  { line: "update-instructions --check --json" },
  { line: "doctor --json" },
  { line: "service install --dry-run --json" },
  { line: "service install --auth none", code: 64, error: "a service always requires a token" },
  { line: "service status --json", code: 1 },
  { line: "service logs -n 1 --json" },
  { line: "service remove --json" },
  { line: "project trust-override demo --json" },
  { line: "project trust-override demo --revoke --json" },
  { line: "project remove none", code: 1, error: 'Cannot find project "none"' },
  { line: "daemon restart --json" },
  { line: "project remove demo --json", code: 1, error: "it has unfinished actions" },
  { line: "reject $held --reason no --json" },
  { line: "session end $session --json" },
  { line: "project remove demo --json" },
  { line: "proof status --json" },
  { line: "proof set", code: 64, error: "no terminal to ask" },
  { line: "proof set --passkey --json" },
  { line: "proof set --passphrase-stdin --json", input: "first passphrase\n" },
  {
    line: "proof set --passphrase-stdin",
    input: "another one\n",
    code: 1,
    error: "Cannot set a proof: reviewer set a passphrase",
  },
  {
    line: "proof change --passphrase-stdin --json",
    input: "first passphrase\nsecond passphrase\n",
  },
  { line: "proof remove", code: 64, error: "no terminal to ask" },
  { line: "proof remove --passphrase-stdin --json", input: "second passphrase\n" },
  { line: "proof remove", code: 1, error: "Cannot " },
  { line: "demo --json" },
  { line: "daemon stop --json" },
  { line: "daemon stop --json" },
  {
    line: "status --json",
    code: 1,
    error: "Cannot reach the daemon: it is not running\n  try: gate daemon start",
  },
  { line: "prompt --json" },
];

describe("every command, run in sequence by the executable", () => {
  let world: World;
  const kept: Record<string, string> = {};

  beforeAll(async () => {
    world = await World.create("executable");
    mkdirSync(join(world.home, ".cursor"));
    await world.init();
    for (const name of ["write", "refused", "granted", "held"]) {
      const { body } = await world.api("POST", "/api/actions?project=demo", {
        tool: "write_file",
        input: { path: `docs/${name}.md`, content: `${name}\n` },
      }, "agent");
      kept[name] = body.id;
    }
    writeFileSync(join(world.project, "notes.txt"), "");
  });

  afterAll(() => world.close());

  test.each(STEPS)("gate $line", async ({ line, input, code = 0, error, keep }) => {
    const args = line.split(" ").map((word) => word[0] === "$" ? kept[word.slice(1)]! : word);
    const ended = await world.run(args, input === undefined ? {} : { input });
    expect(ended.code, ended.stderr).toBe(code);
    if (error !== undefined) {
      expect(ended.stderr).toMatch(/^gate: /);
      expect(ended.stderr).toContain(error);
      return expect(ended.stdout).toBe("");
    }
    const shape = SHAPES[nameOf(line)]!;
    for (const json of ended.stdout.trim().split("\n").map((one) => JSON.parse(one))) {
      // Some shapes are loose: parse() must keep every key.
      expect(shape.parse(json)).toEqual(json);
      Object.assign(kept, keep?.(json));
    }
  });

  test("the steps cover every command that prints JSON", async () => {
    const printing = (await listCommands())
      .filter(({ command }) => command.options.some(({ long }) => long === "--json"))
      .map(({ path }) => path.join(" "));
    const taken = STEPS.filter(({ error }) => error === undefined).map(({ line }) => nameOf(line));
    expect(printing.filter((name) => !taken.includes(name)).sort())
      .toEqual(Object.keys(ELSEWHERE).sort());
  });
});

/** The command of a line: two words when that command has a shape, else one. */
function nameOf(line: string): string {
  const words = line.split(" ");
  const two = words.slice(0, 2).join(" ");
  return two in SHAPES ? two : words[0]!;
}
