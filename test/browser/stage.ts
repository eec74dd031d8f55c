import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { v7 } from "uuid";
import { buildDashboard } from "../../dist/dashboard.ts";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { readToken } from "../../server/auth/tokens.ts";
import type { Environment } from "../../server/environment.ts";
import type { Policies } from "../../server/policy/schema.ts";
import type { Session } from "../../server/sessions/schema.ts";
import type { Daemon } from "../../server/daemon.ts";
import { startGate, type StartOptions } from "../../server/start.ts";
import { decideByToken, freePort } from "../e2e/world.ts";
import type { AgentGate } from "../server/sandbox/agent.ts";
import { SessionKeys } from "../session_keys.ts";
import { openChromium } from "./chromium.ts";
import { type RunningGate, startExecutable } from "./executable.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export const POLICIES: Policies = {
  defaultEffect: "ask",
  allowedPaths: ["free/**"],
  askPaths: [{ pattern: "src/**", reason: "sources are looked at by a person" }],
  blockedPaths: [{ pattern: ".env", reason: "secrets stay with people" }],
};

export interface PageOptions {
  width?: number;
  height?: number;
  scheme?: "light" | "dark";
  /** Lets the test stop the page's clock, through `page.clock`. */
  has_clock?: boolean;
}

/** `source` runs the daemon in the process of the test, `executable` is the program that is shipped. */
export type BrowserSubject = "source" | "executable";

interface StageOptions {
  subject?: BrowserSubject;
  /** "token" lets the reviewer's credential decide; "none" leaves the choice open. */
  proof?: "token" | "none";
  auth?: "none";
  sandbox?: Environment["sandbox"];
  machine?: StartOptions["machine"];
  unlock_seconds?: number;
}

/** Every stage that can do so starts this program, `dist/bin/gate` or an older one. */
const PROGRAM = process.env["GATE_BROWSER_PROGRAM"];

/** Several stages of a test file share a browser; it ends with the process. */
let browser: Promise<Browser> | null = null;

/** A real daemon with its dashboard, and a real browser in front of it. */
export class Stage {
  gate: RunningGate;
  readonly folder: string;
  readonly browser: Browser;
  /** Errors, CSP reports and dialogs; no page may cause any. */
  readonly complaints: string[] = [];
  /** How far the daemon's clock is ahead of the real one. */
  readonly clock: { ahead_ms: number };
  readonly #contexts: BrowserContext[] = [];
  readonly #sessions = new Map<string, Promise<Session>>();
  readonly #keys = new SessionKeys();

  private constructor(
    gate: RunningGate,
    folder: string,
    browser: Browser,
    clock: Stage["clock"],
  ) {
    this.gate = gate;
    this.clock = clock;
    this.folder = folder;
    this.browser = browser;
  }

  static async open(
    projects: string[] = ["my-app"],
    {
      subject = PROGRAM ? "executable" : "source",
      proof = "token",
      auth,
      sandbox,
      machine,
      ...approvals
    }: StageOptions = {},
  ): Promise<Stage> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "gate-browser-")));
    const home = join(folder, "home");
    mkdirSync(home, { mode: 0o700 });
    if (proof === "token") decideByToken(home);
    else writeFileSync(join(home, "config.json"), JSON.stringify({ approvals }));
    const clock = { ahead_ms: 0 };
    // Clock, machine and sandbox are parts of a daemon in this process.
    const isShipped = subject === "executable" && !auth && !sandbox && !machine;
    if (!isShipped && !existsSync(join(ROOT, "dist/ui/index.html"))) await buildDashboard(ROOT);
    const options = optionsOf(folder, 0, clock);
    if (sandbox) options.environment.sandbox = sandbox;
    const gate = isShipped
      ? await startExecutable(folder, await freePort(), PROGRAM)
      : await startGate({ ...options, ...auth && { auth }, ...machine && { machine } });
    browser ??= openChromium();
    const stage = new Stage(gate, folder, await browser, clock);
    for (const id of projects) await stage.addProject(id);
    return stage;
  }

  /** The daemon's own objects. @throws Error with the executable, which has them in its process */
  get daemon(): Daemon {
    if (this.gate.daemon) return this.gate.daemon;
    throw new Error("Cannot reach the daemon's objects: it is the executable");
  }

  async addProject(id: string, given: Policies = POLICIES): Promise<void> {
    // The executable finds the sandbox of the machine by itself; then it would ask less.
    const sandbox = this.gate.daemon ? {} : { sandbox: { mode: "off" } };
    const policies = { ...sandbox, ...given };
    this.write("gate.config.json", JSON.stringify({ id, policies }), id);
    await this.api("POST", "/api/hub/projects", { root: join(this.folder, id) });
  }

  write(path: string, text: string | Uint8Array, project = "my-app", mode = 0o644): string {
    const file = join(this.folder, project, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
    return file;
  }

  /** Submits an action as an agent, without waiting. */
  async submit(
    tool: string,
    input: Record<string, unknown>,
    { agent = "claude-code", project = "my-app" } = {},
  ): Promise<Action> {
    const session = await this.#session(agent, project);
    const body = { tool, input, session_id: session.id };
    return await this.api("POST", `/api/actions?project=${project}`, body, "agent");
  }

  /** Submits a write that is held. */
  hold(path: string, content: string, options = {}): Promise<Action> {
    return this.submit("write_file", { path: `src/${path}`, content }, options);
  }

  detail(id: string): Promise<ActionDetail> {
    return this.api("GET", `/api/actions/${id}`);
  }

  // deno-lint-ignore no-explicit-any
  async api(method: string, path: string, body?: unknown, scope = "reviewer"): Promise<any> {
    const token = await readToken(join(this.folder, "home"), scope as "reviewer");
    const response = await fetch(`http://127.0.0.1:${this.gate.port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        ...this.#keys.headersFor(path, body, scope as "reviewer"),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await (await this.#keys.note(response)).json();
    if (!response.ok) throw new Error(`${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Requests with the agent's token, answered by the whole daemon. */
  agentOf(project: string): AgentGate {
    const request: AgentGate["request"] = async (method, path, body, scope, headers) =>
      await fetch(`${this.gate.url}${path}?project=${project}`, {
        method,
        headers: {
          ...headers,
          authorization: `Bearer ${await readToken(join(this.folder, "home"), scope)}`,
        },
        body: JSON.stringify(body),
      });
    return { request };
  }

  /** Opens a page through a login link, as a person does; the link itself leads to the approvals. */
  async page(path = "/approvals", options: PageOptions = {}): Promise<Page> {
    const page = await this.stranger(options);
    const { path: link } = await this.api("POST", "/api/auth/login-code", {});
    await page.goto(this.gate.url + (path === "/approvals" ? link : await this.#logIn(link, path)));
    await page.getByText(`port ${this.gate.port}`).waitFor();
    return page;
  }

  /** Follows the link; returns the path with the key, so that the page need not load twice. */
  async #logIn(link: string, path: string): Promise<string> {
    const { headers } = await fetch(`${this.gate.url}${link}`, { redirect: "manual" });
    return path + new URL(headers.get("location")!, this.gate.url).hash;
  }

  /** Opens a page in a browser without a key. */
  async stranger(
    { width = 1440, height = 900, scheme = "light", has_clock = false }: PageOptions = {},
  ): Promise<Page> {
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      reducedMotion: "reduce",
    });
    this.#contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    if (has_clock) await page.clock.install();
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => this.complaints.push(`dialog: ${dialog.message()}`));
    page.on("console", (message) => {
      const text = message.text();
      if (/content security policy|trusted ?type|refused to/i.test(text)) {
        this.complaints.push(text);
      }
    });
    return page;
  }

  /** Stops the daemon. */
  async stop(): Promise<void> {
    await this.gate.close();
  }

  /** Starts the daemon again on the same port. */
  async start(): Promise<void> {
    const { port } = this.gate;
    this.gate = this.gate.daemon
      ? await startGate(optionsOf(this.folder, port, this.clock))
      : await startExecutable(this.folder, port, PROGRAM);
  }

  /** Ends a test: closes pages and rejects held actions. Returns the complaints. */
  async clear(): Promise<string[]> {
    await this.closePages();
    return await this.rejectHeld();
  }

  /** Rejects held actions while pages stay open. Returns the complaints. */
  async rejectHeld(): Promise<string[]> {
    const { items } = await this.api("GET", "/api/global/approvals/pending");
    for (const { id, project_id } of items) {
      await this.api("POST", `/api/actions/${id}/reject?project=${project_id}`, {});
    }
    return this.complaints.splice(0);
  }

  async closePages(): Promise<void> {
    for (const context of this.#contexts.splice(0)) await context.close();
  }

  async close(): Promise<void> {
    await this.closePages();
    await this.gate.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #session(agent: string, project: string): Promise<Session> {
    const key = `${project}/${agent}`;
    const known = this.#sessions.get(key) ??
      this.api("POST", `/api/sessions?project=${project}`, { agent, host: "unknown" }, "agent");
    this.#sessions.set(key, known);
    return known;
  }
}

function optionsOf(folder: string, port: number, clock: Stage["clock"]): StartOptions {
  const environment = {
    home: join(folder, "home"),
    now: () => Date.now() + clock.ahead_ms,
    id: () => v7(),
    log: () => {},
  };
  return { environment, port };
}

/** Waits for a card with this headline. */
export async function headline(page: Page, text: string): Promise<void> {
  await page.locator(".headline").filter({ hasText: text }).waitFor();
}

/** Waits until the card accepts a decision. */
export async function settled(page: Page): Promise<void> {
  // A locator looks again after 100 and then after 500 ms; this looks at each frame.
  await page.waitForFunction(() =>
    document.querySelector(".decision .button-primary:not([aria-disabled])") !== null
  );
}

/** Holds the scripts that the page loads from now on; returns how to let them through. */
export async function holdScripts(page: Page): Promise<() => void> {
  let open = () => {};
  const opened = new Promise<void>((resolve) => open = resolve);
  await page.route("**/*.js", async (route) => {
    await opened;
    await route.continue();
  });
  return open;
}

/** Polls until the condition holds. @throws Error after the deadline, with `what` */
export async function until(what: string, condition: () => boolean | Promise<boolean>) {
  const end = Date.now() + 60_000;
  while (!await condition()) {
    if (Date.now() > end) throw new Error(`timed out: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
