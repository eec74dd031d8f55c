import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  backUp,
  openConfig,
  retryOnConflict,
  saveConfig,
} from "../../../cli/hosts/edit/config_file.ts";
import { createHostStage, type HostStage, sample, serversIn, snapshot, write } from "./stage.ts";

let stage: HostStage;
beforeEach(async () => {
  stage = await createHostStage("claude-code");
});
afterEach(() => stage.close());

const setUp = async () => {
  const { stdout, code } = await stage.run(["global-setup", "--host", "claude-code", "--json"]);
  return { code, ...JSON.parse(stdout).hosts[0] };
};

describe("with the claude program on PATH", () => {
  /** Writes a program that records its arguments and then runs a script. */
  const install = (script: string) => {
    const bin = join(stage.folder, "bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(
      join(bin, "claude"),
      `#!/bin/sh\nprintf '%s\\n' "$*" >> "$HOME/calls"\nfor last; do :; done\n${script}\n`,
    );
    chmodSync(join(bin, "claude"), 0o755);
    stage.env.PATH = `${bin}:/usr/bin:/bin`;
  };
  const calls = () => {
    const file = join(stage.folder, "calls");
    return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  };
  const WRITES = `[ "$2" = remove ] && exit 0
printf '{"mcpServers":{"gate":%s},"numStartups":7}' "$last" > "$HOME/.claude.json"`;

  test("claude writes the entry, once", async () => {
    install(WRITES);
    expect(await setUp()).toMatchObject({ code: 0, outcome: "added", via: "claude", backup: null });
    expect(calls()).toHaveLength(1);
    expect(calls()[0]).toMatch(/^mcp add-json --scope user gate \{"type":"stdio","command":"\//);
    expect(serversIn(stage).gate).toMatchObject({ type: "stdio", timeout: 3_600_000 });
    expect(await setUp()).toMatchObject({ code: 0, outcome: "unchanged", via: null });
    expect(calls()).toHaveLength(1);
  });

  test("--remove lets claude remove the entry", async () => {
    install(WRITES);
    await setUp();
    install(`[ "$2" = remove ] && printf '{"numStartups":8}' > "$HOME/.claude.json"`);
    const { stdout } = await stage.run([
      "global-setup",
      "--host",
      "claude-code",
      "--remove",
      "--json",
    ]);
    expect(JSON.parse(stdout).hosts[0]).toMatchObject({ outcome: "removed", via: "claude" });
    expect(calls().at(-1)).toBe("mcp remove gate -s user");
    expect(readFileSync(stage.file, "utf8")).toBe('{"numStartups":8}');
  });

  test("claude replaces an outdated entry, and the new one keeps a person's settings", async () => {
    write(
      stage,
      sample(stage, { gate: { command: "/old/gate", args: ["mcp"], timeout: 5, env: { A: "b" } } }),
    );
    const before = readFileSync(stage.file, "utf8");
    install(WRITES);
    const { outcome, via, backup } = await setUp();
    expect({ outcome, via }).toEqual({ outcome: "updated", via: "claude" });
    expect(readFileSync(backup, "utf8")).toBe(before);
    expect(calls()[0]).toBe("mcp remove gate -s user");
    expect(serversIn(stage).gate).toMatchObject({ timeout: 5, env: { A: "b" } });
  });

  test.each(["exit 1", "exit 0", "echo '{' ; exit 3"])(
    "if claude does not write the entry (%s), gate edits the file",
    async (script) => {
      write(stage, sample(stage, { other: { command: "x" } }));
      install(script);
      expect(await setUp()).toMatchObject({ code: 0, outcome: "added", via: "file" });
      expect(Object.keys(serversIn(stage))).toEqual(["other", "gate"]);
    },
  );

  test("a file that claude broke is an error, and a backup exists", async () => {
    write(stage, sample(stage, { other: { command: "x" } }));
    const before = readFileSync(stage.file, "utf8");
    install(`echo '{"half' > "$HOME/.claude.json"`);
    expect(await setUp()).toMatchObject({ code: 1, outcome: "failed" });
    const folder = join(stage.folder, ".gate", "backups");
    expect(readFileSync(join(folder, readdirSync(folder)[0]!), "utf8")).toBe(before);
  });

  test("claude does not run on a broken file, because it would move the file away", async () => {
    write(stage, "{ broken");
    install(WRITES);
    expect(await setUp()).toMatchObject({ code: 1, outcome: "failed" });
    expect(calls()).toEqual([]);
  });

  test("--dry-run does not start claude", async () => {
    install(WRITES);
    const before = snapshot(stage.folder);
    await stage.run(["global-setup", "--dry-run"]);
    expect(snapshot(stage.folder)).toEqual(before);
  });
});

describe("a file that another program changes at the same time", () => {
  test("is not overwritten if it changed since it was read", async () => {
    write(stage, "{}");
    const file = openConfig(stage.file);
    write(stage, '{"theirs":1}');
    const saved = saveConfig(file, '{"ours":1}', { home: join(stage.folder, ".gate"), label: "x" });
    await expect(saved).rejects.toMatchObject({ code: "conflict" });
    expect(readFileSync(stage.file, "utf8")).toBe('{"theirs":1}');
    expect(readdirSync(stage.folder).filter((name) => name.includes(".tmp"))).toEqual([]);
  });

  test("is read again, at most three times", async () => {
    const home = join(stage.folder, ".gate");
    write(stage, "{}");
    let n = 0;
    const attempt = (disturbances: number) => async () => {
      const file = openConfig(stage.file);
      if (n++ < disturbances) write(stage, `{"theirs":${n}}`);
      await saveConfig(file, file.text!.replace("}", ',"ours":1}'), { home, label: "x" });
    };
    await retryOnConflict(attempt(2));
    expect(n).toBe(3);
    expect(readFileSync(stage.file, "utf8")).toBe('{"theirs":2,"ours":1}');
    n = 0;
    await expect(retryOnConflict(attempt(3))).rejects.toMatchObject({ code: "conflict" });
  });
});

test("a folder of backups that cannot be made is told in words", async () => {
  stage = await createHostStage("gemini-cli");
  write(stage, sample(stage, { other: { command: "x" } }));
  mkdirSync(join(stage.folder, ".gate"), { mode: 0o700 });
  writeFileSync(join(stage.folder, ".gate", "backups"), "");
  const { code, stderr } = await stage.run(["global-setup", "--host", "gemini-cli"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^gate: Cannot use ".+backups.*": (it already exists|a part of its path)/m,
  );
  expect(stderr).not.toMatch(/E[A-Z]{4,}/);
});

test("backups made at the same moment have different names", () => {
  write(stage, "{}");
  const backups = { home: join(stage.folder, ".gate"), label: "x" };
  const file = openConfig(stage.file);
  const copies = new Set(Array.from({ length: 20 }, () => backUp(file, backups)));
  expect(copies.size).toBe(20);
});

test("the entry sets GATE_HOME only if it is not the default", async () => {
  stage.env.GATE_HOME = join(stage.folder, "elsewhere");
  delete stage.env.GATE_PORT;
  await setUp();
  expect(serversIn(stage).gate.env).toEqual({ GATE_HOME: join(stage.folder, "elsewhere") });
  stage.env.GATE_HOME = join(stage.folder, ".gate");
  expect(await setUp()).toMatchObject({ outcome: "updated" });
  expect(serversIn(stage).gate.env ?? {}).toEqual({});
});

test("an unknown host is wrong usage, and --host accepts several hosts", async () => {
  expect(await stage.run(["global-setup", "--host", "emacs"])).toMatchObject({ code: 64 });
  const args = [
    "global-setup",
    "--dry-run",
    "--json",
    "--host",
    "zed",
    "codex",
    "--host",
    "cursor",
  ];
  const { stdout } = await stage.run(args);
  const { hosts, dry_run, server } = JSON.parse(stdout);
  expect(hosts.map(({ host }: { host: string }) => host)).toEqual(["codex", "cursor", "zed"]);
  expect(dry_run).toBe(true);
  expect(server).toMatchObject({ name: "gate" });
});
