import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import type { SandboxEngine } from "../../../server/environment.ts";
import { policyTemplate } from "../../../server/policy/templates.ts";
import { rulesOf, startConfined } from "../../../server/sandbox/landlock.ts";
import type { Walls } from "../../../server/sandbox/schema.ts";
import { wallsMet } from "../../../server/sandbox/walls_met.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { createTestGate } from "../../helpers.ts";
import { connect } from "./agent.ts";
import { CONFINE, LANDLOCK } from "./landlock_stage.ts";
import { SHARING } from "./sharing.ts";
import { createStage } from "./stage.ts";

const NAMED: SandboxEngine = { name: "landlock", path: "/gate", version: "7", can_mask: false };

const PIPING = `import multiprocessing as m
def work(end): end.send(sum(range(10)))
if __name__ == '__main__':
    here, there = m.Pipe()
    one = m.Process(target=work, args=(there,))
    one.start(); print(here.recv()); one.join()
`;

const NESTED = Object.fromEntries(
  ["HEAD", "config", "objects/x", "refs/x"].map((
    name,
  ) => [`home/user/project/a/.git/${name}`, "x"]),
);

describe("walls without masks", () => {
  const build = (files: Record<string, string>) =>
    createStage(files, undefined, { engine: NAMED }).walls("true");

  test.each([
    ["a blocked file", { "home/user/project/.env": "x" }, '.env" must be hidden'],
    ["one below", { "home/user/project/a/b/key.pem": "x" }, 'key.pem" must be hidden'],
    ["a file to ask about", { "home/user/project/kept/x": "x" }, "must be kept as it is"],
    ["a host's settings below", { "home/user/project/a/.mcp.json": "x" }, "must be kept as it is"],
    ["a repository below", NESTED, "must be kept as it is"],
  ])("%s in the project refuses the sandbox", async (_, files: Record<string, string>, why) => {
    await expect(build(files)).rejects.toThrow(why);
  });

  test("what gate restores itself does not: git's own settings and guarded files at the top", async () => {
    const { walls } = await build({
      ...{ "home/user/project/.git/HEAD": "ref: x", "home/user/project/.git/config": "" },
      ...{ "home/user/project/.git/objects/x": "", "home/user/project/.git/refs/x": "" },
      ...{ "home/user/project/.git/hooks/x": "", "home/user/project/.mcp.json": "{}" },
    });
    expect(walls.engine.name).toBe("landlock");
  });

  test("a folder around something hidden is granted piece by piece, and no link is followed", () => {
    const folder = createTempFolder("landlock");
    for (const path of ["a/b", "a/secret", "c"]) mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, "a/file"), "x");
    const walls = {
      ...{ engine: NAMED, network: "none", hosts: [], tools_at: 3, user_home: "/nowhere" },
      ...{ never_shown: [], closed_ports: [], cwd: folder, blank: "/dev/null" },
      mounts: [
        { at: folder, as: "read_only" },
        { at: join(folder, "a/secret"), as: "hidden_folder" },
        { at: "/dev", as: "new_folder" },
      ],
      limits: { processes: 10, memory_bytes: 1e9, file_bytes: 1e9 },
    } as Walls;
    const rights = new Map(rulesOf(walls, {}).map(({ path, rights }) => [path, rights]));
    const [list, read] = [0b1000, 0b1101];
    expect(rights.get(folder)).toBe(list);
    expect(rights.get(join(folder, "a"))).toBe(list);
    expect(rights.get(join(folder, "a/b"))).toBe(read);
    expect(rights.get(join(folder, "a/file"))).toBe(read);
    expect(rights.get(join(folder, "c"))).toBe(read);
    expect(rights.has(join(folder, "a/secret"))).toBe(false);
    const inWritable = { ...walls, mounts: [{ at: folder, as: "writable" }, ...walls.mounts] };
    expect(() => rulesOf(inWritable as Walls, {})).toThrow("Landlock cannot hide");
    expect(() => startConfined(walls, {}, null)).toThrow("cannot ask the kernel for Landlock");
  });
});

describe.runIf(LANDLOCK !== null)("a command under Landlock", () => {
  const open = () => createStage({}, undefined, { engine: LANDLOCK, confine: CONFINE });

  test("works in the project: files, modes, times, links, processes, exit codes", async () => {
    const { run, root } = open();
    const { output, exit_code } = await run(
      [
        "mkdir a && echo x >a/f && mv a/f g && ln g h && ln -s g l && rm h",
        "chmod 751 g && stat -c %a g && chmod 700 . && chmod u+x l && stat -c %a g",
        "touch -d '2001-02-03 04:05:06.789 UTC' g && TZ=UTC stat -c %y g",
        "touch -h -d '2002-01-01 UTC' l && TZ=UTC stat -c %y l && touch new && echo $(yes | head -1)",
        "echo x >i && install -m 750 i j && cp -p j k && stat -c %a k",
        "cat <(echo sub) && mktemp -d >/dev/null && (exit 3); exit $((4 + $?))",
      ].join("\n"),
    );
    expect(output).toBe(
      "751\n751\n2001-02-03 04:05:06.789000000 +0000\n2002-01-01 00:00:00.000000000 +0000\n" +
        "y\n750\nsub\n",
    );
    expect(exit_code).toBe(7);
    expect(statSync(join(root, "g")).mode & 0o777).toBe(0o751);
  });

  test.skipIf(!existsSync("/usr/bin/python3"))(
    "has processes and pipes, but no shared memory, and that wall is told",
    async () => {
      const { run, write } = open();
      write("home/user/project/pipe.py", PIPING);
      write("home/user/project/share.py", SHARING);
      expect(await run("/usr/bin/python3 pipe.py"))
        .toMatchObject({ output: "45\n", exit_code: 0 });
      const shared = await run("/usr/bin/python3 share.py");
      expect(shared.exit_code).toBe(1);
      expect(wallsMet(shared.output, [])).toContainEqual(expect.stringContaining("/dev/shm holds"));
    },
  );

  test("is told of a signal, and its exit does not wait", async () => {
    const { run } = open();
    expect((await run("kill -TERM $$")).exit_code).toBe(143);
    expect((await run("sleep 60 & echo begun")).output).toBe("begun\n");
  });

  test("changes no attribute outside, by any call", async () => {
    const { run, base, write } = open();
    write("outside/file", "x");
    const path = join(base, "outside/file");
    const before = lstatSync(path, { bigint: true });
    const { output } = await run(
      `/usr/bin/python3 - <<'PY'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
p = ${JSON.stringify(path)}
os.symlink(p, 'link'); os.symlink(os.path.dirname(p), 'folder')
d = os.open('.', os.O_RDONLY)
fd = os.open(p, os.O_PATH)
times = (ctypes.c_long * 4)(1, 0, 1, 0)
def s(name, n, *a):
    r = libc.syscall(n, *a)
    print(name, 'DONE' if r == 0 else 'no', flush=True)
b = p.encode()
for target in (b, b'link', b'folder/file', b'/proc/self/fd/%d' % fd, b'../../../outside/file'):
    s('chmod', 90, target, 0o777); s('fchmodat', 268, d, target, 0o777)
    s('fchmodat2', 452, d, target, 0o777, 0); s('utime', 132, target, times)
    s('utimes', 235, target, times); s('futimesat', 261, d, target, times)
    s('utimensat', 280, d, target, times, 0); s('chown', 92, target, 0, 0)
    s('setxattr', 188, target, b'user.x', b'1', 1, 0)
s('fchmod', 91, fd, 0o777); s('empty', 452, fd, b'', 0o777, 0x1000)
s('utimensat fd', 280, fd, None, times, 0); s('fchown', 93, fd, 0, 0)
s('bad pointer', 90, 1, 0o777); s('bad fd', 91, 999, 0o777); s('bad flags', 452, d, b'link', 0o777, 0x4)
s('setuid', 90, b'.', 0o6755)
PY`,
    );
    expect(output).not.toContain("DONE");
    expect(output.split("\n").length).toBeGreaterThan(50);
    const after = lstatSync(path, { bigint: true });
    expect([after.mode, after.mtimeNs, after.ctimeNs]).toEqual(
      [before.mode, before.mtimeNs, before.ctimeNs],
    );
  });

  test("makes of open files only requests that change nothing read-only", async () => {
    const { run } = open();
    const { output } = await run(
      `/usr/bin/python3 - <<'PY'
import fcntl, os, struct
def t(name, fd, request):
    try: fcntl.ioctl(fd, request, bytes(64)); print(name, 'DONE')
    except OSError as e: print(name, e.errno)
open('file', 'w').close()
file = os.open('file', os.O_RDONLY)
space = os.open('/proc/self/ns/uts', os.O_RDONLY)
pipe, _ = os.pipe()
t('bytes in a pipe', pipe, 0x541b); t('block size', file, 2)
t('type of a namespace', space, 0xb703)
t('flags', file, 0x40086602); t('attributes', file, 0x401c5820); t('version', file, 0x40087602)
t('verity', file, 0x40806685); t('subvolume', file, 0x5000940f)
PY`,
    );
    expect(output.trim().split("\n")).toEqual([
      ...["bytes in a pipe DONE", "block size DONE"],
      ...["type of a namespace", "flags", "attributes", "version", "verity", "subvolume"]
        .map((name) => `${name} 25`),
    ]);
  });

  test("changes in a race nothing outside: a folder is swapped for a link again and again", async () => {
    const { run, base, write } = open();
    write("outside/file", "x");
    const path = join(base, "outside/file");
    const before = lstatSync(path).mode;
    await run(
      `mkdir one && echo x >one/file && ln -s ${join(base, "outside")} two && cat >swap.py <<'PY'
import ctypes, time
libc = ctypes.CDLL(None)
end = time.time() + 3
while time.time() < end: libc.renameat2(-100, b'one', -100, b'two', 2)
PY
/usr/bin/python3 swap.py & end=$((SECONDS + 3)); while [ $SECONDS -lt $end ]; do chmod 777 one/file two/file; done 2>/dev/null; wait`,
    );
    expect(lstatSync(path).mode).toBe(before);
  });

  test.runIf(process.platform === "linux")(
    "reaches no socket, program or limit outside",
    async () => {
      const { run } = open();
      const server = createServer((socket) => socket.end("SECRET"));
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const victim = spawn("/usr/bin/sleep", ["600"], { stdio: "ignore" });
      try {
        const { port } = server.address() as { port: number };
        const { output } = await run(
          `/usr/bin/python3 - <<'PY'
import os, resource, signal, socket
def t(name, do):
    try: print(name, 'DONE', do())
    except Exception as e: print(name, 'no', e)
t('tcp', lambda: socket.create_connection(('127.0.0.1', ${port}), 2).recv(9))
t('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53)))
t('unix', lambda: socket.socket(socket.AF_UNIX).connect('/run/x'))
t('datagram pair', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
t('raw pair', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW))
t('limit', lambda: resource.prlimit(${victim.pid}, resource.RLIMIT_CPU, (1, 1)))
t('priority', lambda: os.setpriority(os.PRIO_PROCESS, ${victim.pid}, 19))
t('affinity', lambda: os.sched_setaffinity(${victim.pid}, [0]))
t('signal', lambda: os.kill(${victim.pid}, signal.SIGKILL))
t('group', lambda: os.setsid())
t('own limit', lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99)) or 'fine')
t('pair', lambda: socket.socketpair() and 'fine')
t('packets', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) and 'fine')
PY`,
        );
        const done = output.split("\n").filter((line) => line.includes("DONE"));
        expect(done).toEqual(["own limit DONE fine", "pair DONE fine", "packets DONE fine"]);
        expect(victim.exitCode).toBeNull();
      } finally {
        server.close();
        victim.kill("SIGKILL");
      }
    },
  );

  test("ends with all of its processes, at its time-out too", async () => {
    const { run, root } = open();
    await run(
      "(trap '' TERM HUP; nohup bash -c 'sleep 1.5; touch late' >/dev/null 2>&1 &) ; sleep 60",
      { timeout_ms: 700 },
    );
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(existsSync(join(root, "late"))).toBe(false);
  });
});

describe.runIf(LANDLOCK !== null && "Deno" in globalThis)("through the front door", () => {
  const balanced = policyTemplate("balanced");
  const gateOf = (files: Record<string, string>, mode: "auto" | "review" = "auto") =>
    createTestGate({
      policies: { ...balanced, sandbox: { ...balanced.sandbox, mode } },
      files: { "src/a.txt": "one\n", ...files },
      sandbox: () => Promise.resolve(LANDLOCK),
    });
  const CODE = "python3 -c \"open('made.txt','w').write('made'); print('ran')\"";

  test("a command that no text can prove runs without a question, and its record names Landlock", async () => {
    const gate = await gateOf({});
    const run = await connect(gate);
    const done = await run(CODE, { wait_ms: 25_000 });
    expect(done).toMatchObject({
      status: "approved",
      exit_code: 0,
      decision: { effect: "allow", sandbox: { engine: "landlock", network: "none" } },
    });
    expect(readFileSync(join(gate.root, "made.txt"), "utf8")).toBe("made");
  });

  test("a blocked file in the project is asked about instead, and the reason says why", async () => {
    const gate = await gateOf({ ".env": "KEY=SECRET\n" });
    const run = await connect(gate);
    const held = await run(CODE, { wait_ms: 0 });
    expect(held).toMatchObject({ status: "pending", decision: { effect: "ask", sandbox: null } });
    expect((held.decision as { reason: string }).reason).toContain('.env" must be hidden');
    expect(existsSync(join(gate.root, "made.txt"))).toBe(false);
  });

  test("a change of git's settings is restored, and the session blocked", async () => {
    const gate = await gateOf({
      "do.py":
        "open('.git/config','a').write('fsmonitor=EVIL'); open('.git/hooks/pre-commit','w')" +
        ".write('EVIL'); open('.git/hooks/post-commit','w').write('EVIL')",
    });
    const git = (...args: string[]) => execFileSync("git", args, { cwd: gate.root });
    git("init", "-q", ".");
    git("add", "src");
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x");
    gate.write(".git/hooks/pre-commit", "mine");
    const config = readFileSync(join(gate.root, ".git/config"), "utf8");
    const done = await (await connect(gate))("python3 do.py", { wait_ms: 25_000 });
    expect(done).toMatchObject({ exit_code: 0, decision: { sandbox: { engine: "landlock" } } });
    expect(done.restored).toHaveLength(3);
    expect(readFileSync(join(gate.root, ".git/config"), "utf8")).toBe(config);
    expect(readFileSync(join(gate.root, ".git/hooks/pre-commit"), "utf8")).toBe("mine");
    expect(existsSync(join(gate.root, ".git/hooks/post-commit"))).toBe(false);
  });

  test("a server of its own is out of reach too, and changes cannot be held back: both are asked about", async () => {
    const gate = await gateOf({});
    const run = await connect(gate);
    const server = "python3 -m http.server 8123 & curl -s http://127.0.0.1:8123/";
    expect(await run(server, { wait_ms: 0 })).toMatchObject({ status: "pending" });
    const review = await gateOf({}, "review");
    const held = await (await connect(review))(CODE, { wait_ms: 0 });
    expect(held).toMatchObject({ status: "pending", decision: { sandbox: null } });
    expect((held.decision as { reason: string }).reason).toContain("cannot put a copy into");
  });
});
