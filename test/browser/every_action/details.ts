import { Buffer } from "node:buffer";
import { expect } from "vitest";
import { pngOf } from "../../png.ts";
import { POLICIES, until } from "../stage.ts";
import { type Deed, deed, use } from "./deed.ts";

const LINES = "one\ntwo\nthree\nfour\nfive\nsix\n";
const RULES = JSON.stringify({ id: "my-app", policies: { sandbox: { mode: "off" }, ...POLICIES } });

/** The deeds of a person where there is more to look at, and in rarer windows and states. */
export const DETAILS: Deed[] = [
  deed(
    "Approvals",
    "compare with what was approved last",
    { "card/context": ["Compare with the version that a person approved last"] },
    async (scene) => {
      const { hand, page } = use(scene);
      const name = `${scene.name()}.ts`;
      const before = await scene.stage.hold(name, "1\n");
      await scene.stage.api("POST", `/api/actions/${before.id}/approve?project=my-app`, {});
      scene.stage.write(`src/${name}`, "by hand\n");
      const action = await scene.card(await scene.stage.hold(name, "1\n2\n"));
      await hand.press(page.locator("summary", { hasText: "Compare with the version" }));
      await page.locator(".context .diff").waitFor();
      await scene.reject(action);
    },
  ),
  deed(
    "Approvals",
    "compare two images and approve the new one",
    { "diff/images": ["Image view", "<input>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const path = `src/${scene.name()}.png`;
      scene.stage.write(path, pngOf(64, 48, [30, 90, 200]));
      const content = Buffer.from(pngOf(96, 48, [200, 60, 30])).toString("base64");
      const input = { path, content, encoding: "base64" };
      const action = await scene.card(await scene.stage.submit("write_file", input));
      await hand.press(button("Overlay"));
      const slider = page.getByRole("slider");
      const before = await slider.inputValue();
      await hand.slide(slider);
      await until("the slider moved", async () => await slider.inputValue() !== before);
      await hand.press(button("Difference"));
      await scene.see("Equal pixels are black.");
      await hand.press(button("Approve"), "a");
      await scene.executed(action);
    },
  ),
  deed(
    "Approvals",
    "look at another session's change of the file, and at the result on the changed file",
    {
      "card/conflicts": [
        ...["Show its change", "Show what changed in the file", "Show the result of approving"],
      ],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const name = `${scene.name()}.txt`;
      scene.stage.write(`src/${name}`, LINES);
      const other = { agent: "codex" };
      await scene.stage.hold(name, LINES.replace("six", "SIX"), other);
      const action = await scene.stage.hold(name, LINES.replace("two", "TWO"));
      await scene.card(action);
      await hand.press(page.locator("summary", { hasText: "Show its change" }));
      await page.locator(".conflict").getByText("SIX", { exact: true }).waitFor();
      scene.stage.write(`src/${name}`, LINES.replace("six", "6"));
      await scene.card(action);
      await hand.press(page.locator("summary", { hasText: "Show what changed in the file" }));
      const result = page.locator("summary", { hasText: "Show the result of approving" });
      await hand.press(result);
      await hand.press(result);
      await hand.press(button("Approve"), "a");
      await hand.press(button("Approve anyway"), "y");
      await scene.executed(action);
    },
  ),
  deed(
    "Approvals",
    "check again whether an approval would be refused",
    { "approvals/decision_bar": ["Check again"] },
    async (scene) => {
      const { hand, button } = use(scene);
      const path = `src/${scene.name()}.txt`;
      scene.stage.write(path, "one\n");
      const to = path.replace(".txt", "-moved.txt");
      const action = await scene.stage.submit("move_file", { from: path, to });
      scene.stage.write(to, "in the way\n");
      await scene.open(`/approvals?project=my-app&id=${action.id}`);
      await scene.ready();
      await hand.press(button("Check again"));
      expect((await scene.stage.detail(action.id)).status).toBe("pending");
    },
  ),
  deed(
    "Approvals",
    "unfold a long command",
    { "card/command": ["Show …"] },
    async (scene) => {
      const { hand, page } = use(scene);
      const words = Array.from({ length: 120 }, (_, at) => `line ${at};`).join(" ");
      const command = `true && python3 -c '${words}'`;
      const action = await scene.card(await scene.stage.submit("run_command", { command }));
      await hand.press(page.locator("summary", { hasText: /more characters?$/ }).first());
      await scene.reject(action);
    },
  ),
  deed(
    "Approvals",
    "unfold the files that a command deletes",
    { "card/command": ["Show … more"] },
    async (scene) => {
      const { hand, page } = use(scene);
      const folder = scene.name("build");
      for (let n = 10; n < 22; n++) scene.stage.write(`${folder}/part-${n}.js`, "x");
      const command = `rm -rf ${folder}`;
      const action = await scene.card(await scene.stage.submit("run_command", { command }));
      await hand.press(page.locator("summary", { hasText: /^Show 8 more$/ }));
      await scene.see(`${folder}/part-21.js`);
      await scene.reject(action);
    },
  ),
  deed(
    "Approvals",
    "unfold many conflicts",
    { "card/conflicts": ["Show …"] },
    async (scene) => {
      const { hand, page } = use(scene);
      const name = `${scene.name()}.txt`;
      scene.stage.write(`src/${name}`, LINES);
      for (const agent of ["codex", "gemini-cli", "copilot-cli"]) {
        await scene.stage.hold(name, `${LINES}${agent}\n`, { agent });
      }
      await scene.card(await scene.stage.hold(name, LINES.replace("two", "TWO")));
      await hand.press(page.locator("summary", { hasText: "Show 3 conflicts" }));
      const open = page.locator(".conflict details[open] .conflicts > li");
      await until("three conflicts are shown", async () => await open.count() === 3);
    },
  ),
  deed(
    "Approvals",
    "go between queue and card in a narrow window",
    { "approvals/review_pane": ["Queue"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const size = page.viewportSize()!;
      await page.setViewportSize({ width: 390, height: 800 });
      const action = await scene.held();
      await hand.press(button("Queue"));
      await hand.press(page.locator(".queue-row", { hasText: action.path! }));
      await scene.address("id", action.id);
      await page.setViewportSize(size);
    },
  ),
  deed(
    "Any page",
    "accept looser rules that were written outside of gate",
    { "shell/config_problems": ["Accept", "… were changed outside gate: …"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const { policies } = JSON.parse(RULES);
      const looser = { ...policies, blockedPaths: [] };
      await scene.open("/actions?project=my-app");
      scene.stage.write("gate.config.json", JSON.stringify({ id: "my-app", policies: looser }));
      await hand.press(page.locator("summary", { hasText: "changed outside gate" }));
      await hand.press(button("Accept"));
      const state = async () => await scene.stage.api("GET", "/api/config?project=my-app");
      await until("it is accepted", async () => (await state()).outside_changes.length === 0);
      scene.stage.write("gate.config.json", RULES);
      await until("the rules are back", async () => {
        const { effective } = await state();
        return effective.rules.some((rule: { pattern: string }) => rule.pattern === ".env");
      });
    },
  ),
  deed(
    "Policy",
    "trust a project that replaces the machine's rules, and take it back",
    { "policy/state": ["Let the machine’s rules hold again | Trust this project"] },
    async (scene) => {
      const { hand, button } = use(scene);
      const id = scene.name("own");
      const config = { id, overrideGlobal: true, policies: POLICIES };
      scene.stage.write("gate.config.json", JSON.stringify(config), id);
      const root = `${scene.stage.folder}/${id}`;
      await scene.stage.api("POST", "/api/hub/projects", { root });
      const trust = async () =>
        (await scene.stage.api("GET", `/api/config?project=${id}`)).effective.override_global;
      await scene.open(`/policy?project=${id}`);
      await hand.press(button("Trust this project"));
      await until("it is trusted", async () => await trust() === "trusted");
      await hand.press(button("Let the machine’s rules hold again"));
      await until("it is not trusted", async () => await trust() !== "trusted");
      await scene.stage.api("DELETE", `/api/hub/projects/${id}`);
    },
  ),
  deed(
    "Policy",
    "show the rest of many rules",
    { "policy/rules": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const id = scene.name("strict");
      const blockedPaths = Array.from({ length: 70 }, (_, at) => `own-${at}/**`);
      await scene.stage.addProject(id, { ...POLICIES, blockedPaths });
      await scene.open(`/policy?project=${id}`);
      const last = page.locator(".rule-list .rule", { hasText: "own-69/**" });
      await page.locator(".rule-list .rule").first().waitFor();
      expect(await last.count()).toBe(0);
      await hand.press(button(/^Show the next \d+$/));
      await last.waitFor();
      await scene.stage.api("DELETE", `/api/hub/projects/${id}`);
    },
  ),
  deed(
    "Settings",
    "add a receiver of mail and send a test",
    {
      "settings/receiver_form": [
        ...["Mail server", "Connection", "Port (optional)", "User (optional)", "Password: …"],
        ...["Sender", "To, with commas between (optional)"],
      ],
      "settings/notification_settings": ["Send a test"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const receivers = async () =>
        (await scene.stage.api("GET", "/api/notifications/receivers")).items;
      await scene.open("/settings");
      const section = scene.region("Notifications");
      await hand.press(section.locator("summary", { hasText: "Add a receiver" }));
      const form = section.getByRole("form", { name: "Add a receiver" });
      await hand.choose(form.getByLabel("Kind"), "email");
      await hand.type(form.getByLabel("Name", { exact: true }), "mail");
      await hand.type(form.getByLabel("Mail server"), "127.0.0.1");
      await hand.choose(form.getByLabel("Connection"), "starttls");
      await hand.type(form.getByLabel("Port"), "9");
      await hand.type(form.getByLabel("User"), "gate");
      await hand.type(form.getByLabel("Password"), "MAIL_PASSWORD");
      await hand.type(form.getByLabel("Sender"), "gate@example.org");
      await hand.type(form.getByLabel("To, with commas"), "ann@example.org");
      await hand.press(button("Add and accept", form));
      const part = section.getByRole("group", { name: "mail" });
      await hand.press(button("Send a test", part));
      // Nothing listens there, and the page says so.
      await page.locator(".toast.tone-danger").waitFor();
      expect(await receivers()).toMatchObject([{
        id: "mail",
        kind: "email",
        from: "gate@example.org",
      }]);
      await hand.press(button("Remove", part));
      await hand.press(button("Remove mail", part));
      await part.waitFor({ state: "detached" });
    },
  ),
];
