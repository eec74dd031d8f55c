import { execFileSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { runCommand } from "../../../server/runtime/spawn.ts";
import { startBehind } from "../../../server/sandbox/bubblewrap.ts";
import { createStage, ENGINE } from "./stage.ts";

const FILES = {
  "home/user/project/.env": "SECRET=project\n",
  "home/user/project/api/.env": "SECRET=api\n",
  "home/user/project/api/key.pem": "SECRET=key\n",
  "home/user/project/secrets/a/b.txt": "SECRET=folder\n",
  "home/user/project/kept/one.sql": "one\n",
  "home/user/project/src/main.txt": "main\n",
  "home/user/project/.claude/settings.json": "{}\n",
  "home/user/.ssh/id_ed25519": "SECRET=ssh\n",
  "home/user/.netrc": "SECRET=netrc\n",
  "home/user/.gitconfig":
    '[user]\n\tname = A Person\n\temail = a@example.com\n[url "https://SECRET@host/"]\n\tinsteadOf = x\n',
  "home/user/.gate/tokens/agent": "SECRET=token\n",
  "home/user/.cargo/credentials.toml": "SECRET=cargo\n",
  "home/user/.cargo/bin/tool": "tool\n",
  "home/user/other/file.txt": "SECRET=other\n",
  "elsewhere/data.txt": "SECRET=elsewhere\n",
};

describe.runIf(ENGINE !== null)("a command in the sandbox", () => {
  test("sees no secret: not in the project, the home, gate's data or elsewhere", async () => {
    const { run, base } = createStage(FILES);
    const { output, exit_code } = await run(
      `cat src/main.txt ~/.cargo/bin/tool; grep -rs SECRET . ~ /tmp /var/tmp ${base}; ` +
        `cat .env api/.env api/key.pem ~/.ssh/id_ed25519 ${base}/elsewhere/data.txt`,
    );
    expect(output).toContain("main\ntool\n");
    expect(output).not.toContain("SECRET");
    expect(output).toContain("cat: .env: Permission denied");
    expect(exit_code).not.toBe(0);
  });

  test("writes in the project, and nothing that a rule keeps", async () => {
    const { run, root } = createStage(FILES);
    const { output } = await run(
      "echo new > src/new.txt; echo x > kept/one.sql; echo x > kept/two.sql; " +
        "echo x > .claude/settings.json; rm -rf secrets .env; mv api web; ls api",
    );
    expect(readFileSync(join(root, "src/new.txt"), "utf8")).toBe("new\n");
    expect(readFileSync(join(root, "kept/one.sql"), "utf8")).toBe("one\n");
    expect(existsSync(join(root, "kept/two.sql"))).toBe(false);
    expect(readFileSync(join(root, ".claude/settings.json"), "utf8")).toBe("{}\n");
    expect(readFileSync(join(root, "secrets/a/b.txt"), "utf8")).toBe("SECRET=folder\n");
    expect(readFileSync(join(root, "api/.env"), "utf8")).toBe("SECRET=api\n");
    expect(output).toContain("Read-only file system");
    expect(output).toContain("Device or resource busy");
  });

  test("a program that looks for a file with settings finds none in a hidden one", async () => {
    const { run } = createStage(FILES);
    const { output } = await run(
      "test -f .env || echo none; echo x > .env; dd if=.env; " +
        "grep -rs main .; git init -q . && git add src kept && git commit -qm one && git ls-files; " +
        "git add -A; node -e \"console.log(fs.statSync('.env').isFile())\"",
    );
    expect(output).toMatch(/^none\n/);
    expect(output.match(/\.env'?: Permission denied/g)).toHaveLength(2);
    expect(output).toContain("./src/main.txt:main\nkept/one.sql\nsrc/main.txt\n");
    expect(output).toContain("can only add regular files");
    expect(output).toMatch(/false\n$/);
  });

  test("a hidden file that git knows is never committed as changed or deleted", async () => {
    const { run, root } = createStage(FILES);
    const git = (...args: string[]) => execFileSync("git", ["-C", root, ...args]).toString();
    git("init", "-q");
    git("add", "--force", ".env", "src");
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "one");
    const { output } = await run(
      "echo more >> src/main.txt; git commit -qam two; git add -A; git commit -qm three; " +
        "git stash; git checkout -- .; echo again >> src/main.txt; git add src; git commit -qm four; " +
        "git log --format=%s",
    );
    expect(output).toMatch(/\nfour\none\n$/);
    expect(git("show", "HEAD:.env")).toBe("SECRET=project\n");
    expect(readFileSync(join(root, ".env"), "utf8")).toBe("SECRET=project\n");
  });

  test("keeps its temporary files for the session, and only there", async () => {
    const { run } = createStage(FILES);
    const name = `gate-private-${crypto.randomUUID()}`;
    await run(`echo one > /tmp/${name}; echo two > ~/.cache/${name}; echo three > ~/${name}`);
    expect(existsSync(`/tmp/${name}`)).toBe(false);
    const again = await run(`cat /tmp/${name} ~/.cache/${name}; ls ~/${name}`);
    expect(again.output).toMatch(/^one\ntwo\nls: cannot access/);
    const other = await run(`ls /tmp/${name}`, { walls: { session_id: "another" } });
    expect(other.exit_code).not.toBe(0);
  });

  test("sees a file of /tmp that its text names", async () => {
    const { run, root } = createStage(FILES);
    const folder = `/tmp/gate-named-${crypto.randomUUID()}`;
    mkdirSync(folder);
    try {
      writeFileSync(`${folder}/a.txt`, "named\n");
      writeFileSync(`${folder}/.env`, "SECRET=tmp\n");
      symlinkSync(join(root, ".env"), `${folder}/link`);
      writeFileSync(`${folder}/two`, "SECRET=two\n");
      linkSync(`${folder}/two`, `${folder}/linked`);
      // Programs keep logins and cookies in files that nobody else can read.
      writeFileSync(`${folder}/krb5`, "SECRET=ticket\n", { mode: 0o600 });
      mkdirSync(`${folder}/profile`, { mode: 0o700 });
      writeFileSync(`${folder}/profile/Cookies`, "SECRET=cookie\n");
      const names = [".env", "link", "linked", "krb5", "profile/Cookies"];
      const { output } = await run(
        `cat ${folder}/a.txt; cat ${names.map((name) => `${folder}/${name}`).join(" ")}`,
      );
      expect(output).toMatch(/^named\n/);
      expect(output).not.toContain("SECRET");
    } finally {
      execFileSync("rm", ["-r", folder]);
    }
  });

  test("another name of a hidden file is hidden", async () => {
    const { run, root } = createStage(FILES);
    linkSync(join(root, ".env"), join(root, "src/plain.txt"));
    symlinkSync("../src/behind.txt", join(root, "api/b.pem"));
    writeFileSync(join(root, "src/behind.txt"), "SECRET=behind\n");
    expect((await run("cat src/*.txt api/b.pem")).output).not.toContain("SECRET");
  });

  test("reaches no service of the machine, but its own", async () => {
    const { run } = createStage(FILES);
    const server = createServer((socket) => socket.end("SECRET")).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    try {
      const { output } = await run(`exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`);
      expect(output).toContain("Connection refused");
    } finally {
      server.close();
    }
    const own = 'import socket; s = socket.create_server(("127.0.0.1", 0)); ' +
      "c = socket.create_connection(s.getsockname()); print(1)";
    expect((await run(`python3 -c '${own}'`)).output).toBe("1\n");
  });

  test("is who the user is to git, without the user's settings", async () => {
    const { run } = createStage(FILES);
    const { output } = await run("git config user.name; git config -l | grep -c SECRET");
    expect(output).toBe("A Person\n0\n");
  });

  test("starts with no more than its three streams and without the agent's services", async () => {
    const { run } = createStage(FILES);
    const { output } = await run("ls /proc/self/fd | wc -l; env", {
      env: { SSH_AUTH_SOCK: "/x", DOCKER_HOST: "x", GATE_HOME: "/x", TMPDIR: "/x", A_TOKEN: "x" },
    });
    expect(output).toMatch(/^4\n/);
    expect(output).not.toMatch(/SSH_AUTH|DOCKER|GATE_|TMPDIR|TOKEN|DENO_EXTRA/);
  });

  test("ends with its children, also in the background", async () => {
    const { run } = createStage(FILES);
    const token = `3${process.pid}${Date.now() % 1_000}`;
    const { duration_ms } = await run(`(trap '' TERM; sleep ${token}) & (setsid sleep ${token} &)`);
    // Only a run that waits for the end of a sleep of hours is longer.
    expect(duration_ms).toBeLessThan(60_000);
    const listed = () => execFileSync("ps", ["-eo", "args"]).toString();
    await expect.poll(listed).not.toContain(`sleep ${token}`);
    const { error } = await run(`trap '' TERM; sleep ${token}`, { timeout_ms: 300 });
    expect(error).toMatch(/Timed out/);
    await expect.poll(listed).not.toContain(`sleep ${token}`);
  });

  test("fails without running when the engine cannot build the walls", async () => {
    const { walls, root, write } = createStage(FILES);
    const { walls: built } = await walls("true");
    write("home/user/project/gone/.env", "x");
    const mounts = [...built.mounts, { at: join(root, "nowhere"), as: "writable" as const }];
    const { exit_code, output } = await runCommand("touch ran", {
      ...{ cwd: root, timeout_ms: 5_000, max_output_bytes: 1_000 },
      sandbox: startBehind({ ...built, mounts }, {}),
    });
    expect(exit_code).toBe(1);
    expect(output).toMatch(/^bwrap: Can't find source path/);
    expect(existsSync(join(root, "ran"))).toBe(false);
  });
});

test.runIf(ENGINE === null)("no engine: commands are judged as before", async () => {
  const { lookForEngine } = await import("../../../server/sandbox/engine.ts");
  const { engine, why } = await lookForEngine({ confine: null });
  expect(engine).toBeNull();
  expect(why).not.toBe("");
});

describe.runIf(ENGINE !== null)("the folders of PATH", () => {
  test("are shown with their installation, but not what a rule blocks or another project", async () => {
    const stage = createStage({
      "tools/app/bin/tool": "#!/bin/sh\ncat $(dirname $0)/../lib/data\n",
      "tools/app/lib/data": "installed\n",
      "home/user/own/bin/mine": "#!/bin/sh\necho mine\n",
      "home/user/hidden/bin/tool2": "SECRET\n",
      "other/bin/tool3": "SECRET\n",
    }, { blockedPaths: ["~/hidden/**"] });
    const { base, home } = stage;
    const programs = [
      `${base}/tools/app/bin`,
      `${home}/own/bin`,
      `${home}/hidden/bin`,
      `${base}/other/bin`,
    ];
    execFileSync("chmod", ["-R", "+x", ...programs]);
    const { output } = await stage.run(
      `tool; mine; cat ${programs[2]}/tool2 ${programs[3]}/tool3`,
      {
        env: { PATH: [...programs, "/usr/bin:/bin"].join(":") },
        walls: { blocked_outside: ["~/hidden/**"], strangers: [`${base}/other`] },
      },
    );
    expect(output).toMatch(/^installed\nmine\n/);
    expect(output).not.toContain("SECRET");
  });
});
