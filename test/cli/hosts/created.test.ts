import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HOSTS } from "../../../server/hosts/hosts.ts";
import { createHostStage, type HostStage } from "./stage.ts";

let stage: HostStage;
afterEach(() => stage.close());

const setUp = (...flags: string[]) =>
  stage.run(["global-setup", "--host", stage.host.id, ...flags]);

/** The host's files that exist: with the MCP entry, the hooks and the status line. */
const files = () => {
  const { hooks } = stage.host;
  const paths = [stage.file];
  if (hooks) paths.push(stage.env.HOME + hooks.settings.user_file.path.replace(/^~/, ""));
  return [...new Set(paths)].filter((path) => existsSync(path));
};

describe.each(HOSTS.map(({ id }) => id))("after global-setup --remove for %s", (id) => {
  beforeEach(async () => void (stage = await createHostStage(id)));

  test("no file stays that gate created", async () => {
    expect(files()).toEqual([]);
    expect(await setUp("--enforce")).toMatchObject({ code: 0 });
    expect(files()).not.toEqual([]);
    expect(await setUp("--remove")).toMatchObject({ code: 0 });
    expect(files()).toEqual([]);
  });

  test("a file that was empty before gate stays", async () => {
    const before = stage.format === "toml" ? "\n" : "{}\n";
    writeFileSync(stage.file, before);
    await setUp();
    await setUp("--remove");
    expect(existsSync(stage.file)).toBe(true);
  });
});

describe("of the files that gate created for Claude Code", () => {
  let settings: string;
  beforeEach(async () => {
    stage = await createHostStage("claude-code");
    settings = join(stage.folder, ".claude", "settings.json");
  });

  test("the one with only the status line goes", async () => {
    await setUp("--statusline");
    expect(readFileSync(settings, "utf8")).toContain("statusline");
    await setUp("--remove");
    expect(existsSync(settings)).toBe(false);
  });

  test("the one with hooks and the status line goes", async () => {
    await setUp("--statusline", "--enforce");
    await setUp("--remove");
    expect(existsSync(settings)).toBe(false);
  });

  test("those stay in which somebody wrote a setting since", async () => {
    await setUp("--statusline", "--enforce");
    for (const path of [stage.file, settings]) {
      const known = JSON.parse(readFileSync(path, "utf8"));
      writeFileSync(path, JSON.stringify({ ...known, theirs: false }));
    }
    await setUp("--remove");
    for (const path of [stage.file, settings]) {
      expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ theirs: false });
    }
  });

  test("the target of a person's link goes, and the link stays", async () => {
    const target = join(stage.folder, "dotfiles", "claude.json");
    mkdirSync(dirname(target));
    symlinkSync(target, stage.file);
    await setUp();
    expect(existsSync(target)).toBe(true);
    await setUp("--remove");
    expect(existsSync(target)).toBe(false);
  });

  test("the one goes out of which the host's own program removes the entry", async () => {
    await setUp();
    const program = join(stage.folder, "bin", "claude");
    mkdirSync(dirname(program));
    writeFileSync(program, `#!/bin/sh\nprintf '{"mcpServers":{}}' > "$HOME/.claude.json"\n`);
    chmodSync(program, 0o755);
    stage.env.PATH = `${dirname(program)}:/usr/bin:/bin`;
    expect((await setUp("--remove", "--json")).stdout).toContain('"via":"claude"');
    expect(existsSync(stage.file)).toBe(false);
  });

  test("all stay when the record is lost or damaged, and the record is private", async () => {
    const record = join(stage.folder, ".gate", "created_files.json");
    await setUp();
    expect(statSync(record).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(record, "utf8"))).toEqual([stage.file]);
    writeFileSync(record, "{");
    await setUp("--remove");
    expect(existsSync(stage.file)).toBe(true);
    rmSync(stage.file);
    await setUp();
    await setUp("--remove");
    expect(existsSync(stage.file)).toBe(false);
    expect(JSON.parse(readFileSync(record, "utf8"))).toEqual([]);
  });
});

test("a file with a comment stays", async () => {
  for (const [id, comment] of [["zed", "// mine\n"], ["codex", "# mine\n"]] as const) {
    stage = await createHostStage(id);
    await setUp();
    writeFileSync(stage.file, comment + readFileSync(stage.file, "utf8"));
    await setUp("--remove");
    expect(readFileSync(stage.file, "utf8"), id).toContain(comment);
    if (id === "zed") stage.close();
  }
});
