import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ownUid, sendSignal } from "../../server/runtime/process_list.ts";
import { identify } from "../../server/runtime/processes.ts";
import { type Subject, until, World } from "./world.ts";

const SUBJECT = (process.env["GATE_TEST_SUBJECT"] ?? "executable") as Subject;
/** The time in which a server that a session left behind is listed. */
const FOUND_MS = 15_000;
const OTHER_UID = 65_534;
/** How often a pid is used again until the daemon has not looked in between. */
const MOST_ROUNDS = 5;

/** Prints its pid and its port once it listens. */
const SERVER = `const server = require("net").createServer();
  server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () =>
    console.log(process.pid, server.address().port));`;

interface Server {
  pid: number;
  port: number;
  start_time: string;
}

describe.skipIf(process.platform === "win32").sequential(
  `real servers of real processes, on ${SUBJECT}`,
  () => {
    let world: World;
    const started: number[] = [];

    beforeAll(async () => {
      world = await World.create(SUBJECT);
      await world.init({ defaultEffect: "allow" });
    });

    afterEach(() => {
      for (const pid of started.splice(0)) sendSignal(pid, "SIGKILL");
    });

    afterAll(async () => await world?.close());

    const ports = async () => (await world.api("GET", "/api/agent-monitor/ports")).body;
    const rowOf = (rows: { pid: number }[], { pid }: Server) => rows.find((row) => row.pid === pid);
    const end = (pid: number | string, body?: object) =>
      world.api("DELETE", `/api/agent-monitor/ports/${pid}`, body);

    /** Starts the code twice removed from its shell, so that its parent is no process of the shell. */
    async function startServer(
      code: string,
      { env = {}, uid, then = "" }: { env?: Record<string, string>; uid?: number; then?: string },
    ): Promise<{ server: Server; shell: ChildProcess }> {
      const become = uid === undefined ? "" : `process.setgid(${uid}); process.setuid(${uid});`;
      // A bash whose input is a socket reads the startup file of the person who runs the tests.
      const shell = spawn("bash", ["--norc", "-c", `(node -e "$CODE" &); ${then}`], {
        cwd: world.project,
        env: { PATH: world.env.PATH, CODE: become + code, ...env },
      });
      const [line] = await once(shell.stdout!, "data");
      const [pid, port] = String(line).split(" ").map(Number) as [number, number];
      started.push(pid);
      return { server: { pid, port, start_time: identify(pid)!.start_time }, shell };
    }

    /** A session of Claude Code whose server has left it, as the monitor lists both. */
    async function startSession(id: string, code = SERVER) {
      const mark = { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: id };
      const then = "exec -a claude sleep 1000";
      const { server, shell } = await startServer(code, { env: mark, then });
      const pid = shell.pid!;
      started.push(pid);
      const path = join(world.home, ".claude", "sessions", `${pid}.json`);
      mkdirSync(dirname(path), { recursive: true });
      const procStart = identify(pid)!.start_time.split(":").at(-1);
      const about = { cwd: world.project, startedAt: Date.now(), procStart, status: "busy" };
      writeFileSync(path, JSON.stringify({ pid, sessionId: id, ...about }));
      const row = await until("the server is a child of its session", async () => {
        const { child_ports, orphan_ports } = await ports();
        expect(rowOf(orphan_ports, server)).toBe(undefined);
        return rowOf(child_ports, server);
      });
      expect(row).toMatchObject({ session_id: id, agent: "claude-code", project_id: "demo" });
      return { server, session: shell };
    }

    /** Kills the session. The server must be listed as left behind in time. */
    async function leave(session: ChildProcess, server: Server) {
      const begun = performance.now();
      session.kill("SIGKILL");
      const row = await until(
        "the server is left behind",
        async () => rowOf((await ports()).orphan_ports, server),
        2 * FOUND_MS,
      );
      expect(performance.now() - begun).toBeLessThan(FOUND_MS);
      expect(row).toMatchObject({
        ...{ pid: server.pid, start_time: server.start_time, agent: "claude-code" },
        ports: [{ port: server.port, address: "127.0.0.1", family: 4 }],
      });
    }

    const isRunning = ({ pid, start_time }: Server) => identify(pid)?.start_time === start_time;

    test.each([
      ["ends when asked", "", "SIGTERM", "terminated", 0],
      ["ignores SIGTERM", "process.on('SIGTERM', () => {});", "SIGKILL", "killed", 5_000],
    ])("a server that %s is found and ended", async (name, extra, signal, outcome, least_ms) => {
      const id = `session that ${name}`;
      const { server, session } = await startSession(id, extra + SERVER);
      await leave(session, server);
      const { status, body } = await end(server.pid, { start_time: server.start_time });
      expect({ status, ...body }).toMatchObject({ status: 200, pid: server.pid, signal, outcome });
      expect(body.waited_ms).toBeGreaterThanOrEqual(least_ms);
      expect(isRunning(server)).toBe(false);
      const { body: recorded } = await world.api("GET", "/api/audit/export?format=json");
      const events = recorded.events.filter(({ type, data }: Recorded) =>
        type === "monitor.terminated" && data.pid === server.pid
      );
      expect(events).toMatchObject([{
        actor: { kind: "reviewer" },
        data: { signal, outcome, agent_session: id, start_time: server.start_time },
      }]);
      expect((await end(server.pid)).status).toBe(404);
    });

    test("a process that got the pid of a server is not signalled", async (context) => {
      for (let round = 1;; round++) {
        const { server, session } = await startSession(`session with a reused pid, ${round}`);
        await leave(session, server);
        sendSignal(server.pid, "SIGKILL");
        // The system may keep an ended process for some seconds.
        await until("its pid is free", () => !existsSync(`/proc/${server.pid}`), 30_000);
        const next = await startWithPid(server.pid, server.port);
        if (next === null) return context.skip("only a superuser can choose a pid");
        started.push(next.pid!);
        expect(next.pid).toBe(server.pid);
        const { status, body } = await end(server.pid);
        const again = await end(server.pid, { start_time: server.start_time });
        // 404 once the next look at the ports has seen the new process.
        expect([404, 409]).toContain(again.status);
        expect(next.exitCode ?? next.signalCode).toBe(null);
        expect(identify(server.pid)).not.toBe(null);
        // A look that came before the first request makes a round worthless.
        if (status === 404 && round < MOST_ROUNDS) continue;
        return expect({ status, code: body.code }).toEqual({
          status: 409,
          code: "identity_changed",
        });
      }
    }, 400_000);

    test("a server of a live session is not signalled", async () => {
      const { server } = await startSession("session that lives");
      expect((await end(server.pid)).status).toBe(404);
      expect((await end(server.pid, { start_time: server.start_time })).status).toBe(404);
      expect(isRunning(server)).toBe(true);
    });

    test.skipIf(ownUid() !== 0)("a server of another user is not signalled", async () => {
      const env = { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: "gone" };
      const { server } = await startServer(SERVER, { env, uid: OTHER_UID });
      const { server: own } = await startServer(SERVER, { env });
      await until(
        "the own one is listed",
        async () => rowOf((await ports()).orphan_ports, own),
        30_000,
      );
      expect(rowOf((await ports()).orphan_ports, server)).toBe(undefined);
      expect((await end(server.pid)).status).toBe(404);
      expect(isRunning(server)).toBe(true);
    });

    test("neither the daemon, nor the system, nor a group is signalled", async () => {
      const daemon = await world.daemonPid();
      const { server } = await startSession("session of the group");
      const statuses = [];
      for (const pid of [daemon, process.pid, 1, 0, -server.pid, `${server.pid}.0`, "0x1"]) {
        statuses.push([pid, (await end(pid)).status]);
      }
      expect(statuses).toEqual([
        ...[[daemon, 404], [process.pid, 404], [1, 404], [0, 400]],
        ...[[-server.pid, 400], [`${server.pid}.0`, 400], ["0x1", 400]],
      ]);
      expect(await world.daemonPid()).toBe(daemon);
      expect(isRunning(server)).toBe(true);
    });
  },
);

interface Recorded {
  type: string;
  data: { pid?: number };
}

/** Starts a server with this very pid; null where the system does not let this user choose one. */
async function startWithPid(pid: number, port: number): Promise<ChildProcess | null> {
  for (let left = 50; left > 0; left--) {
    try {
      writeFileSync("/proc/sys/kernel/ns_last_pid", String(pid - 1));
    } catch {
      return null;
    }
    const env = { PATH: process.env["PATH"], PORT: String(port) };
    const child = spawn("node", ["-e", SERVER], { env });
    if (child.pid === pid) {
      await once(child.stdout!, "data");
      return child;
    }
    // Another program took the pid first.
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  return null;
}
