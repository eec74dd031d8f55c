import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { isAbsolute, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PLATFORMS } from "../../../server/hosts/hosts.ts";
import {
  createHostStage,
  entry,
  type HostStage,
  insertedInto,
  sample,
  serversIn,
  snapshot,
  write,
} from "./stage.ts";

describe.each(PLATFORMS)("%s", (id) => {
  let stage: HostStage;
  beforeEach(async () => {
    stage = await createHostStage(id);
  });
  afterEach(() => stage.close());

  const text = () => readFileSync(stage.file, "utf8");
  const backups = () => {
    const folder = join(stage.folder, ".gate", "backups");
    return existsSync(folder) ? readdirSync(folder) : [];
  };

  /** Runs with --dry-run, then for real, then again. Only the real run may write. */
  const setUp = async () => {
    const before = snapshot(stage.folder);
    const dry = await stage.run(["global-setup", "--host", id, "--dry-run"]);
    expect(snapshot(stage.folder)).toEqual(before);
    const real = await stage.run(["global-setup", "--host", id, "--json"]);
    expect(dry.code).toBe(real.code);
    const done = snapshot(stage.folder);
    const again = await stage.run(["global-setup", "--host", id, "--json"]);
    expect(snapshot(stage.folder)).toEqual(done);
    const outcome = JSON.parse(real.stdout).hosts[0].outcome;
    expect(JSON.parse(again.stdout).hosts[0].outcome).toBe(real.code ? "failed" : "unchanged");
    return { outcome, ...real, dry };
  };

  const expectOurs = () => {
    const ours = serversIn(stage).gate;
    const [command, ...args] = [ours.command, ours.args ?? []].flat();
    expect(isAbsolute(command)).toBe(true);
    expect(args.at(-1)).toBe("mcp");
    // The entry needs the port, because this terminal does not use the default one.
    expect(ours.env ?? ours.environment).toEqual({ GATE_PORT: stage.env.GATE_PORT });
  };

  const expectRefused = async (before: string, why: RegExp) => {
    const { code, stdout, stderr, outcome } = await setUp();
    expect({ code, outcome }).toEqual({ code: 1, outcome: "failed" });
    expect(stdout + stderr).toMatch(why);
    expect(text()).toBe(before);
    expect(backups()).toEqual([]);
  };

  const other = () => ({
    other: entry(stage, ["npx", "-y", "other"], { TOKEN: "s3cret-of-mine" }),
  });

  test("an absent file is created with mode 600", async () => {
    expect(await setUp()).toMatchObject({ code: 0, outcome: "added" });
    expectOurs();
    expect(statSync(stage.file).mode & 0o777).toBe(0o600);
    expect(text()).toMatch(/\n$/);
  });

  test("an empty file gets the entry", async () => {
    write(stage, "");
    expect(await setUp()).toMatchObject({ code: 0, outcome: "added" });
    expectOurs();
  });

  test("with other servers, only gate's entry is added, with a backup and without showing secrets", async () => {
    const before = sample(stage, other());
    write(stage, before);
    const { dry, outcome } = await setUp();
    expect(outcome).toBe("added");
    expect(dry.stdout).toMatch(/^\+.*\bgate\b/m);
    expect(dry.stdout + dry.stderr).not.toContain("s3cret");
    expect(insertedInto(before, text())).toContain("gate");
    expectOurs();
    expect(statSync(stage.file).mode & 0o777).toBe(0o640);
    const [copy, ...more] = backups();
    expect(more).toEqual([]);
    const kept = join(stage.folder, ".gate", "backups", copy!);
    expect(readFileSync(kept, "utf8")).toBe(before);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
  });

  test("a file with one line, or without a final newline, keeps that form", async () => {
    const before = stage.format === "toml"
      ? "a = 1 # no end"
      : JSON.stringify({ a: 1, [stage.host.mcp.key]: { x: {} } });
    write(stage, before);
    await setUp();
    expect(insertedInto(before, text())).toContain("gate");
    expect(text().endsWith("\n")).toBe(false);
    if (stage.format !== "toml") expect(text()).not.toContain("\n");
    expectOurs();
  });

  test("comments are kept if the host's format allows them, else an error", async () => {
    const before = stage.format === "toml"
      ? sample(stage, other()).replaceAll("\n\n", "\n# mine\n\n")
      : sample(stage, other())
        .replace("{\n", "// mine\n{\n  /* and mine */\n")
        .replace(/\n {4}\},\n {4}"last/, '\n        // the end of servers\n    },\n    "last');
    write(stage, before);
    if (stage.format === "json") return await expectRefused(before, /line 1, column 1/);
    expect(await setUp()).toMatchObject({ code: 0, outcome: "added" });
    expect(insertedInto(before, text())).toContain("gate");
    expectOurs();
  });

  test("CRLF line endings are kept", async () => {
    const before = sample(stage, other()).replaceAll("\n", "\r\n");
    write(stage, before);
    await setUp();
    expect(text()).not.toMatch(/[^\r]\n/);
    expect(insertedInto(before, text())).toContain("gate");
    expectOurs();
  });

  test("a BOM is kept at the start", async () => {
    const before = `\uFEFF${sample(stage, other())}`;
    write(stage, before);
    await setUp();
    expect(text().lastIndexOf("\uFEFF")).toBe(0);
    expect(insertedInto(before, text())).toContain("gate");
    expectOurs();
  });

  test("a symbolic link is kept, and its target is changed", async () => {
    mkdirSync(join(stage.folder, "dotfiles"));
    const target = join(stage.folder, "dotfiles", "config");
    const link = stage.file;
    const before = sample(stage, other());
    write({ ...stage, file: target }, before);
    symlinkSync(target, link);
    await setUp();
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(insertedInto(before, readFileSync(target, "utf8"))).toContain("gate");
    expectOurs();
  });

  test("the missing target of a symbolic link is created", async () => {
    mkdirSync(join(stage.folder, "dotfiles"));
    symlinkSync(join(stage.folder, "dotfiles", "config"), stage.file);
    expect(await setUp()).toMatchObject({ code: 0, outcome: "added" });
    expect(lstatSync(stage.file).isSymbolicLink()).toBe(true);
    expectOurs();
  });

  test("a read-only file is not changed, and the error suggests chmod", async () => {
    const before = sample(stage, other());
    write(stage, before, 0o440);
    await expectRefused(before, /read-only.*chmod u\+w/s);
  });

  test("a syntax error is reported with its line", async () => {
    const before = sample(stage, other()).replace(stage.format === "toml" ? "= [" : "[", "= ! [");
    write(stage, before);
    await expectRefused(before, /Cannot read .* line [1-9]/);
  });

  test("servers of the wrong type are an error", async () => {
    write(
      stage,
      stage.format === "toml" ? "mcp_servers = 3\n" : `{"${stage.host.mcp.key}": []}\n`,
    );
    await expectRefused(text(), /Cannot edit/);
  });

  test("a folder in place of the file, or a file that is not UTF-8, is an error with a next step", async () => {
    mkdirSync(stage.file, { recursive: true });
    expect((await setUp()).stdout).toMatch(/no plain file.*move it away, then/s);
    rmdirSync(stage.file);
    writeFileSync(stage.file, Uint8Array.of(0xff, 0xfe));
    expect(await setUp()).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/not UTF-8.*save it as UTF-8, then/s),
    });
    expect([...readFileSync(stage.file)]).toEqual([0xff, 0xfe]);
  });

  test("a file with the current entry is not written", async () => {
    await setUp();
    const before = statSync(stage.file);
    expect(await setUp()).toMatchObject({ code: 0, outcome: "unchanged" });
    expect(statSync(stage.file).mtimeMs).toBe(before.mtimeMs);
    expect(backups()).toEqual([]);
  });

  test("an outdated entry gets the new command and keeps a person's settings", async () => {
    const old = entry(stage, ["/old/place/gate", "mcp", "--project", "web"], {
      MINE: "kept",
      GATE_HOME: "/gone",
    });
    const before = sample(stage, { gate: { ...old, timeout: 5 }, ...other() });
    write(stage, before);
    expect(await setUp()).toMatchObject({ code: 0, outcome: "updated" });
    const { gate } = serversIn(stage);
    expect(JSON.stringify(gate)).not.toMatch(/old|--project|gone/);
    expect(gate.timeout).toBe(5);
    expect(gate.env ?? gate.environment).toEqual({ MINE: "kept", GATE_PORT: stage.env.GATE_PORT });
    expect(serversIn(stage).other).toEqual(other().other);
  });

  test("--remove removes gate's entry and keeps every other byte", async () => {
    const before = sample(stage, other());
    write(stage, before);
    await setUp();
    const { code, stdout } = await stage.run(["global-setup", "--host", id, "--remove", "--json"]);
    expect({ code, outcome: JSON.parse(stdout).hosts[0].outcome }).toEqual({
      code: 0,
      outcome: "removed",
    });
    expect(text()).toBe(before);
    const again = await stage.run(["global-setup", "--host", id, "--remove", "--json"]);
    expect(JSON.parse(again.stdout).hosts[0].outcome).toBe("unchanged");
  });

  test("--remove keeps another program's server named gate", async () => {
    const before = sample(stage, { gate: entry(stage, ["npx", "gate-keeper"]) });
    write(stage, before);
    const removal = ["global-setup", "--host", id, "--remove"];
    expect((await stage.run([...removal, "--dry-run"])).stdout).toContain("unchanged");
    expect(await stage.run(removal)).toMatchObject({ code: 0 });
    expect(text()).toBe(before);
  });

  test("another program's server named gate is an error", async () => {
    const before = sample(stage, { gate: entry(stage, ["npx", "gate-keeper"]) });
    write(stage, before);
    await expectRefused(before, /another kind/);
  });

  test("global-setup keeps version 4 entries, and cleanup-mcp removes only them", async () => {
    const strangers = {
      ...other(),
      "gate-keeper": entry(stage, ["npx", "gate-keeper", "mcp"]),
      "my-gate": entry(stage, ["/usr/bin/gate", "mcp"]),
    };
    write(stage, sample(stage, strangers));
    await setUp();
    const clean = text();
    write(
      stage,
      sample(stage, {
        "gate-web": entry(stage, ["/usr/bin/gate", "mcp", "--project", "web"]),
        ...strangers,
        "gate-api": entry(stage, ["npx", "-y", "gate", "mcp"], { A: "b" }),
      }),
    );
    await setUp();
    expect(Object.keys(serversIn(stage))).toContain("gate-web");

    const before = snapshot(stage.folder);
    const dry = await stage.run(["cleanup-mcp", "--dry-run"]);
    expect(dry.stdout).toMatch(/^would remove.*gate-web/m);
    expect(snapshot(stage.folder)).toEqual(before);
    const { code, stdout } = await stage.run(["cleanup-mcp", "--json"]);
    expect(code).toBe(0);
    const names = (list: { name: string }[]) => list.map(({ name }) => name).sort();
    const [{ removed, kept }] = JSON.parse(stdout).files;
    expect(names(removed)).toEqual(["gate-api", "gate-web"]);
    expect(names(kept)).toEqual(["gate", "gate-keeper"]);
    expect(text()).toBe(clean);

    const done = snapshot(stage.folder);
    expect((await stage.run(["cleanup-mcp"])).stdout).toContain("No old entry was found");
    expect(snapshot(stage.folder)).toEqual(done);
  });

  test("a host that is not installed is listed and skipped, unless --host names it", async () => {
    rmSync(stage.file, { force: true });
    for (const name of readdirSync(stage.folder).filter((one) => one !== "project")) {
      rmSync(join(stage.folder, name), { recursive: true });
    }
    const all = await stage.run(["global-setup"]);
    expect(all).toMatchObject({ code: 0 });
    expect(all.stdout).toMatch(new RegExp(`^not installed +${id}$`, "m"));
    expect(readdirSync(stage.folder)).toEqual(["project"]);
    expect(await setUp()).toMatchObject({ code: 0, outcome: "added" });
  });
});
