import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { until } from "../stage.ts";
import { type Deed, deed, type Scene, use } from "./deed.ts";

const DAY_MS = 86_400_000;

/** What a person does in the frame, and in the rooms for rules, insight and the machine. */
export const ROOMS: Deed[] = [
  deed(
    "Frame",
    "open every page",
    { "shell/sidebar": [] },
    async (scene) => {
      const { hand, page } = use(scene);
      await scene.open("/approvals");
      const pages = [
        ...["h Actions", "s Sessions", "p Policy", "t Team", "m Remediation"],
        ...["n Analytics", "u Audit", "l Agents", "r Projects", "e Settings", "a Approvals"],
      ];
      for (const one of pages) {
        const [key, ...words] = one.split(" ");
        const name = words.join(" ");
        const link = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name });
        await hand.press(link, `g ${key}`);
        await until(
          `${name} is open`,
          async () => await link.getAttribute("aria-current") === "page",
        );
      }
    },
  ),
  deed(
    "Frame",
    "open a page and the tools in a narrow window",
    { "shell/sidebar": ["Close | More"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const size = page.viewportSize()!;
      await page.setViewportSize({ width: 390, height: 800 });
      await scene.open("/approvals");
      const audit = page.getByRole("navigation", { name: "Pages" })
        .getByRole("link", { name: "Audit" });
      expect(await audit.isVisible()).toBe(false);
      await hand.press(button("More"));
      await hand.press(audit);
      await page.waitForURL(/\/audit/);
      // The bar shows the current page; the sheet is closed again.
      expect(await audit.getAttribute("aria-current")).toBe("page");
      await hand.press(button("More"));
      await button("Close").waitFor();
      await hand.press(page.locator(".tool-button", { hasText: "Keyboard shortcuts" }));
      await hand.press(page.getByRole("dialog").getByRole("button", { name: "Close" }), "Escape");
      await page.setViewportSize(size);
    },
  ),
  deed(
    "Frame",
    "find a command, list the keys, turn the theme",
    {
      "shell/sidebar": ["Find a command", "Keyboard shortcuts", "…"],
      "shell/palette": ["Command, page, project or action"],
      main: ["key ?", "key mod+k", "key t t"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await scene.open("/actions");
      await hand.press(page.locator(".tool-button", { hasText: "Find a command" }), "Control+k");
      await hand.type(page.getByRole("dialog").getByRole("combobox"), "settings");
      await hand.press(page.getByRole("dialog").getByRole("option").first(), "Enter");
      await page.waitForURL(/\/settings/);
      await hand.press(page.locator(".tool-button", { hasText: "Keyboard shortcuts" }), "?");
      await hand.press(page.getByRole("dialog").getByRole("button", { name: "Close" }), "Escape");
      await hand.press(button(/^Theme: system/), "t t");
      await hand.press(button(/^Theme: light/), "t t");
      await hand.press(button(/^Theme: dark/), "t t");
      await button(/^Theme: system/).waitFor();
    },
  ),
  deed(
    "Frame",
    "switch the project",
    { "shell/project_switcher": ["All of … | All projects", "…", "<Choice>"] },
    async (scene) => {
      const { hand, page } = use(scene);
      const menu = page.locator(".switcher");
      await scene.open("/actions");
      await hand.press(menu.locator("summary"));
      await hand.press(menu.getByRole("link", { name: "docs-site" }));
      await scene.address("project", "docs-site");
      await hand.press(menu.locator("summary"));
      await hand.press(menu.getByRole("link", { name: "All projects" }));
      await scene.address("project", null);
    },
  ),
  deed(
    "Policy",
    "test an action, filter the rules, try a rule and add it",
    {
      "policy/policy_page": ["key /", "key i"],
      "policy/tester": ["Action", "rm -rf build && npm test | src/app.ts"],
      "policy/rules": ["Pattern or reason", "Effect", "Source"],
      "policy/impact": ["…", "docs/** | npm test", "Add the rule"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await scene.open("/policy?project=my-app");
      const tester = scene.region("Test");
      await hand.type(tester.getByRole("textbox"), "cat .env", "i");
      await tester.getByText("secrets stay with people").first().waitFor();
      if (hand.name === "keyboard") await page.keyboard.press("Escape");
      await hand.press(button("Delete a file", tester));
      await scene.address("test", "delete");
      await hand.type(page.getByPlaceholder("Pattern or reason"), "free", "/");
      await scene.address("q", "free");
      const filters = page.getByRole("form", { name: "Rule filters" });
      await hand.choose(filters.getByLabel("Effect"), "Allows");
      await hand.choose(filters.getByLabel("Source"), "This project");
      await page.locator(".rule-list .rule", { hasText: "free/**" }).waitFor();
      const form = page.getByRole("form", { name: "Try a rule" });
      await hand.choose(form.getByLabel("Effect of the rule"), "Deny paths");
      const pattern = `${scene.name("area")}/*`;
      await hand.type(form.getByLabel("Pattern of the rule"), pattern);
      await hand.press(button("Add the rule"), "Enter");
      await scene.see("The rule is in force");
      const { effective } = await scene.stage.api("GET", "/api/config?project=my-app");
      expect(effective.rules).toContainEqual(
        expect.objectContaining({ pattern, list: "blockedPaths" }),
      );
    },
  ),
  deed(
    "Policy",
    "let gate suggest rules, and try one",
    { "policy/suggestions": ["Suggest rules", "Try it"] },
    async (scene) => {
      const { hand, button } = use(scene);
      const project = "docs-site";
      for (let n = 0; n < 12; n++) {
        const input = { path: `notes-${hand.name}/n${n}.md`, content: "n\n" };
        const { id } = await scene.stage.submit("write_file", input, { project });
        await scene.stage.api("POST", `/api/actions/${id}/approve?project=${project}`, {});
      }
      await scene.open(`/policy?project=${project}`);
      await hand.press(button("Suggest rules"));
      await hand.press(button("Try it"));
      await until("the rule is tried", () => new URL(scene.page.url()).searchParams.has("rule"));
    },
  ),
  deed(
    "Routes & team",
    "add a member, change the role, create a link, remove the member",
    {
      "team/add_member": ["Name", "E-mail, if you like"],
      "team/role_choice": ["…"],
      "team/members": ["Create a login link", "Remove", "Remove the key of … | Remove …", "Back"],
      "team/link_dialog": ["Close", "Copy the link"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const name = `Ann ${scene.hand.name}`;
      await scene.open("/team");
      const form = page.getByRole("form", { name: "Add a member" });
      await hand.type(form.getByLabel("Name"), name);
      await hand.type(form.getByLabel("E-mail"), "ann@example.org");
      await hand.press(button("Add a member", form), "Enter");
      const row = page.getByRole("listitem", { name, exact: true });
      const members = async () => (await scene.stage.api("GET", "/api/team/members")).items;
      await row.waitFor();
      await hand.choose(page.getByLabel(`Role of ${name}`), "admin");
      await until("the role has changed", async () => (await members())[0].role === "admin");
      await hand.press(button("Create a login link", row));
      await hand.press(button("Copy the link"));
      await hand.press(button("Close", page.getByRole("dialog")), "Escape");
      await hand.press(button("Remove", row));
      await hand.press(button("Back", row));
      await hand.press(button("Remove", row));
      await hand.press(button(`Remove ${name}`, row));
      await row.waitFor({ state: "detached" });
      expect(await members()).toEqual([]);
    },
  ),
  deed(
    "Routes & team",
    "add a route, test it, change it, remove it",
    {
      "team/routes": ["Add a route", "Change", "Remove", "Remove …", "Back"],
      "team/route_form": [
        "Name",
        "Paths, one pattern a line, such as deploy/**",
        "Commands, one pattern a line, such as terraform *",
        ...["Lowest risk", "<input>", "…-quorum"],
      ],
      "team/route_tester": ["Test the routes", "What an agent would do", "…-text", "…"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const { id } = await scene.stage.api("POST", "/api/team/members", {
        name: `Bo ${hand.name}`,
      });
      const routes = async () => (await scene.stage.api("GET", "/api/approval-routes")).items;
      await scene.open("/team?project=my-app");
      await hand.press(page.locator("summary", { hasText: "Add a route" }));
      const form = page.getByRole("form", { name: "Add a route" });
      await hand.type(form.getByLabel("Name"), "Deploys");
      await hand.type(form.getByLabel("Paths"), "deploy/**");
      await hand.type(form.getByLabel("Paths"), "");
      await hand.type(form.getByLabel("Commands"), "terraform *");
      await hand.choose(form.getByLabel("Lowest risk"), "high");
      await hand.check(form.getByLabel(`Bo ${hand.name}`));
      await hand.type(form.getByLabel("How many must approve"), "1");
      await hand.press(button("Add the route", form));
      const row = page.getByRole("listitem", { name: "Deploys", exact: true });
      await row.waitFor();
      expect(await routes()).toMatchObject([{
        match: { paths: [], commands: ["terraform *"], min_risk: "high" },
        quorum: 1,
      }]);
      const tester = page.getByRole("form", { name: "Test the routes" });
      await hand.press(button("Run a command", tester));
      await hand.type(tester.getByLabel("Command", { exact: true }), "terraform apply");
      await hand.choose(tester.getByRole("combobox"), "critical");
      await hand.press(tester.locator("button[type=submit]"));
      await scene.see("takes route Deploys");
      await hand.press(button("Change", row));
      const change = page.getByRole("form", { name: "Change Deploys" });
      await hand.press(button("Back", change));
      await hand.press(button("Change", row));
      await hand.type(change.getByLabel("Name"), "All deploys");
      await hand.press(button("Save the route", change));
      await until("the route is renamed", async () => (await routes())[0].name === "All deploys");
      const renamed = page.getByRole("listitem", { name: "All deploys", exact: true });
      await hand.press(button("Remove", renamed));
      await hand.press(button("Back", renamed));
      await hand.press(button("Remove", renamed));
      await hand.press(button("Remove All deploys", renamed));
      await until("the route is gone", async () => (await routes()).length === 0);
      await scene.stage.api("DELETE", `/api/team/members/${id}`);
    },
  ),
  deed(
    "Remediation",
    "lift a block with a reason",
    {
      "remediation/blocks": ["Lift the block", "<input>", "Keep it"],
      "remediation/evaluation": ["Evaluate again", "…"],
      "remediation/remediation_page": ["key j", "key k", "key o"],
      "remediation/session_list": ["…"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const agent = scene.name("wild");
      const blocks = "/api/remediation/blocks?project=my-app";
      await until("the session is blocked", async () => {
        await scene.stage.submit("write_file", { path: ".env", content: "K" }, { agent });
        const { items } = await scene.stage.api("GET", blocks);
        return items.length > 0;
      });
      await scene.open("/remediation?project=my-app");
      const row = page.getByRole("listitem", { name: `Block of ${agent}` });
      await page.locator(".list-row").first().waitFor();
      if (hand.name === "keyboard") await page.keyboard.press("j");
      await hand.press(page.locator(".list-row").first(), "k");
      await hand.press(page.locator("summary", { hasText: "The policy denied it" }));
      await hand.press(button("Evaluate again"));
      await hand.press(button("Lift the block", row));
      await hand.press(button("Keep it", row), "Escape");
      await hand.press(button("Lift the block", row));
      await hand.type(row.getByRole("textbox"), "it knows the rules now");
      await hand.press(row.locator("button[type=submit]"), "Enter");
      await until("nothing is blocked", async () => {
        const { items } = await scene.stage.api("GET", blocks);
        return items.length === 0;
      });
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
      const link = page.locator(`a[href*="/sessions/"]`).first();
      await hand.press(link, "o");
      await page.waitForURL(/\/sessions\//);
    },
  ),
  deed(
    "Analytics",
    "choose the time",
    {
      "analytics/range": [
        ...["Time", "From", "To", "Earlier", "Later", "<input>"],
        ...["key +", "key -", "key [", "key ]"],
      ],
      "analytics/over_time": ["Show the numbers"],
      "analytics/rules": ["Order"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await scene.open("/analytics?project=my-app");
      await scene.see("Decisions over time");
      await hand.press(button("90 days"), "+");
      await scene.address("window", "90d");
      await hand.press(button("30 days"), "-");
      await hand.press(button("Earlier"), "[");
      await until("a day is chosen", () => new URL(page.url()).searchParams.has("to"));
      await hand.press(button("Later"), "]");
      await scene.address("to", null);
      await hand.press(page.locator("summary", { hasText: "Show the numbers" }).first());
      await hand.press(button("By overruling"));
      await scene.address("rules", "overruled");
      const day = new Date(Date.now() - 2 * DAY_MS).toISOString().slice(0, 10);
      for (const name of ["To", "From"]) {
        const field = page.getByLabel(name, { exact: true });
        // A date field takes its parts one after the other from the keyboard alone.
        if (hand.name === "mouse") await field.fill(day);
        else await typeDate(scene, name, day);
      }
      await until("the address has the day", () => new URL(page.url()).searchParams.has("to"));
    },
  ),
  deed(
    "Audit",
    "verify the chain, sign its head, filter and open events, export",
    {
      "audit/chain": ["Verify now", "key v", "Sign the head"],
      "audit/filters": ["Kind of event", "Period", "<input>", "…"],
      "audit/events": ["… by …"],
      "audit/audit_page": ["key j", "key k"],
      "audit/exports": ["Export JSON", "Export CSV", "Export a bundle"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await scene.stage.submit("write_file", { path: "free/audit.md", content: "x" });
      await scene.open("/audit?project=my-app");
      await hand.press(button("Verify now"), "v");
      await page.getByText("Whole", { exact: true }).waitFor();
      await hand.press(button("Sign the head"));
      await scene.see(/is signed/);
      for (const [name, ending] of [["JSON", "json"], ["CSV", "csv"], ["a bundle", "html"]]) {
        const coming = page.waitForEvent("download");
        await hand.press(button(`Export ${name}`));
        const file = await (await coming).path();
        expect(readFileSync(file, "utf8").length, ending).toBeGreaterThan(100);
      }
      await hand.choose(page.getByLabel("Kind of event"), "Action submitted");
      await page.locator(".filter-chip, .audit-events > li").first().waitFor();
      await hand.choose(page.getByLabel("Period"), "Last day");
      await page.locator(".audit-events > li").first().waitFor();
      if (hand.name === "keyboard") {
        for (const key of ["j", "j", "k"]) await page.keyboard.press(key);
      }
      await hand.press(page.locator(".audit-events summary").first());
      await page.locator(".audit-events details[open]").waitFor();
      await hand.press(page.getByRole("link", { name: "Show its events" }).first());
      await hand.press(page.locator(".filter-chip").first());
    },
  ),
  deed(
    "Audit",
    "verify one of all chains, and show new events",
    { "audit/chain": ["Verify …"], "audit/events": ["key .", "Show …"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await scene.open("/audit");
      const row = page.getByRole("listitem", { name: "my-app" });
      await hand.press(button(/^Verify /, row));
      await row.getByText("Whole", { exact: true }).waitFor();
      await scene.stage.submit("write_file", { path: "free/early.md", content: "x" });
      await scene.open("/audit?project=my-app");
      await page.locator(".audit-events > li").first().waitFor();
      await scene.stage.submit("write_file", { path: "free/later.md", content: "x" });
      await hand.press(button(/^Show \d+ new event/), ".");
      await button(/^Show \d+ new event/).waitFor({ state: "detached" });
    },
  ),
  deed(
    "Projects",
    "register a project, forget it",
    {
      "projects/add_project": ["…"],
      "projects/project_list": ["Forget…", "Forget …", "Back", "key j", "key k"],
      "projects/projects_page": ["Show …"],
      "state/kept": ["key ."],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const id = scene.name("late");
      scene.stage.write("gate.config.json", JSON.stringify({ id, policies: {} }), id);
      await scene.open("/projects");
      const form = page.getByRole("form", { name: "Register a project" });
      await hand.type(form.getByRole("textbox"), join(scene.stage.folder, id));
      await hand.press(button("Register"), "Enter");
      await scene.see(`${id} is registered`);
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
      await hand.press(button("Show 1 new project"), ".");
      if (hand.name === "keyboard") {
        for (const key of ["j", "k"]) {
          await page.keyboard.press(key);
        }
      }
      const row = page.getByRole("listitem", { name: id });
      await hand.press(button("Forget…", row));
      await hand.press(button("Back", row));
      await hand.press(button("Forget…", row));
      await hand.press(button(`Forget ${id}`, row));
      await scene.see(`gate has forgotten ${id}`);
      const { items } = await scene.stage.api("GET", "/api/hub/projects");
      expect(items.map((one: { id: string }) => one.id)).not.toContain(id);
    },
  ),
  deed(
    "Projects",
    "create a workspace, put a project in and out, remove it",
    { "projects/workspaces": ["…", "Remove…", "Remove …", "Back"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const name = `Shop ${hand.name}`;
      await scene.open("/projects");
      const form = page.getByRole("form", { name: "Create a workspace" });
      await hand.type(form.getByRole("textbox"), name);
      await hand.press(button("Create"), "Enter");
      const row = page.getByRole("listitem", { name });
      await row.waitFor();
      await hand.choose(row.getByRole("combobox"), "docs-site");
      await hand.press(row.getByTitle("Take docs-site out of this workspace"));
      await row.getByText("0 projects").waitFor();
      await hand.press(button("Remove…", row));
      await hand.press(button("Back", row));
      await hand.press(button("Remove…", row));
      await hand.press(button(`Remove ${name}`, row));
      await row.waitFor({ state: "detached" });
      expect((await scene.stage.api("GET", "/api/workspaces")).items).toEqual([]);
    },
  ),
  deed(
    "Settings",
    "add a receiver, change it, remove it",
    {
      "settings/notification_settings": ["Add a receiver", "Change", "Remove", "Remove …", "Back"],
      "settings/receiver_form": [
        ...["Kind", "Name", "Lowest risk", "<input>"],
        ...["Address, https://…", "Secret whsec_…: …", "Address: …"],
      ],
    },
    async (scene) => {
      const { hand, button } = use(scene);
      const receivers = async () =>
        (await scene.stage.api("GET", "/api/notifications/receivers")).items;
      await scene.open("/settings");
      const section = scene.region("Notifications");
      await hand.press(section.locator("summary", { hasText: "Add a receiver" }));
      const form = section.getByRole("form", { name: "Add a receiver" });
      await hand.choose(form.getByLabel("Kind"), "slack");
      await hand.type(form.getByLabel("Address: "), "SLACK_URL");
      await hand.choose(form.getByLabel("Kind"), "webhook");
      await hand.type(form.getByLabel("Name", { exact: true }), "ops");
      await hand.type(form.getByLabel("Address, https://…"), "https://example.org/hook");
      await hand.type(form.getByLabel("Secret whsec_…"), "HOOK_SECRET");
      await hand.choose(form.getByLabel("Lowest risk"), "high");
      await hand.check(form.getByRole("checkbox"));
      await hand.press(button("Add and accept", form));
      const part = section.getByRole("group", { name: "ops" });
      await part.waitFor();
      expect(await receivers()).toMatchObject([{ id: "ops", min_risk: "high", details: false }]);
      await hand.press(button("Change", part));
      await hand.choose(part.getByLabel("Lowest risk"), "critical");
      await hand.press(button("Save and accept", part));
      await until("it is changed", async () => (await receivers())[0].min_risk === "critical");
      await hand.press(button("Remove", part));
      await hand.press(button("Back", part));
      await hand.press(button("Remove", part));
      await hand.press(button("Remove ops", part));
      await part.waitFor({ state: "detached" });
      expect(await receivers()).toEqual([]);
    },
  ),
  deed(
    "Settings",
    "show more rules, check again",
    {
      "settings/rules_settings": ["Show …"],
      "settings/doctor_settings": ["Checking | Check again", "… found nothing"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await scene.open("/settings?project=docs-site");
      await hand.press(page.locator("summary", { hasText: /^Show \d+ more rules?$/ }).first());
      const checks = scene.region("Checks");
      await hand.press(button("Check again", checks));
      await hand.press(checks.locator("summary", { hasText: /found nothing/ }));
    },
  ),
];

async function typeDate({ page }: Scene, label: string, day: string): Promise<void> {
  const field = page.getByLabel(label, { exact: true });
  for (let stops = 0; stops < 100; stops++) {
    if (await field.evaluate((element) => element === document.activeElement)) break;
    await page.keyboard.press("Tab");
  }
  const [year, month, date] = day.split("-");
  await page.keyboard.type(`${month}${date}${year}`);
  await page.keyboard.press("Enter");
}
