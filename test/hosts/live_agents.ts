import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { until, type World } from "../e2e/world.ts";
import { createHostWorld } from "./host_world.ts";
import { OTHER_HOSTS } from "./other_hosts.ts";
import { startOtherModel } from "./other_models.ts";
import { type ScriptedCall, type ScriptedModel, startModel } from "./scripted_model.ts";

type State = "working" | "idle" | "waiting_approval" | "waiting_input" | "unknown";

/** How a host runs offline: a run that may do everything, and a terminal session that asks. */
interface Subject {
  id: string;
  start: (calls: ScriptedCall[]) => Promise<ScriptedModel>;
  /** Runs a shell command. */
  run: (command: string) => ScriptedCall;
  /** A call about which it asks its person in a terminal session. */
  ask: (command: string) => ScriptedCall;
  /** The state that the monitor shows while it asks; `unknown` if the host records nothing of it. */
  asking?: "waiting_approval" | "unknown";
  /** A call that puts a question to its person. */
  question?: ScriptedCall;
  prepare: (world: World, model: ScriptedModel) => Record<string, string>;
  once: string[];
  terminal: string[];
}

const KEY = "sk-none-000000000000000000000";
const other = (id: string) => OTHER_HOSTS.find((host) => host.id === id)!;
const ofOther = (id: string, terminal: string[]): Subject => {
  const { protocol, run, prepare, program, args, folder } = other(id);
  return {
    ...{ id, run, ask: run, terminal: [program, ...terminal] },
    start: (calls) => startOtherModel(protocol, calls),
    once: [program, ...args],
    prepare: (world, model) => {
      if (id === "copilot-cli") {
        const text = JSON.stringify({ trusted_folders: [world.project] });
        writeFileSync(join(world.home, folder, "config.json"), text);
      }
      return prepare(world, model);
    },
  };
};

const QUESTIONS = [{
  ...{ question: "Which one?", header: "Choice" },
  options: [{ label: "a", description: "A" }, { label: "b", description: "B" }],
}];

const SUBJECTS: Subject[] = [
  {
    id: "claude-code",
    start: startModel,
    run: (command) => ({ name: "Bash", input: { command, description: "x" } }),
    ask: (command) => ({ name: "Bash", input: { command, description: "x" } }),
    once: ["claude", "-p", "Do it.", "--permission-mode", "bypassPermissions"],
    terminal: ["claude", "--permission-mode", "default", "Do it."],
    prepare: (world, { url }) => {
      const file = join(world.home, ".claude.json");
      const known = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
      writeFileSync(
        file,
        JSON.stringify({
          ...known,
          hasCompletedOnboarding: true,
          customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
          projects: { [world.project]: { hasTrustDialogAccepted: true } },
        }),
      );
      return {
        ...{ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: KEY },
        ...{ ENABLE_TOOL_SEARCH: "false", IS_SANDBOX: "1" },
      };
    },
  },
  {
    ...ofOther("codex", ["-a", "on-request", "-s", "read-only", "Do it."]),
    ask: (cmd) => ({
      name: "exec_command",
      input: { cmd, sandbox_permissions: "require_escalated", justification: "x" },
    }),
    prepare: (world, model) => {
      const env = other("codex").prepare(world, model);
      const file = join(world.home, ".codex", "config.toml");
      const trust = `\n[projects."${world.project}"]\ntrust_level = "trusted"\n`;
      writeFileSync(file, readFileSync(file, "utf8") + trust);
      return env;
    },
  },
  ofOther("copilot-cli", ["-i", "Do it."]),
  { ...ofOther("gemini-cli", ["-m", "gemini-2.5-pro", "-i", "Do it."]), asking: "unknown" },
  {
    ...ofOther("qwen-code", [
      "--auth-type",
      "openai",
      "--approval-mode",
      "default",
      "-i",
      "Do it.",
    ]),
    question: { name: "ask_user_question", input: { questions: QUESTIONS } },
  },
  {
    id: "opencode",
    start: (calls) => startOtherModel("chat", calls),
    run: (command) => ({ name: "bash", input: { command, description: "x" } }),
    ask: (command) => ({ name: "bash", input: { command, description: "x" } }),
    question: { name: "question", input: { questions: QUESTIONS } },
    once: ["opencode", "run", "Do it."],
    terminal: ["opencode", "--prompt", "Do it."],
    prepare: (world, { url }) => {
      const options = { baseURL: `${url}/v1`, apiKey: "none" };
      const mock = { npm: "@ai-sdk/openai-compatible", options, models: { "mock-1": {} } };
      const permission = { bash: { "touch *": "ask" } };
      const config = { model: "mock/mock-1", provider: { mock }, permission };
      const file = join(world.home, ".config", "opencode", "opencode.json");
      writeFileSync(file, JSON.stringify(config));
      return {};
    },
  },
];

const FOLDERS: Record<string, string> = {
  "claude-code": ".claude",
  opencode: ".config/opencode",
};

/** The time in which the monitor tells what an agent does. */
const SOON_MS = 5_000;

const CASES = SUBJECTS.flatMap((subject) => {
  const asking = subject.asking ?? "waiting_approval";
  const states: State[] = ["working", "idle", asking];
  if (subject.question) states.push("waiting_input");
  return states.map((state) => [subject.id, state, subject] as const);
});

test.each(CASES)("%s appears as %s within 5 s", async (id, state, subject) => {
  const world = await createHostWorld();
  mkdirSync(join(world.home, FOLDERS[id] ?? other(id).folder), { recursive: true });
  await world.init({ defaultEffect: "allow" });
  if (id !== "opencode") await world.run(["global-setup", "--host", id]);
  const asked = [subject.ask("touch asked.txt")];
  const calls = {
    working: [subject.run("tail -f /dev/null")],
    idle: [],
    waiting_approval: asked,
    unknown: asked,
    waiting_input: subject.question ? [subject.question] : [],
  }[state];
  const model = await subject.start(calls);
  const env = subject.prepare(world, model);
  const child = state === "working"
    ? begin(subject.once, world, env)
    : beginInTerminal(subject.terminal, world, env);
  try {
    await until("the agent asks its model", () => model.turns > 0 || undefined, 120_000);
    if (state === "working") {
      await until("its command runs", () => follows(world) || undefined, 60_000);
    }
    const asked_at = Date.now();
    const found = await until(`it is ${state}`, async () => {
      const { items } = (await world.api("GET", "/api/agent-monitor/sessions")).body;
      return items.find((one: { agent: string; status: string; session_id: string }) =>
        one.agent === id && one.status === state && !one.session_id.startsWith("process-")
      );
    }, 4 * SOON_MS);
    expect(Date.now() - asked_at).toBeLessThan(SOON_MS);
    expect(found).toMatchObject({ cwd: world.project, stale: false });
    expect(found.pid).toBeGreaterThan(1);
  } finally {
    child.kill("SIGKILL");
    endAllOf(world);
    model.close();
    await world.close();
  }
});

function begin(words: string[], world: World, env: Record<string, string>): ChildProcess {
  const [program, ...args] = words;
  return spawn(program!, args, {
    cwd: world.project,
    env: { ...world.env, ...env },
    stdio: ["ignore", "ignore", "ignore"],
  });
}

/** Starts a program in a terminal of its own, which answers where its cursor is. */
function beginInTerminal(words: string[], world: World, env: Record<string, string>): ChildProcess {
  const line = words.map((word) => `'${word}'`).join(" ");
  const child = spawn(
    "script",
    ["-qfec", `stty rows 40 cols 120; exec ${line}`, "/dev/null"],
    { cwd: world.project, env: { ...world.env, ...env }, stdio: ["pipe", "pipe", "ignore"] },
  );
  child.stdin!.on("error", () => {});
  child.stdout!.on("data", (chunk) => {
    const text = String(chunk);
    if (text.includes("\x1b[6n")) child.stdin!.write("\x1b[1;1R");
    if (text.includes("\x1b[c")) child.stdin!.write("\x1b[?62c");
  });
  return child;
}

/** The processes that work below the folder of this world. */
function processesOf({ folder, project }: World): number[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, "utf8");
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(project) && variables.includes(folder);
    } catch {
      return false;
    }
  });
}

function follows(world: World): boolean {
  return processesOf(world).some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8") === "tail\x00-f\x00/dev/null\x00";
    } catch {
      return false;
    }
  });
}

function endAllOf(world: World): void {
  for (const pid of processesOf(world)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}
