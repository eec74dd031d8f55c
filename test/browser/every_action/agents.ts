import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import { sendSignal } from "../../../server/runtime/process_list.ts";
import { identify } from "../../../server/runtime/processes.ts";
import { type ClaudeOptions, type FakeClaude, startFakeClaude } from "../fake_claude.ts";
import { until } from "../stage.ts";
import { type Deed, deed, type Scene, use } from "./deed.ts";

const MONITOR = "/api/agent-monitor";
/** More sessions than the page lists at first. */
const MANY = 21;

/** The deeds of a person with the agents that run, have ended and have left ports behind. */
export const AGENTS: Deed[] = [
  deed(
    "Agents",
    "look at the agents of one and of all projects, and review what one waits with",
    {
      "agents/agents_page": [
        ...["Projects", "Show all projects"],
        ...["key enter", "key j", "key k", "key o", "key s"],
      ],
      "agents/session_card": ["1 child process | … child processes …", "| at least …"],
      "agents/parts": ["Show … more characters"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await withClaudes(scene, [
        { status: "idle", listens: "serve", model: `opus-${"x".repeat(400)}` },
        { project: "docs-site" },
      ], async ([first, other]) => {
        const { id } = await holdBy(scene, first!);
        await scene.open("/agents?project=my-app");
        const card = page.locator(`[data-session$="${first!.session_id}"]`);
        const elsewhere = page.locator(`[data-session$="${other!.session_id}"]`);
        await card.getByText("waits for your approval").waitFor();
        await hand.press(card.locator("summary", { hasText: "1 child process" }));
        await card.getByText("node -e").waitFor();
        await hand.press(card.locator("summary", { hasText: "15,045" }));
        await card.getByText("15,000 read from the cache").waitFor();
        const more = button(/^Show \d+ more characters/, card);
        await hand.press(more);
        await more.waitFor({ state: "detached" });
        await hand.press(button("All projects"), "s");
        await elsewhere.waitFor();
        await hand.press(button("This project"), "s");
        await elsewhere.waitFor({ state: "detached" });
        await hand.press(button("Show all projects"));
        await elsewhere.waitFor();
        for (const key of ["o", "Enter"]) {
          await scene.open("/agents?project=my-app");
          const link = card.getByRole("link", { name: "Review the held action" });
          await link.waitFor();
          if (hand.name === "keyboard") {
            for (const step of ["j", "j", "k", "k"]) await page.keyboard.press(step);
          }
          await hand.press(link, key);
          await scene.address("id", id);
        }
      });
    },
  ),
  deed(
    "Agents",
    "keep a process that an ended session left behind, then terminate it",
    {
      "agents/orphans": [
        ...["Terminate process …", "Keep it"],
        "Terminating process … | Terminate process …",
      ],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await withClaudes(scene, [{ listens: "left" }], async ([claude]) => {
        const left = claude!.pids[1]!;
        await scene.open("/agents");
        const card = page.locator(`[data-session$="${claude!.session_id}"]`);
        await card.getByText("1 with a port").waitFor({ timeout: 60_000 });
        await end(claude!);
        const terminate = button(`Terminate process ${left}`);
        await terminate.waitFor({ timeout: 60_000 });
        await hand.press(terminate);
        const dialog = page.getByRole("dialog");
        await hand.press(button("Keep it", dialog), "Escape");
        await dialog.waitFor({ state: "detached" });
        expect(identify(left)).not.toBeNull();
        await hand.press(terminate);
        await hand.press(button(`Terminate process ${left}`, dialog));
        await scene.see(`Process ${left} has ended`);
      });
    },
  ),
  deed(
    "Agents",
    "list more sessions that have ended, and those of one agent",
    { "agents/history": ["Show more sessions", "Agent"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const all = Array.from({ length: MANY }, () => ({}));
      await withClaudes(scene, all, async (claudes) => {
        await until("all are known", async () => {
          const { sessions } = await scene.stage.api("GET", `${MONITOR}/snapshot`);
          const ids = sessions.map((one: { session_id: string }) => one.session_id);
          return claudes.every(({ session_id }) => ids.includes(session_id));
        });
        for (const claude of claudes) await end(claude);
        await until("all have ended", async () => {
          await scene.stage.api("GET", `${MONITOR}/snapshot`);
          return (await scene.stage.api("GET", `${MONITOR}/history?limit=500`)).items
            .length >= MANY;
        });
      });
      await scene.open("/agents");
      const rows = page.locator(".ended tbody tr");
      await until("the first sessions are listed", async () => await rows.count() === 20);
      await hand.press(button("Show more sessions"));
      await until("more sessions are listed", async () => await rows.count() >= MANY);
      await hand.choose(page.getByLabel("Agent"), "Codex CLI");
      await scene.see("No session of this agent has ended yet.");
    },
  ),
];

type Started = FakeClaude & { session_id: string };
type Options = Partial<Omit<ClaudeOptions, "person" | "folder">> & { project?: string };

/** Starts the agents for the time of the deed, and ends every process of theirs. */
async function withClaudes(
  scene: Scene,
  all: Options[],
  run: (claudes: Started[]) => Promise<void>,
): Promise<void> {
  const claudes: Started[] = [];
  const person = scene.stage.folder;
  try {
    await Promise.all(all.map(async ({ project = "my-app", ...options }, at) => {
      const session_id = scene.name("session");
      const folder = join(scene.stage.folder, project);
      claudes[at] = {
        ...await startFakeClaude({ person, folder, session_id, ...options }),
        session_id,
      };
    }));
    await run(claudes);
  } finally {
    for (const { pids } of claudes) for (const pid of pids) sendSignal(pid, "SIGKILL");
  }
}

async function end({ child }: FakeClaude): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Holds a write in a session of this process. */
async function holdBy(scene: Scene, { pid }: FakeClaude) {
  const { start_time } = identify(pid)!;
  const session = await scene.stage.api("POST", "/api/sessions?project=my-app", {
    ...{ agent: "claude-code", host: "claude-code" },
    process: { pid, start_time },
  }, "agent");
  const input = { path: `src/${scene.name()}.ts`, content: "x\n" };
  const body = { tool: "write_file", input, session_id: session.id };
  return await scene.stage.api("POST", "/api/actions?project=my-app", body, "agent");
}
