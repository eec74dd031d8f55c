import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createTempFolder } from "../../temp_folder.ts";
import { startSqlServer } from "../../server/db/sqld.ts";
import { openGatedProject } from "../gated_project.ts";

test("a person moves a ledger to the server of the config, and back", async () => {
  const server = await startSqlServer(createTempFolder("sqld"));
  const gated = await openGatedProject();
  onTestFinished(() => gated.close());
  const home = join(gated.terminal.folder, ".gate");
  const config = join(home, "config.json");
  await gated.write("src/a.txt", "one\n");
  expect((await gated.good("hub", "status")).stdout).toMatch(/No server.*\n.*web.*on this machine/);

  // Where the ledgers go is a change of the rules: it waits for a person.
  const before = JSON.parse(readFileSync(config, "utf8"));
  writeFileSync(config, JSON.stringify({ ...before, storage: { url: server.url } }));
  const early = await gated.terminal.run(["hub", "join"]);
  expect(early).toMatchObject({ code: 1 });
  expect(early.stderr).toContain(
    "must accept the server that config.json names\n  try: gate config",
  );
  expect((await gated.good("hub", "status")).stdout)
    .toContain(`a person must accept ${server.url}: gate config accept`);
  await gated.good("config", "accept");

  const send = async (path: string, body: object) =>
    await gated.json("api", "POST", path, "--scope", "agent", "-d", JSON.stringify(body));
  const { id } = await gated.submit("run_command", { command: "ls" });
  const { claim_id } = await send(`/api/actions/${id}/claim`, {});
  const busy = await gated.terminal.run(["hub", "join"]);
  expect(busy).toMatchObject({ code: 1 });
  expect(busy.stderr).toContain(`the action ${id} runs\n  try: wait until it has finished`);
  const result = { claim_id, exit_code: 0, output: "", truncated: false, duration_ms: 1 };
  await send(`/api/actions/${id}/result`, result);

  await server.kill();
  expect((await gated.terminal.run(["hub", "join"])).stderr).toContain(
    'gate: Cannot move the ledger of "web": the server does not answer\n' +
      "  try: start the server or its network, then the same command\n",
  );
  await server.start();

  const { stdout, stderr } = await gated.good("hub", "join", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ place: "server", url: server.url, ok: true });
  expect(stderr).toContain(`Moving the ledger of web to ${server.url}`);
  expect((await gated.good("hub", "status")).stdout).toContain(server.url);
  await gated.write("src/a.txt", "two\n");
  expect((await gated.good("audit", "verify")).stdout).toContain("✓");
  const file = join(home, "projects", "web", "server.json");
  expect(existsSync(file)).toBe(true);

  await server.kill();
  // The first request finds out.
  expect((await gated.good("hub", "status")).stdout).toContain("does not answer");
  for (const  of of[[], ["--project", "web"]]) {
    const pending = await gated.good("pending", ...of);
    expect(pending.stdout).toBe("No action is held in the projects that can be read.\n");
    expect(pending.stderr).toBe(
      `! The actions of web are missing here: the server of its ledger, ${server.url}, cannot be ` +
        "used\n  try: gate hub status\n",
    );
  }
  const watching = gated.terminal.run(["watch"]);
  await expect.poll(() => gated.terminal.said(), { timeout: 60_000 })
    .toContain("The actions of web are missing here");
  gated.terminal.signal("SIGINT");
  expect(await watching).toMatchObject({ stdout: "" });
  const shown = await gated.terminal.run(["show", id]);
  expect(shown.stderr).toContain("and the actions of web cannot be read now\n  try: gate status");
  const away = await gated.good("status");
  expect(away.stdout).toMatch(/! Cannot use the ledger on http.*does not answer/);
  await expect.poll(async () => (await gated.good("status")).stdout, { timeout: 60_000 })
    .toContain("No action is held in the projects that can be read");
  expect((await gated.good("status")).stdout).toMatch(/^web +\? /m);
  expect((await gated.good("project", "list")).stdout).toMatch(/^web +\? held /m);
  const listed = await gated.terminal.run(["log"]);
  expect(listed.stderr).toContain("The actions of web are missing here");
  expect(listed.stdout).toBe("There are no such actions in the projects that can be read.\n");
  const checked = await gated.terminal.run(["doctor"]);
  expect(checked.stdout).not.toContain("has no folder any more");
  expect((await gated.good("hub", "status")).stdout).toContain("does not answer");
  await server.start();
  await expect.poll(() => gated.terminal.run(["hub", "status"]), { timeout: 60_000 })
    .toMatchObject({ stdout: expect.not.stringContaining("does not answer") });

  const left = await gated.good("hub", "leave");
  expect(left.stdout).toContain("on this machine again");
  expect(left.stderr).toContain(`Moving the ledger of web from ${server.url}`);
  expect(existsSync(file)).toBe(false);
  expect((await gated.good("audit", "verify")).stdout).toContain("✓");
  expect(gated.onDisk("src/a.txt")).toBe("two\n");
});

test("a home without keys joins a shared ledger with one command and one passphrase", async () => {
  const server = await startSqlServer(createTempFolder("sqld"));
  const input = "correct horse battery\n";
  const open = async () => {
    const gated = await openGatedProject("none", { storage: { url: server.url } });
    onTestFinished(() => gated.close());
    const run = (args: string[], typed = input) =>
      gated.terminal.run([...args, "--passphrase-stdin"], { input: typed });
    return { ...gated, run };
  };
  const first = await open();
  for (const args of [["proof", "set"], ["config", "accept"], ["hub", "join"]]) {
    expect(await first.run(args), args.join(" ")).toMatchObject({ code: 0 });
  }

  const second = await open();
  const joinShared = ["hub", "join", "--shared"];
  const wrong = await second.run(joinShared, "another one\n");
  expect(wrong).toMatchObject({ code: 1, stdout: expect.not.stringContaining("shared with") });
  // The keys are here now, so a second attempt needs the configs accepted, as its error says.
  expect((await second.run(joinShared)).stderr).toContain("try: gate config accept");

  const third = await open();
  expect((await third.good("init", "--yes")).stderr).toContain(
    "Next: gate hub join --shared if other machines share this project",
  );
  const joined = await third.run(joinShared);
  expect(joined).toMatchObject({ code: 0, stdout: expect.stringMatching(/shared with/) });
  expect(joined.stderr).toContain("Prove these configs with one of them");
  expect(joined.stdout).toMatch(/storage.*\(waits\)/);
  expect((await third.good("audit", "verify")).stdout).toContain("✓ web");
});

test("a home with keys of its own is put aside by one command and joins", async () => {
  const server = await startSqlServer(createTempFolder("sqld"));
  const open = async (passphrase: string) => {
    const gated = await openGatedProject("none", { storage: { url: server.url } });
    onTestFinished(() => gated.close());
    const run = (args: string[], input = `${passphrase}\n`) =>
      gated.terminal.run([...args, "--passphrase-stdin"], { input });
    for (const args of [["proof", "set"], ["config", "accept"]]) {
      expect(await run(args), args.join(" ")).toMatchObject({ code: 0 });
    }
    return { ...gated, run, home: join(gated.terminal.folder, ".gate") };
  };
  const first = await open("correct horse battery");
  expect(await first.run(["hub", "join"])).toMatchObject({ code: 0 });

  const second = await open("another long passphrase");
  const usage = await second.terminal.run(["hub", "join", "--fresh-home"]);
  expect(usage).toMatchObject({ code: 64, stderr: expect.stringContaining("only for --shared") });
  const shared = ["hub", "join", "--shared"];
  const refused = await second.run(shared);
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain("try: gate hub join --shared --fresh-home");

  const held = await second.write("notes.md", "one\n");
  const busy = await second.run([...shared, "--fresh-home"], "correct horse battery\n");
  expect(busy).toMatchObject({ code: 1 });
  expect(busy.stderr).toContain("unfinished actions\n  try: review them first (gate pending)\n");
  await second.good("reject", held.id, "--reason", "no");
  const before = readFileSync(join(second.home, "gate.db"));
  // The terminal remembers the numbers of this home's acceptances; those of the next begin anew.
  for (const days of [30, 60]) {
    const config = { storage: { url: server.url }, retention: { days } };
    writeFileSync(join(second.home, "config.json"), JSON.stringify(config));
    const accepted = await second.run(["config", "accept"], "another long passphrase\n");
    expect(accepted, accepted.stderr).toMatchObject({ code: 0 });
  }

  const joined = await second.run([...shared, "--fresh-home"], "correct horse battery\n");
  expect(joined, joined.stderr).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/shared with/),
  });
  const [, aside] = /This home is at (\S+) now/.exec(joined.stderr)!;
  expect(readFileSync(join(aside!, "gate.db")).length).toBeGreaterThanOrEqual(before.length);
  expect(existsSync(join(aside!, "projects", "web", "ledger.db"))).toBe(true);
  expect((await second.good("audit", "verify")).stdout).toContain("✓ web");
  expect(await second.write("src/a.txt", "joined\n")).toMatchObject({
    execution: "succeeded",
  });
});

test("an approval says that the agent's machine executes it, and when that machine is away", async () => {
  const server = await startSqlServer(createTempFolder("sqld"));
  const open = async () => {
    const gated = await openGatedProject("none", { storage: { url: server.url } });
    onTestFinished(() => gated.close());
    const run = (...args: string[]) =>
      gated.terminal.run([...args, "--passphrase-stdin"], { input: "correct horse battery\n" });
    return { ...gated, run };
  };
  const first = await open();
  for (const args of [["proof", "set"], ["config", "accept"], ["hub", "join"]]) {
    expect(await first.run(...args), args.join(" ")).toMatchObject({ code: 0 });
  }
  const second = await open();
  expect(await second.run("hub", "join", "--shared")).toMatchObject({ code: 0 });
  const held = [await second.write("a.txt", "a"), await second.write("b.txt", "b")];

  // Both hosts have one name, so each name shows the beginning of its machine's id.
  expect((await first.good("pending")).stdout).toMatch(
    / {2}on .*[0-9a-f]{8}\) {2}write_file {2}a\.txt\n/,
  );
  expect((await second.good("pending")).stdout).toMatch(/agent" {2}write_file {2}a\.txt\n/);
  const done = await first.run("approve", held[0]!.id);
  expect([done.code, done.stdout]).toEqual([0, expect.stringMatching(/^✓ approved.*: a\.txt\n$/)]);
  expect(done.stderr).not.toContain("not connected");
  await second.good("daemon", "stop");
  const waits = await first.run("approve", held[1]!.id);
  expect([waits.code, waits.stdout]).toEqual([0, "✓ approved: b.txt\n"]);
  expect(waits.stderr).toMatch(
    /its agent works on .+, and that machine is not connected now\n {2}it executes the action when gate/,
  );
  await second.good("daemon", "start");
  await expect.poll(() => second.onDisk("b.txt"), { timeout: 20_000 }).toBe("b");
});

test("while a server is slow, a person sees that the ledger is being moved", async () => {
  const slow = createServer((socket) => {
    socket.on("error", () => {});
    setTimeout(() => socket.destroy(), 1_500);
  });
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void slow.close());
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  const gated = await openGatedProject("token", {
    approvals: { proof: "token" },
    storage: { url },
  });
  onTestFinished(() => gated.close());
  const seen = await gated.terminal.run(["hub", "join"], { person: true });
  expect(seen.code).toBe(1);
  // The line is gone when the answer is there.
  // deno-lint-ignore no-control-regex
  expect(seen.stderr).toMatch(/◒ {2}Moving the ledger.*\r\x1b\[2K.*gate: Cannot move the ledger/s);
  for (const options of [{ args: ["--json"], person: true }, { args: [], person: false }]) {
    const { stderr } = await gated.terminal.run(["hub", "join", ...options.args], options);
    expect(stderr).not.toContain("◒");
  }
});
