import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../../server/runtime/spawn.ts";
import { CONFINE, LANDLOCK } from "./landlock_stage.ts";
import { createStage, ENGINE } from "./stage.ts";

/** The means of each attempt: the victim outside, its port, and the folder around everything. */
interface Outside {
  victim: number;
  port: number;
  base: string;
  unix: string;
}

/** Runs Python with the system calls at hand: `s(number, ...)` prints the error's number. */
const py = (code: string) =>
  `/usr/bin/python3 - <<'PY'
import ctypes, os, socket, struct, sys, fcntl
libc = ctypes.CDLL(None, use_errno=True)
def s(n, *a):
    r = libc.syscall(n, *a)
    print('call', n, 'gave', r, 'errno', ctypes.get_errno() if r < 0 else 0, flush=True)
    return r
${code}
PY`;

/** An attempt, and what its output must show: that it failed. Every output is free of secrets. */
type Attempt = [name: string, command: string | ((outside: Outside) => string), shows?: RegExp];

const DENIED = /Permission denied|Operation not permitted|No such file|Read-only|busy|errno [1-9]/;

const FILES: Attempt[] = [
  ["a name put together", "f=.e; cat ${f}nv", /Permission denied/],
  ["a glob", "cat .en? .*v", /Permission denied/],
  ["every file below", "find . -type f -exec cat {} + ; grep -r . .; tar c . | strings"],
  ["git grep over everything", "git init -q . ; git grep --no-index -a SECRET", /^(?!.*SECRET)/s],
  ["a link to a key in the home", "ln -s ~/.ssh/id_ed25519 l1; cat l1", /No such file/],
  ["a link out of the project", "ln -s ../.netrc l2; cat l2", /No such file/],
  ["a link to a hidden file", "ln -s .env l3; cat l3", /Permission denied/],
  ["a chain of links", "ln -s . a1; ln -s a1/a1/.env a2; cat a2", /Permission denied/],
  ["a hard link of a hidden file", "ln .env h1; cat h1", /cross-device|not permitted|No such/],
  ["a hard link of a key in the home", "ln ~/.ssh/id_ed25519 h2; cat h2", /No such file/],
  ["a change of the mode", "chmod 644 .env; cat .env", /Read-only|Permission denied/],
  ["a copy", "cp .env c1; cp -r secrets c2; cat c1 c2/*", DENIED],
  ["a rename", "mv .env moved; cat moved", /busy|No such/],
  ["a rename of the folder around it", "mv api moved; cat moved/.env", /busy/],
  ["a rename of the project", "mv ../project ../moved; cat ../moved/.env", /busy/],
  ["an exchange of two names", py("s(316, -100, b'api', -100, b'src', 2)"), /errno/],
  ["deleting it and looking beneath", "rm -rf secrets api; ls -la api secrets", DENIED],
  ["/proc/self/root", "cat /proc/self/root$HOME/.ssh/id_ed25519", /No such file/],
  ["/proc/1/root", "cat /proc/1/root$HOME/.netrc; ls /proc/1/root/oldroot", DENIED],
  ["/proc/1/cwd", "cat /proc/1/cwd/.env /proc/1/cwd/../.netrc", DENIED],
  ["/proc/*/fd", "for f in /proc/[0-9]*/fd/*; do timeout 0.2 cat $f/../.netrc $f/.netrc; done"],
  ["/proc/*/map_files", "cat /proc/[0-9]*/map_files/* | strings | grep SECRET"],
  ["/proc/*/environ", "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep VICTIM"],
  [
    "the memory of the first process",
    "dd if=/proc/1/mem bs=1 count=8 skip=4194304",
    /error|denied/,
  ],
  ["the mounts of another process", "cat /proc/$$/mountinfo | grep -c oldroot", /^0/],
  ["the parent of the root", "cat /../../../home/*/.netrc /..$HOME/.netrc", /No such file/],
  ["raw disks", "cat /dev/vda /dev/sda /dev/mem /dev/kmsg /dev/nvme0n1", /No such file/],
  ["a device of one's own", `mknod d b 8 0; cat d; ${py("os.mknod('d2', 0o60600, 2049)")}`, DENIED],
  ["a device through the shared memory", "mknod /dev/shm/d b 8 0; cat /dev/shm/d", DENIED],
  ["a file by its handle", py("s(304, -100, b'x' * 32, 0)"), /errno 1\n/],
  ["gate's data", "ls -la ~/.gate; cat ~/.gate/tokens/agent; cp -r ~/.gate g", /No such file/],
  ["another project", ({ base }) => `cat ${base}/home/user/other/file.txt`, /No such file/],
  ["a folder elsewhere", ({ base }) => `cat ${base}/elsewhere/data.txt`, /No such file/],
  ["passwords of the machine", "cat /etc/shadow /etc/gshadow /etc/sudoers", DENIED],
];

const WRITES: Attempt[] = [
  ["a login script", "echo ESCAPED >> ~/.bashrc; echo ESCAPED >> ~/.profile"],
  ["a key for logins", "mkdir -p ~/.ssh; echo ESCAPED > ~/.ssh/authorized_keys"],
  [
    "a service of the user",
    "mkdir -p ~/.config/systemd/user; echo ESCAPED > ~/.config/systemd/user/x",
  ],
  ["git's config of the user", "git config --global core.pager ESCAPED"],
  ["git's config of the project", "git config core.fsmonitor ESCAPED; cat .git/config", /./],
  ["git's hooks", "echo ESCAPED > .git/hooks/pre-commit; mv .git g", /Read-only|busy/],
  ["a host's settings", "echo ESCAPED > .claude/settings.json", /Read-only/],
  ["a kept file", "echo ESCAPED > kept/one.sql; rm kept/one.sql; mv kept k", /Read-only|busy/],
  ["a program of the system", "echo ESCAPED > /usr/local/bin/ls; rm /usr/bin/env", /Read-only/],
  ["a tool of the home", "echo ESCAPED > ~/.cargo/bin/tool", /Read-only/],
  ["the machine's temporary files", ({ base }) => `echo ESCAPED > /tmp/escaped-${base.slice(-6)}`],
  ["a link for the next sandbox", "rm -rf ~/.cache; ln -s /oldroot/etc ~/.cache", /busy/],
  ["the folder around a project in /tmp", "mv $HOME/../.. /tmp/moved", /busy|cannot/],
  ["timed jobs", "echo '* * * * * touch ESCAPED' > /var/spool/cron/root; crontab -l", DENIED],
];

const KERNEL: Attempt[] = [
  ["unmounting", `umount .env; cat .env; ${py("s(166, b'.env', 2)")}`, /errno 1\n/],
  ["mounting", `mount --bind .. src; ${py("s(165, b'..', b'src', 0, 4096, 0)")}`, /errno 1\n/],
  [
    "a user namespace by unshare",
    "unshare -Urm sh -c 'umount .env; cat .env'",
    /not permitted|No space/,
  ],
  ["a user namespace by clone", py("s(56, 0x10000000 | 17, 0, 0, 0, 0)"), /errno 1\n/],
  [
    "a user namespace by clone3",
    py("b = ctypes.create_string_buffer(struct.pack('<Q', 0x10000000) + bytes(80))\ns(435, b, 88)"),
    /errno 38\n/,
  ],
  [
    "the namespaces of another process",
    `nsenter -t $$ -m cat .env; ${py("s(308, os.open(f'/proc/{os.getppid()}/ns/mnt', 0), 0)")}`,
    /errno 1\n/,
  ],
  ["another root", py("s(161, b'/proc/1/root'); s(155, b'.', b'.')"), /errno 1\n/],
  [
    "the newer calls for mounts",
    py("[s(n, 0, 0, 0, 0, 0) for n in (428, 429, 430, 432, 442)]"),
    /^(call \d+ gave -1 errno 1\n)+$/,
  ],
  ["a chain of namespaces", "bwrap --ro-bind / / cat .env", /bwrap: |not found/],
  [
    "attaching to a process outside",
    ({ victim }) => py(`s(101, 16, ${victim}, 0, 0)`),
    /errno [13]\n/,
  ],
  [
    "reading the memory of one",
    ({ victim }) => `cat /proc/${victim}/environ; ${py(`s(310, ${victim}, 0, 0, 0, 0, 0)`)}`,
    /No such file|errno [13]/,
  ],
  ["ending one", ({ victim }) => `kill -9 ${victim}; kill -9 -- -${victim}`, /No such process/],
  ["ending all", "trap '' TERM; kill -TERM -1; echo still here"],
  ["a handle on one", ({ victim }) => py(`s(434, ${victim}, 0)`), /errno 3\n/],
  [
    "rights",
    "grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status",
    /CapEff:\s*0+\n(.*\n)*NoNewPrivs:\s*1\nSeccomp:\s*2/,
  ],
  [
    "another user",
    `su -c id nobody; sudo -n id; ${py("s(105, 1)")}`,
    /errno|cannot|not|Authentication|must/i,
  ],
  [
    "a program with rights",
    "cp /bin/true t; setcap cap_sys_admin+ep t; chmod u+s t; ./t",
    /not permitted|Unable|not found/,
  ],
  [
    "a program of the owner by every call",
    py(
      "p = b'own'; open(p, 'w').close(); fd = os.open(p, os.O_RDWR); C = os.O_CREAT | os.O_WRONLY\n" +
        "s(90, p, 0o4755); s(91, fd, 0o4755); s(268, -100, p, 0o4755); s(452, -100, p, 0o4755, 0)\n" +
        "s(2, b'o1', C, 0o4755); s(85, b'o2', 0o4755); s(257, -100, b'o3', C, 0o6755)\n" +
        "s(257, -100, b'.', 0o20200000 | os.O_WRONLY, 0o4755)\n" +
        "s(133, b'o4', 0o104755, 0); s(259, -100, b'o5', 0o104755, 0)\n" +
        "h = ctypes.create_string_buffer(struct.pack('<QQQ', C, 0o4755, 0))\n" +
        "s(437, -100, b'o6', h, 24)",
    ),
    /^(call \d+ gave -1 errno 1\n){10}call 437 gave -1 errno 38\n$/,
  ],
  [
    "a mode without that bit, and a file that is only opened",
    py(
      "s(90, b'own', 0o2755); os.close(s(2, b'own', 0, 0o4000)); print(oct(os.stat('own').st_mode))",
    ),
    /^call 90 gave 0 errno 0\ncall 2 gave \d+ errno 0\n0o102755\n$/,
  ],
  [
    "typing into a terminal",
    py(
      "b = ctypes.c_char(b'x')\ns(16, 0, 0x5412, ctypes.byref(b)); s(16, 1, 0x541c, ctypes.byref(b))",
    ),
    /^(call 16 gave -1 errno 1\n)+$/,
  ],
  ["the controlling terminal", "echo x > /dev/tty", /No such device/],
  [
    "the kernel's keys",
    py("s(248, b'user', b'x', b'y', 1, -3); s(250, 0, -3, 0); s(249, b'user', b'x', 0, 0)"),
    /^(call \d+ gave -1 errno 1\n)+$/,
  ],
  [
    "programs in the kernel",
    py("s(321, 0, 0, 0); s(298, 0, 0, 0, 0, 0); s(323, 0); s(425, 1, 0)"),
    /^(call \d+ gave -1 errno 1\n)+$/,
  ],
  [
    "modules and another kernel",
    py("s(175, 0, 0, 0); s(313, 0, 0, 0); s(246, 0, 0, 0, 0); s(169, 0, 0, 0, 0)"),
    /^(call \d+ gave -1 errno 1\n)+$/,
  ],
  ["calls of the x32 kind", py("s(0x40000000 + 39)"), /Bad system call/],
  ["core patterns", "echo core > /proc/sys/kernel/core_pattern", DENIED],
  [
    "every switch of the kernel",
    "find /proc \\( -path '/proc/[0-9]*' -o -path /proc/pressure -o -path /proc/mtrr \\) -prune " +
    "-o -type f -writable -print | wc -l",
    /^0$/m,
  ],
  [
    "the kernel's switches",
    "echo h > /proc/sysrq-trigger; echo 1 > /proc/sys/kernel/sysrq; echo x > /proc/mtrr",
    DENIED,
  ],
  ["control groups", "mkdir c; mount -t cgroup c c; echo x > /sys/fs/cgroup/release_agent", DENIED],
  ["the clock", `date -s 2001-01-01; ${py("s(227, 0, 0)")}`, /not permitted|errno 1\n/],
  [
    "higher limits",
    "ulimit -u unlimited; ulimit -Hf unlimited; echo -1000 > /proc/self/oom_score_adj",
    /Operation not permitted|Permission denied/,
  ],
  [
    "shared memory of others",
    ({ victim }) => `ls /dev/shm; cat /dev/shm/escape-${victim}`,
    /No such file/,
  ],
  ["inherited descriptors", "ls -l /proc/self/fd | grep -c -- '->'", /^4\n$/],
];

const SERVICES: Attempt[] = [
  [
    "a server of the machine",
    ({ port }) => `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`,
    /refused/,
  ],
  [
    "under its other names",
    ({ port }) =>
      `for h in 127.1 0.0.0.0 localhost ::1; do (exec 3<>/dev/tcp/$h/${port}) 2>&1; done`,
    /refused/,
  ],
  [
    "the daemon's socket",
    ({ unix }) => py(`c = socket.socket(socket.AF_UNIX)\nprint(c.connect_ex('${unix}'))`),
    /^(2|13)\n$/,
  ],
  [
    "a socket in the project",
    py("c = socket.socket(socket.AF_UNIX)\nprint(c.connect_ex('service.sock'))"),
    /^(13|111)\n$/,
  ],
  [
    "an abstract socket",
    ({ victim }) =>
      py(`c = socket.socket(socket.AF_UNIX)\nprint(c.connect_ex('\\0escape-${victim}'))`),
    /^111\n$/,
  ],
  [
    "D-Bus",
    "ls /run/dbus /run/user /var/run/dbus; dbus-send --system --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames",
    /No such file/,
  ],
  [
    "the user's services",
    "systemd-run --user touch ESCAPED; systemctl --user list-units",
    /Failed|not/,
  ],
  [
    "docker.sock",
    py(
      "c = socket.socket(socket.AF_UNIX)\nprint(c.connect_ex('/var/run/docker.sock'), c.connect_ex('/run/docker.sock'))",
    ),
    /^2 2\n$/,
  ],
  ["the agent that holds ssh keys", "ssh-add -l; echo [$SSH_AUTH_SOCK]", /\[\]/],
  ["the display", "ls /tmp/.X11-unix /run/user; echo [$DISPLAY$WAYLAND_DISPLAY]", /\[\]/],
  [
    "sockets of other families",
    py("[print(f, libc.socket(f, 1, 0)) for f in (40, 17, 38, 29, 31)]"),
    /^(\d+ -1\n)+$/,
  ],
  ["a raw socket", py("print(libc.socket(2, 3, 1))"), /^-1\n$/],
  [
    "another network device",
    "ip link add v0 type veth; ip route add default dev lo",
    /not permitted|not found/,
  ],
  ["names of the internet", "getent hosts example.com || echo none", /^none\n$/],
  ["an address of the internet", "timeout 2 bash -c 'exec 3<>/dev/tcp/1.1.1.1/80'", /unreachable/],
  [
    "a proxy of the agent",
    ({ port }) =>
      `env | grep -i proxy; curl -s --max-time 2 -x http://127.0.0.1:${port} http://a.example || echo none`,
    /none/,
  ],
];

describe.each([
  { name: "bubblewrap", engine: ENGINE, kept: () => true },
  // It hides no file of the project, so there is none to hide.
  { name: "landlock", engine: LANDLOCK, kept: (path: string) => !MASKED.test(path) },
])("no way out of the sandbox of $name", ({ name, engine, kept }) => {
  describe.runIf(engine !== null && existsSync("/usr/bin/python3"))("where it can be tried", () => {
    const stage = createStage({}, undefined, { engine, confine: CONFINE });
    const { run, root, home, gate_home, base, write } = stage;
    const all = Object.entries(KEPT).filter(([path]) => kept(path));
    const open: (Server | ChildProcess)[] = [];
    let outside: Outside;

    beforeAll(async () => {
      for (const [path, text] of all) write(path, text);
      await runCommand(
        "git init -q . && git add src && git -c user.name=a -c user.email=a commit -qm x",
        {
          ...{ cwd: root, timeout_ms: 10_000, max_output_bytes: 1_000 },
        },
      );
      mkdirSync(join(gate_home, "run"), { recursive: true });
      const serve = async (at: string | number) => {
        const server = createServer((socket) => socket.end("SECRET=service"));
        open.push(server);
        server.listen(at as string);
        await once(server, "listening");
        return server.address();
      };
      const unix = join(gate_home, "run/gate.sock");
      await serve(unix);
      // A socket is hidden too.
      if (name === "bubblewrap") await serve(join(root, "service.sock"));
      const { port } = await serve(0) as { port: number };
      const victim = spawn("/usr/bin/python3", ["-c", VICTIM], {
        env: { VICTIM: "SECRET=victim" },
        stdio: ["ignore", "pipe", "ignore"],
        detached: true,
      });
      open.push(victim);
      await once(victim.stdout!, "data");
      outside = { victim: victim.pid!, port, base, unix };
    });

    afterAll(() => {
      for (const one of open) "close" in one ? one.close() : one.kill("SIGKILL");
      rmSync(`/dev/shm/escape-${outside.victim}`, { force: true });
    });

    const attempts = [...FILES, ...WRITES, ...KERNEL, ...SERVICES]
      .filter(([about]) => name === "bubblewrap" || !RESTORED.test(about));

    test.each(attempts.map(([name, ...rest]) => [name, rest] as const))(
      "%s",
      async (_, [command, shows]) => {
        const text = typeof command === "string" ? command : command(outside);
        const { output } = await run(text, {
          env: { SSH_AUTH_SOCK: "/x", DISPLAY: ":0", https_proxy: "x" },
        });
        expect(output).not.toMatch(/SECRET=|ESCAPED$/m);
        if (shows && name === "bubblewrap") expect(output).toMatch(shows);
        const ofOwner = readdirSync(root).filter((one) => lstatSync(join(root, one)).mode & 0o4000);
        expect(ofOwner).toEqual([]);
        for (const [path, text] of all) {
          expect(readFileSync(join(base, path), "utf8"), path).toBe(text);
          expect(statSync(join(base, path)).mode & 0o7777, path).toBe(0o644);
        }
        for (const path of ABSENT) expect(existsSync(join(home, path)), path).toBe(false);
        expect(existsSync(join(root, ".git/hooks/pre-commit"))).toBe(false);
        expect(readFileSync(join(root, ".git/config"), "utf8")).not.toContain("ESCAPED");
        expect(existsSync(`/tmp/escaped-${base.slice(-6)}`)).toBe(false);
        expect(isAlive(outside.victim)).toBe(true);
      },
    );

    test("a socket of the machine's network that has no file", async () => {
      const { output } = await run(
        py(
          `try: c = socket.socket(socket.AF_UNIX); print(c.connect_ex('\\0escape-${outside.victim}'))\n` +
            "except OSError as e: print('refused', e.errno)\n" +
            "a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))",
        ),
        { walls: { network: "all" } },
      );
      expect(output).toBe("refused 97\nb'x'\n");
    });

    test("there are more than sixty of them", () => {
      expect(attempts.length).toBeGreaterThanOrEqual(60);
    });
  });
});

/** Under Landlock gate itself restores them after the command; `landlock.test.ts` shows it. */
const RESTORED = /^git's (config of the project|hooks)$/;
/** What a rule of the stage hides or keeps in the project. */
const MASKED = /project\/(\.env|api|secrets|kept|\.claude)/;

const VICTIM = "import os, socket, time; s = socket.socket(socket.AF_UNIX); " +
  "s.bind('\\0escape-%d' % os.getpid()); s.listen(); " +
  "open('/dev/shm/escape-%d' % os.getpid(), 'w').write('SECRET=shm'); " +
  "print('ready', flush=True); time.sleep(600)";

/** The files that must be as they were after each attempt. */
const KEPT: Record<string, string> = {
  "home/user/project/.env": "SECRET=project\n",
  "home/user/project/api/.env": "SECRET=api\n",
  "home/user/project/secrets/a/b.txt": "SECRET=folder\n",
  "home/user/project/kept/one.sql": "one\n",
  "home/user/project/src/main.txt": "main\n",
  "home/user/project/.claude/settings.json": "{}\n",
  "home/user/.ssh/id_ed25519": "SECRET=ssh\n",
  "home/user/.netrc": "SECRET=netrc\n",
  "home/user/.bashrc": "# mine\n",
  "home/user/.gitconfig": "[user]\n\tname = A\n",
  "home/user/.gate/tokens/agent": "SECRET=token\n",
  "home/user/.cargo/bin/tool": "tool\n",
  "home/user/other/file.txt": "SECRET=other\n",
  "elsewhere/data.txt": "SECRET=elsewhere\n",
};
const ABSENT = [".ssh/authorized_keys", ".config", ".profile", ".cache"];

function isAlive(pid: number): boolean {
  return /^State:\s+[SRD]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}

if (!existsSync("/usr/bin/python3")) {
  console.error("NOT RUN: the escapes need /usr/bin/python3");
}
