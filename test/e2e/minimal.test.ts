import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { execs } from "../cli/scenario/harness.ts";
import { SUBJECTS } from "./world.ts";

const PROGRAM = SUBJECTS.executable[0];

/** The reason why this machine cannot create a separate root file system; null if it can. */
function findObstacle(): string | null {
  if (process.platform !== "linux") return "a root of one's own needs Linux";
  // Some machines allow namespaces but forbid mounts inside them.
  const tried = [...NAMESPACES, "mount", "-t", "proc", "proc", "/proc"];
  const { status, stderr } = spawnSync("unshare", tried, { encoding: "utf8", env: ENV });
  return status === 0 ? null : `no namespaces here: ${stderr}`;
}

const ENV = { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` };
const NAMESPACES = ["--user", "--map-root-user", "--mount", "--pid", "--fork"];
const why = findObstacle();
if (why) console.error(`SKIPPED, the scenario tool was not run in a minimal image: ${why}`);

describe.skipIf(why !== null)("an image with nothing but glibc", () => {
  let root: string;

  /** Copies the executable, the loader and their libraries, with empty `/proc` and `/dev`. */
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "gate-image-"));
    const needed = execFileSync("ldd", [PROGRAM], { encoding: "utf8" }).match(/\/\S+/g)!;
    for (const file of needed) {
      mkdirSync(join(root, dirname(file)), { recursive: true });
      copyFileSync(file, join(root, file));
    }
    for (const folder of ["bin", "proc", "dev", "job"]) mkdirSync(join(root, folder));
    copyFileSync(PROGRAM, join(root, "bin/scenario-tool"));
    writeFileSync(join(root, "dev/null"), "");
  });

  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const inside = (...args: string[]) => insideWith('mount -t proc proc "$0/proc" && ', ...args);

  function insideWith(mounts: string, ...args: string[]) {
    const script = `${mounts}mount --bind /dev/null "$0/dev/null" && ` +
      'exec chroot "$0" /bin/scenario-tool "$@"';
    const argv = [...NAMESPACES, "sh", "-c", script, root, ...args];
    return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
      const child = spawn("unshare", argv, { env: ENV });
      const printed = { stdout: "", stderr: "" };
      child.stdout.on("data", (chunk) => printed.stdout += chunk);
      child.stderr.on("data", (chunk) => printed.stderr += chunk);
      child.on("close", (code) => resolve({ code, ...printed }));
    });
  }

  test("holds the C library and nothing else", () => {
    const names = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile()).map(({ name }) =>
        name.replace(/\.so.*$/, "").replace(/-.*$/, "")
      );
    expect([...new Set(names)].sort()).toEqual(
      expect.arrayContaining(["ld", "libc", "scenario"]),
    );
    expect(
      names.every((name) => /^(ld|libc|libm|libdl|libpthread|librt|scenario|null)$/.test(name)),
    )
      .toBe(true);
  });

  test("runs scenario-tool --version", async () => {
    expect(await inside("--version")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^scenario-tool \d+\.\d+\.\d+\n$/),
    });
  });

  test("executes scenarios, and exits with 2 on a critical failure", async () => {
    const server = createServer((request, response) => {
      response.statusCode = request.url === "/crash" ? 500 : 200;
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const get = (path: string) => ({ mode: "http", method: "GET", path, priority: "critical" });
    const list = execs(get("/fine"), get("/crash"));
    writeFileSync(join(root, "job/scenarios.json"), JSON.stringify({ scenarios: list }));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const argv = ["--scenarios", "/job/scenarios.json", "--output", "json"];
    const { code, stdout } = await inside("run", "--target", url, ...argv);
    expect(code).toBe(2);
    expect(JSON.parse(stdout).executions.map(({ status }: { status: string }) => status))
      .toEqual(["passed", "failed"]);
  });

  test("finds localhost without /etc/hosts, and says that it cannot find other names", async () => {
    const server = createServer((_request, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const list = execs({ mode: "http", method: "GET", path: "/" });
    writeFileSync(join(root, "job/scenarios.json"), JSON.stringify({ scenarios: list }));
    const { port } = server.address() as AddressInfo;
    const run = (host: string) =>
      inside("run", "--target", `http://${host}:${port}`, "--scenarios", "/job/scenarios.json");
    expect(await run("localhost")).toMatchObject({ code: 0 });
    expect(await run("shop.invalid")).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/"shop\.invalid" is not in \/etc\/hosts .*use an IP address/),
    });
  });

  test("says that it needs /proc where it is not mounted", async () => {
    const { code, stderr } = await insideWith("", "--version");
    expect(code).not.toBe(0);
    expect(stderr).toContain("On Linux it needs /proc:\n  mount -t proc proc /proc");
    expect(stderr).not.toContain("not your code");
  });

  test("generates scenarios", async () => {
    const spec = { openapi: "3.1.0", paths: { "/a": { get: { responses: { 200: {} } } } } };
    writeFileSync(join(root, "job/openapi.json"), JSON.stringify(spec));
    const { code, stdout } = await inside(
      "run",
      "--spec",
      "/job/openapi.json",
      "--output",
      "json",
    );
    expect({ code, most: JSON.parse(stdout).scenarios.length }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout).scenarios.length).toBeGreaterThan(1);
  });
});

test.runIf(process.platform === "linux")(
  "the scenario tool maps no native module and writes no home",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "gate-maps-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    symlinkSync(PROGRAM, join(folder, "scenario-tool"));
    const list = execs({ mode: "http", method: "GET", path: "/" });
    writeFileSync(join(folder, "scenarios.json"), JSON.stringify(list));
    // When the request arrives, the tool has loaded all its code.
    const maps = await new Promise<string>((resolve, reject) => {
      const server = createServer((_request, response) => {
        resolve(readFileSync(`/proc/${child.pid}/maps`, "utf8"));
        response.end();
      });
      onTestFinished(() => void server.close());
      let child: ReturnType<typeof spawn>;
      server.listen(0, "127.0.0.1", () => {
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        const env = { HOME: folder, PATH: "/usr/bin:/bin" };
        const argv = ["run", "--target", url];
        child = spawn(join(folder, "scenario-tool"), argv, { cwd: folder, env, stdio: "ignore" });
        child.on("error", reject);
        child.on("exit", (code) => reject(new Error(`it ended with ${code} and sent nothing`)));
      });
    });
    const mapped = [...new Set(maps.match(/\/\S+$/gm))];
    expect(mapped.some((file) => file.includes("libc"))).toBe(true);
    expect(mapped.filter((file) => /\.node\b|libsql/.test(file))).toEqual([]);
    expect(readdirSync(folder).sort()).toEqual(["scenario-tool", "scenarios.json"]);
  },
);
