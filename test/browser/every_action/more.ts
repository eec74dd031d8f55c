import { Buffer } from "node:buffer";
import { chmodSync, cpSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import type { ReceiverChange } from "../../../server/notifications/schema.ts";
import { type Stage, until } from "../stage.ts";
import { type Deed, deed, type Scene, use } from "./deed.ts";

const LINES = "one\ntwo\nthree\nfour\nfive\nsix\n";
/** More projects than the page lists at first. */
const MANY_PROJECTS = 101;

/** The deeds of a person who looks at the rest of long lists, and at what has gone wrong. */
export const MORE: Deed[] = [
  deed(
    "Approvals",
    "let one run of a command change git's hooks",
    {
      "approvals/decision_bar": ["May change … | May not change git’s hooks", "<input>"],
    },
    async (scene) => {
      const { hand, page } = use(scene);
      const command = `npm install ${scene.name()}`;
      const action = await scene.card(await scene.stage.submit("run_command", { command }));
      await hand.press(page.locator("summary", { hasText: "May not change git’s hooks" }));
      await hand.check(page.getByLabel(".husky"));
      await page.locator("summary", { hasText: "May change .husky" }).waitFor();
      await scene.reject(action);
    },
  ),
  deed(
    "Approvals",
    "leave a link to an action that is not there",
    { "approvals/review_pane": ["Show the queue"] },
    async (scene) => {
      const { hand, button } = use(scene);
      await scene.open("/approvals?project=my-app&id=00000000-0000-7000-8000-000000000000");
      await hand.press(button("Show the queue"));
      await scene.address("id", null);
    },
  ),
  deed(
    "Approvals",
    "go from file to file of a patch, and show the rest",
    { "approvals/review_pane": ["key [", "key ]"], "diff/files": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const names = Array.from({ length: 25 }, (_, at) => `src/${scene.name()}-${at}.ts`);
      const adds = names.flatMap((name) => [`*** Add File: ${name}`, "+x"]);
      const patch = ["*** Begin Patch", ...adds, "*** End Patch"].join("\n");
      const hook = {
        ...{ session_id: scene.name("s"), cwd: join(scene.stage.folder, "my-app") },
        ...{ hook_event_name: "PreToolUse", tool_name: "apply_patch" },
        tool_input: { command: patch },
      };
      await scene.stage.api("POST", "/api/hooks/codex?wait_ms=0", hook, "agent");
      const { items } = await scene.stage.api("GET", "/api/actions?status=pending&project=my-app");
      const action = await scene.card(items[0]);
      if (hand.name === "keyboard") {
        for (const key of ["]", "]", "["]) await page.keyboard.press(key);
        const top = () => page.locator(".card-scroller").evaluate(({ scrollTop }) => scrollTop);
        await until("a file is at the top", async () => await top() > 0);
      }
      await hand.press(button("Show the next 5"));
      await until("all files are shown", async () => await page.locator(".file").count() === 25);
      await scene.reject(action);
    },
  ),
  deed(
    "Policy",
    "see a rule that only may match, and suggestions that were turned down",
    {
      "policy/tester": ["… may match: a part of the action is not known"],
      "policy/suggestions": ["… turned down"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const input = encodeURIComponent('cat "$FILE"');
      await scene.open(`/policy?project=my-app&input=${input}`);
      await hand.press(page.locator("summary", { hasText: "may match: a part of the action" }));
      await page.locator("details[open] .policy-matched").first().waitFor();
      // A project of its own: the suggestions are learned from all of a project's decisions.
      const project = scene.name("history");
      await scene.stage.addProject(project);
      for (let n = 0; n < 12; n++) {
        const input = { path: `drafts/n${n}.md`, content: "n\n" };
        const { id } = await scene.stage.submit("write_file", input, { project });
        const verb = n === 7 ? "reject" : "approve";
        await scene.stage.api("POST", `/api/actions/${id}/${verb}?project=${project}`, {});
      }
      await scene.open(`/policy?project=${project}`);
      await hand.press(button("Suggest rules"));
      await hand.press(page.locator("summary", { hasText: "turned down" }));
      await scene.see(/actions that nobody approved/);
    },
  ),
  deed(
    "Remediation",
    "show more findings",
    { "remediation/evaluation": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const options = { agent: scene.name("curious"), project: "docs-site" };
      let session = "";
      for (let n = 0; n < 22; n++) {
        const input = { path: ".env", content: `${n}` };
        session = (await scene.stage.submit("write_file", input, options)).session_id;
      }
      await scene.open(`/remediation?project=docs-site&session=${session}`);
      const found = page.locator(".remediation-findings[open] li");
      await until("the first findings are shown", async () => await found.count() === 20);
      await hand.press(button("Show the next 2"));
      await until("all findings are shown", async () => await found.count() === 22);
    },
  ),
  deed(
    "Remediation",
    "roll a session back: go back, merge what changed since, overwrite it",
    {
      "remediation/advice": [
        ...["Preview the rollback", "Roll back", "Back", "Merge", "Overwrite", "…"],
      ],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const started = async () => {
        const path = `free/${scene.name()}.txt`;
        scene.stage.write(path, LINES);
        const agent = scene.name("careless");
        const content = LINES.replace("two", "TWO");
        const made = await scene.stage.submit("write_file", { path, content }, { agent });
        await scene.stage.submit("write_file", { path: ".env", content: "1" }, { agent });
        const query = `project=my-app&session=${made.session_id}`;
        const show = async () => {
          await scene.open(`/remediation?${query}`);
          await hand.press(button("Preview the rollback", way));
        };
        const text = () => readFileSync(join(scene.stage.folder, "my-app", path), "utf8");
        return { path, show, text };
      };
      const way = page.getByRole("listitem", { name: "Roll back the whole session" });
      const plain = await started();
      await plain.show();
      await hand.press(button("Back", way));
      await hand.press(button("Preview the rollback", way));
      await hand.press(button("Roll back", way));
      await until("it is rolled back", () => plain.text() === LINES);
      const merged = await started();
      scene.stage.write(merged.path, LINES.replace("two", "TWO").replace("six", "6"));
      await merged.show();
      await hand.press(button("Merge", way));
      await until("it is merged", () => merged.text() === LINES.replace("six", "6"));
      const forced = await started();
      scene.stage.write(forced.path, "by hand\n");
      await forced.show();
      await hand.press(button("Overwrite", way));
      await until("it is overwritten", () => forced.text() === LINES);
      await hand.press(button(/^End the session/));
      await hand.press(button("End the session"));
      await scene.see("The session has ended");
    },
  ),
  deed(
    "Remediation",
    "show new sessions and blocks",
    { "remediation/blocks": ["Show …"], "remediation/remediation_page": ["Show …"] },
    async (scene) => {
      const { hand, button } = use(scene);
      const deny = (agent: string) =>
        scene.stage.submit("write_file", { path: ".env", content: "K" }, { agent });
      await deny(scene.name("early"));
      await scene.open("/remediation?project=my-app");
      await scene.page.locator(".remediation-sessions .list-row").first().waitFor();
      const blocks = async () =>
        (await scene.stage.api("GET", "/api/remediation/blocks?project=my-app")).items;
      const late = scene.name("late");
      await until("a session is blocked", async () => {
        await deny(late);
        return (await blocks()).length > 0;
      });
      await hand.press(button(/^Show \d+ new block/), ".");
      const sessions = button(/^Show \d+ new session/);
      if (hand.name === "mouse") await hand.press(sessions);
      await sessions.waitFor({ state: "detached" });
      for (const { id } of await blocks()) {
        await scene.stage.api("POST", `/api/remediation/blocks/${id}/unblock?project=my-app`, {});
      }
    },
  ),
  deed(
    "Audit",
    "stop an export",
    { "audit/exports": ["Stop"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await scene.open("/audit?project=my-app");
      let go = () => {};
      const gone = new Promise<void>((resolve) => go = resolve);
      await page.route("**/api/audit/export*", async (route) => {
        await gone;
        await route.abort();
      });
      await hand.press(button("Export CSV"));
      await hand.press(button("Stop"));
      go();
      await button("Export CSV").waitFor();
      await page.unroute("**/api/audit/export*");
    },
  ),
  deed(
    "Settings",
    "send messages again that a receiver refused, and turn the browser's notices on and off",
    { "settings/notification_settings": ["Send again", "<input>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const gone = await Refusing.listen();
      try {
        await addReceiver(scene, gone.url);
        await scene.stage.rejectHeld();
        await scene.stage.hold(`${scene.name()}.ts`, "1\n");
        const status = async () =>
          (await scene.stage.api("GET", "/api/notifications")).receivers[0];
        await until("the message is given up", async () => (await status()).dead > 0);
        gone.answer = 204;
        await page.context().grantPermissions(["notifications"]);
        await scene.open("/settings");
        const section = scene.region("Notifications");
        await hand.press(button("Send again", section));
        await until("it has arrived", async () => (await status()).dead === 0);
        const box = section.getByRole("checkbox").first();
        for (const isOn of [true, false]) {
          await hand.check(box);
          await until("the box has turned", async () => await box.isChecked() === isOn);
        }
      } finally {
        await removeReceiver(scene);
        await gone.close();
      }
    },
  ),
  deed(
    "Settings",
    "repair a finding of the checks, and copy the command that does it",
    { "settings/doctor_settings": ["<RepairButton>", "Copy", "…"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const token = join(scene.stage.folder, "home", "tokens", "viewer");
      chmodSync(token, 0o644);
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await scene.open("/settings");
      const checks = scene.region("Checks");
      await hand.press(button("Check again", checks));
      const row = checks.getByRole("listitem").filter({ hasText: `others may read ${token}` });
      // The checks run programs of their own.
      await row.waitFor({ timeout: 60_000 });
      await hand.press(button("Copy", row));
      await row.getByText("Copied").waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      expect(copied).toContain("chmod 600");
      await hand.press(button("Make it private", row));
      await row.waitFor({ state: "detached" });
      expect(statSync(token).mode & 0o777).toBe(0o600);
    },
  ),
  deed(
    "Sessions",
    "show more of a session's changes",
    { "sessions/session_files": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const agent = scene.name("busy");
      let session = "";
      for (let n = 0; n < 21; n++) {
        const input = { path: `free/${agent}/${n}.txt`, content: "x\n" };
        session = (await scene.stage.submit("write_file", input, { agent })).session_id;
      }
      await scene.open(`/sessions/${session}?project=my-app`);
      const files = page.locator("section.file");
      await until("the first files are shown", async () => await files.count() === 20);
      await hand.press(button("Show the next 1"));
      await until("all files are shown", async () => await files.count() === 21);
    },
  ),
  deed(
    "Projects",
    "show more projects",
    { "projects/project_list": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      // To register as many projects would take half a minute.
      await page.route("**/api/daemon/status", async (route) => {
        const response = await route.fetch();
        const status = await response.json();
        const projects = Array.from({ length: MANY_PROJECTS }, (_, at) => ({
          ...status.projects[0],
          ...{ id: `many-${at}`, name: `many-${at}` },
        }));
        await route.fulfill({ response, json: { ...status, projects } });
      });
      await scene.open("/projects");
      const rows = page.locator(".room-list > .project");
      await until("the first projects are listed", async () => await rows.count() === 100);
      const more = button("Show the next 1");
      if (hand.name === "keyboard") {
        for (let at = 0; at < 100; at++) await page.keyboard.press("j");
      }
      await hand.press(more);
      await until("all are listed", async () => await rows.count() === MANY_PROJECTS);
      await page.unrouteAll({ behavior: "ignoreErrors" });
    },
  ),
];

const RECEIVERS = "/api/notifications/receivers";

async function addReceiver({ stage }: Scene, url: string): Promise<void> {
  const secret_file = join(stage.folder, "hook.key");
  const key = `whsec_${Buffer.alloc(32, 7).toString("base64")}\n`;
  writeFileSync(secret_file, key, { mode: 0o600 });
  const receiver = { id: "ops", kind: "webhook", url, secret_file };
  await accept(stage, await stage.api("POST", RECEIVERS, receiver));
}

async function removeReceiver({ stage }: Scene): Promise<void> {
  await accept(stage, await stage.api("DELETE", `${RECEIVERS}/ops`));
}

async function accept(stage: Stage, { change }: ReceiverChange): Promise<void> {
  const { path, after_sha256: sha256, number } = change!;
  await stage.api("POST", "/api/config/accept?project=machine", { path, sha256, number });
}

/** A receiver that says it is gone, until it is told to answer otherwise. */
class Refusing {
  answer = 410;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      request.resume();
      response.writeHead(this.answer).end();
    });
  }

  static async listen(): Promise<Refusing> {
    const refusing = new Refusing();
    await new Promise<void>((resolve) => refusing.#server.listen(0, "127.0.0.1", resolve));
    return refusing;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The deeds of a person whose gate has nothing to show yet. */
export const EMPTY: Deed[] = [
  deed(
    "Approvals",
    "copy a command of the first steps",
    { "approvals/first_steps": ["Copy"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await scene.open("/approvals");
      await hand.press(button("Copy"));
      await scene.see("Copied");
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("gate init");
    },
  ),
];

/** The deeds of a person whose files of gate went back to an older state. */
export const LOST: Deed[] = [
  deed(
    "Any page",
    "confirm that the record lost events",
    { "shell/ledgers": ["I know why"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const { stage } = scene;
      const home = join(stage.folder, "home");
      await stage.hold(`${scene.name()}.ts`, "one\n");
      await stage.stop();
      cpSync(home, `${home}.saved`, { recursive: true });
      await stage.start();
      const logIn = async () => {
        const { path } = await stage.api("POST", "/api/auth/login-code", {});
        await page.goto(`${stage.gate.url}${path}`);
      };
      await logIn();
      await stage.hold(`${scene.name()}.ts`, "two\n");
      const { seq } = await stage.api("GET", "/api/audit/head?project=my-app");
      await until("the page saw the newest event", () =>
        page.evaluate((last) => {
          const heads = JSON.parse(localStorage.getItem("gate.heads") ?? "{}");
          return heads["my-app"]?.seq === last;
        }, seq));
      await stage.stop();
      rmSync(home, { recursive: true });
      cpSync(`${home}.saved`, home, { recursive: true });
      await stage.start();
      await logIn();
      const told = page.getByText("The record of my-app lost events");
      await told.waitFor();
      await hand.press(button("I know why"));
      await told.waitFor({ state: "detached" });
    },
  ),
];
