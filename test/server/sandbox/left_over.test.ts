import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { policyTemplate } from "../../../server/policy/templates.ts";
import { identify } from "../../../server/runtime/processes.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { createStage, ENGINE } from "./stage.ts";

const LIBC = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name in ('ptrace', 'process_vm_writev', 'process_vm_readv'):
    getattr(libc, name).restype = ctypes.c_long
`;

/** Each way into the first process of the sandbox, which it would make forget whose end ends it. */
const REACH = `${LIBC}
class Part(ctypes.Structure): _fields_ = [('at', ctypes.c_void_p), ('length', ctypes.c_size_t)]
own = ctypes.create_string_buffer(8)
part = Part(ctypes.addressof(own), 8)
def say(name, result): print(name, 'reached' if result >= 0 else 'refused')
for attach in (0x4206, 16): say('ptrace', libc.ptrace(attach, 1, 0, 0))
say('ptrace with more bits', libc.ptrace(0x4206, ctypes.c_long(2 ** 32 + 1), 0, 0))
say('writev', libc.process_vm_writev(1, ctypes.byref(part), 1, ctypes.byref(part), 1, 0))
for path in ('/proc/1/mem', '/proc/1/task/1/mem', '/proc/self/../1/mem', '/proc/1/maps'):
    try: say(path, os.open(path, os.O_RDWR if path.endswith('mem') else os.O_RDONLY))
    except OSError: say(path, -1)
first = libc.syscall(434, 1, 0)
for fd in range(12): say('a file of it', libc.syscall(438, first, fd, 0))
child = os.fork()
if child == 0:
    import time
    time.sleep(60)
say('its own child', libc.ptrace(0x4206, child, 0, 0))
os.kill(child, 9)
`;

/** Stops each first process of a sandbox below a process at its end, so that the kernel cannot end it. */
const HOLD = `${LIBC}
import sys, time
held = set()
def below(pid):
    try: children = open(f'/proc/{pid}/task/{pid}/children').read().split()
    except OSError: return []
    return [one for child in children for one in [child, *below(child)]]
def isFirst(pid):
    try: told = open(f'/proc/{pid}/status').read()
    except OSError: return False
    numbers = [line.split()[1:] for line in told.splitlines() if line.startswith('NSpid')][0]
    return len(numbers) > 1 and numbers[-1] == '1'
print('ready', flush=True)
while True:
    for pid in below(sys.argv[1]):
        if pid not in held and isFirst(pid) and libc.ptrace(0x4206, int(pid), 0, 0x40) == 0:
            held.add(pid)
            print(pid, flush=True)
    time.sleep(0.01)
`;

const PYTHON = "/usr/bin/python3";
const canRun = ENGINE !== null && existsSync(PYTHON);
if (!canRun) console.error("NOT RUN: nothing here can reach for the first process of a sandbox");

const agent = testCaller();

/** A gate that runs every command in the sandbox, and the id of an allowed one. */
async function submitWalled() {
  const policies = { ...policyTemplate("balanced"), sandbox: { mode: "always" as const } };
  const gate = await createTestGate({ policies, sandbox: () => Promise.resolve(ENGINE) });
  return { gate, id: await submitTest(gate) };
}

async function submitTest({ project }: TestGate): Promise<string> {
  const { action: { id } } = await project.actions.submit(
    { tool: "run_command", input: { command: "pytest" }, wait_ms: 0 },
    agent,
  );
  return id;
}

const YAMA = "/proc/sys/kernel/yama/ptrace_scope";
const canHold = canRun &&
  (!existsSync(YAMA) || readFileSync(YAMA, "utf8").trim() === "0" || process.getuid?.() === 0);
if (!canHold) console.error("NOT RUN: this kernel lets no program stop another one at its end");

test.runIf(canRun)("no command reaches into the first process of its sandbox", async () => {
  const stage = createStage({ "home/user/project/reach.py": REACH });
  const { output } = await stage.run(`${PYTHON} reach.py`);
  const lines = output.trim().split("\n");
  expect(lines.pop()).toBe("its own child reached");
  expect(lines).toHaveLength(20);
  expect(lines.filter((line) => !line.endsWith(" refused"))).toEqual([]);
});

test.runIf(canHold)("a process that cannot be ended is reported", async () => {
  const stage = createStage();
  const holder = spawn(PYTHON, ["-c", HOLD, String(process.pid)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const lines = createInterface(holder.stdout!)[Symbol.asyncIterator]();
    await lines.next();
    // It ends when the other program has taken hold of the process above it.
    const ended = stage.run("while [ ! -e held ]; do sleep 0.02; done");
    const { value: pid } = await lines.next();
    stage.write("home/user/project/held", "");
    const { exit_code, error, left } = await ended;
    expect(left).toEqual(identify(Number(pid)));
    expect({ exit_code, error }).toEqual({
      exit_code: null,
      error: `Its process ${pid} could not be ended, and may still change files`,
    });
  } finally {
    holder.kill("SIGKILL");
  }
}, 30_000);

test.runIf(ENGINE !== null)(
  "while a process goes on its session is blocked, and what it leaves later is moved away",
  async () => {
    const { gate, id } = await submitWalled();
    const claim = await gate.project.actions.claim(id, { sandbox: true }, agent);
    const goesOn = spawn("/bin/sleep", ["60"]);
    await once(goesOn, "spawn");
    const report = {
      ...{ claim_id: claim!.claim_id, exit_code: null, output: "", truncated: false },
      ...{ duration_ms: 1, error: "It could not be ended", left: identify(goesOn.pid!) },
    };
    const { status } = await gate.request("POST", `/api/actions/${id}/result`, report, "agent");
    expect(status).toBe(200);
    const { items } = await (await gate.request("GET", "/api/remediation/blocks")).json();
    expect(items).toEqual([expect.objectContaining({
      action_id: id,
      reason: expect.stringContaining(`goes on in its sandbox (${goesOn.pid})`),
    })]);
    // A restart changes nothing of that.
    await gate.reopen(() => void gate.write("a/.env", "KEY=1\n"));
    await gate.project.actions.expireDue();
    expect(existsSync(join(gate.root, "a/.env"))).toBe(true);
    const ended = once(goesOn, "exit");
    goesOn.kill("SIGKILL");
    await ended;
    await gate.project.actions.expireDue();
    expect(existsSync(join(gate.root, "a/.env"))).toBe(false);
  },
);

test.runIf(ENGINE !== null)(
  "a command that cannot be looked at again keeps nothing else from its time",
  async () => {
    const { gate, id } = await submitWalled();
    const goesOn = spawn("/bin/sleep", ["60"]);
    await once(goesOn, "spawn");
    const ids = [id, await submitTest(gate)];
    const claims = [];
    for (const one of ids) {
      claims.push(await gate.project.actions.claim(one, { sandbox: true }, agent));
    }
    for (const [at, one] of ids.entries()) {
      const { claim_id } = claims[at]!;
      const end = { exit_code: 0, output: "", truncated: false, duration_ms: 1 };
      const left = identify(goesOn.pid!)!;
      await gate.project.actions.result(one, { claim_id, ...end, left }, agent);
    }
    gate.write("a/.env", "KEY=1\n");
    const ended = once(goesOn, "exit");
    goesOn.kill("SIGKILL");
    await ended;
    const walls = join(gate.home, "run/walls");
    // A project that was removed has the action of this one.
    copyFileSync(join(walls, `${id}.json`), join(walls, "unknown.json"));
    await refuseEvents(gate, "guard.restored");
    await gate.project.actions.expireDue();
    expect(gate.logs).toContainEqual(expect.objectContaining({ message: "Cannot do what is due" }));
    expect(existsSync(join(gate.root, "a/.env"))).toBe(false);
    expect(readdirSync(walls)).toHaveLength(2);
    await gate.project.actions.expireDue();
    expect(readdirSync(walls)).toEqual(["unknown.json"]);
    gate.clock.advance(50 * 60 * 60 * 1000);
    await gate.project.actions.expireDue();
    expect(readdirSync(walls)).toEqual([]);
  },
);

/** Lets each commit fail that has an event of this type. */
async function refuseEvents({ project }: TestGate, type: string): Promise<void> {
  const sql = `CREATE TRIGGER refused BEFORE INSERT ON audit WHEN NEW.type = '${type}' BEGIN
    SELECT RAISE(ABORT, 'refused'); END`;
  await project.ledger.commit({ statements: [{ sql, args: [] }], events: [] });
}

test.runIf(ENGINE !== null)(
  "no process goes on in its sandbox unless that is recorded",
  async () => {
    const { gate, id } = await submitWalled();
    const { claim_id } = (await gate.project.actions.claim(id, { sandbox: true }, agent))!;
    const end = { exit_code: 0, output: "", truncated: false, duration_ms: 1 };
    const report = { claim_id, ...end, left: identify(process.pid)! };
    const walls = () => JSON.parse(readFileSync(join(gate.home, `run/walls/${id}.json`), "utf8"));
    await refuseEvents(gate, "block.added");
    await expect(gate.project.actions.result(id, report, agent)).rejects.toThrow("refused");
    expect(walls().goes_on).toBe(undefined);
    const drop = { sql: "DROP TRIGGER refused", args: [] };
    await gate.project.ledger.commit({ statements: [drop], events: [] });
    await gate.project.actions.result(id, report, agent);
    expect(walls().goes_on).toBe(true);
    const { items } = await (await gate.request("GET", "/api/remediation/blocks")).json();
    expect(items).toEqual([expect.objectContaining({ action_id: id })]);
  },
);

test("a process that a command outside the sandbox reports blocks nothing", async () => {
  const gate = await createTestGate({ policies: { defaultEffect: "allow" } });
  const { action: { id } } = await gate.project.actions.submit(
    { tool: "run_command", input: { command: "true" }, wait_ms: 0 },
    agent,
  );
  const claim = await gate.project.actions.claim(id, {}, agent);
  const left = identify(process.pid)!;
  const report = { exit_code: 0, output: "", truncated: false, duration_ms: 1, left };
  const { claim_id } = claim!;
  await gate.project.actions.result(id, { claim_id, ...report }, agent);
  const { items } = await (await gate.request("GET", "/api/remediation/blocks")).json();
  expect(items).toEqual([]);
});

test.runIf(ENGINE !== null)(
  "a command that nobody reported is looked at again when its process is gone",
  async () => {
    const { gate, id } = await submitWalled();
    const runner = spawn("/bin/sleep", ["60"]);
    await once(runner, "spawn");
    const by = { sandbox: true as const, process: identify(runner.pid!)! };
    await gate.project.actions.claim(id, by, agent);
    gate.clock.advance(24 * 60 * 60 * 1000);
    await gate.project.actions.expireDue();
    const { execution } = await (await gate.request("GET", `/api/actions/${id}`)).json();
    expect(execution).toBe("unknown");
    gate.write("a/.env", "KEY=1\n");
    const ended = once(runner, "exit");
    runner.kill("SIGKILL");
    await ended;
    await gate.project.actions.expireDue();
    expect(existsSync(join(gate.root, "a/.env"))).toBe(false);
  },
);

test.runIf(ENGINE !== null)(
  "a late report of a process that goes on blocks the session too",
  async () => {
    const { gate, id } = await submitWalled();
    const runner = spawn("/bin/sleep", ["60"]);
    await once(runner, "spawn");
    const by = { sandbox: true as const, process: identify(runner.pid!)! };
    const { claim_id } = (await gate.project.actions.claim(id, by, agent))!;
    const ended = once(runner, "exit");
    runner.kill("SIGKILL");
    await ended;
    gate.clock.advance(24 * 60 * 60 * 1000);
    await gate.project.actions.expireDue();
    expect((await gate.project.actions.get(id)).execution).toBe("unknown");
    const end = { exit_code: 0, output: "", truncated: false, duration_ms: 1 };
    const left = identify(process.pid)!;
    await gate.project.actions.result(id, { claim_id, ...end, left }, agent);
    const { items } = await (await gate.request("GET", "/api/remediation/blocks")).json();
    expect(items).toEqual([expect.objectContaining({ action_id: id })]);
  },
);
