import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { expectGood, expectGoodInEachLook, HOSTILE } from "./rooms.ts";
import { Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "docs-site"]);
  for (let n = 0; n < 12; n++) {
    const held = await stage.hold(`area/h${n}.ts`, `${n}\n`);
    await stage.api("POST", `/api/actions/${held.id}/approve`, {});
    const note = await stage.submit("write_file", { path: `notes/n${n}.md`, content: "n\n" });
    await stage.api("POST", `/api/actions/${note.id}/approve`, {});
  }
  const held = await stage.submit("run_command", { command: "npm publish" });
  await stage.api("POST", `/api/actions/${held.id}/reject`, {});
  await stage.submit("write_file", { path: ".env", content: "K=1\n" });
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const part = (page: Page, name: string) => page.getByRole("region", { name });

test("a command is tested as it is typed: drawn, with the winning rule marked", async () => {
  const page = await stage.page("/approvals?project=my-app");
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.getByRole("heading", { name: "Test" }).waitFor();
  await page.keyboard.press("i");
  await page.keyboard.type("npm test | tee log && cat .env");
  const tester = part(page, "Test");
  await tester.getByText("secrets stay with people").waitFor();
  expect(await tester.locator(".parsed-program").allTextContents()).toEqual(["npm", "tee", "cat"]);
  expect(await tester.locator("mark").textContent()).toContain(".env");
  expect(await tester.locator(".parsed-tree .parsed-deny").textContent()).toContain("cat");
  expect(await tester.locator(".policy-matched .rule-wins").textContent()).toContain(".env");
  await page.locator(".rule-list .rule-wins", { hasText: "decides the test" }).waitFor();
  expect(await page.locator(".rule-list .rule").first().textContent()).toContain(".env");
  expect(page.url()).toContain("input=npm");
  await page.reload();
  await tester.getByText("secrets stay with people").waitFor();
  await tester.getByRole("button", { name: "Write a file" }).click();
  await tester.getByRole("textbox").fill("free/a.ts");
  await tester.getByText("allows").first().waitFor();
  await tester.getByRole("textbox").fill("gate.config.json");
  await tester.locator(".policy-matched").getByText("Built in").first().waitFor();
  // A text that is too long for an address is tested, and the page loads again without it.
  await tester.getByRole("button", { name: "Run a command" }).click();
  await tester.getByRole("textbox").fill(`echo ${"x".repeat(50_000)} && cat .env`);
  await tester.getByText("secrets stay with people").waitFor();
  expect(page.url().length).toBeLessThan(300);
  await page.reload();
  await page.getByRole("heading", { name: "Test" }).waitFor();
});

test("a rule is tried while it is typed, and added", async () => {
  const page = await stage.page("/policy?project=my-app");
  const form = part(page, "Try a rule");
  await form.getByLabel("Effect of the rule").selectOption({ label: "Deny paths" });
  await form.getByLabel("Pattern of the rule").fill("src/area/*");
  await form.getByText("12 would be denied").waitFor();
  await form.getByText("26 actions replayed").waitFor();
  await form.getByRole("link", { name: /^src\/area\/h\d+\.ts$/ }).first().waitFor();
  await form.getByLabel("Pattern of the rule").fill("src/area/h1.ts");
  await form.getByText("1 would be denied").waitFor();
  await form.getByLabel("Pattern of the rule").press("Enter");
  await page.getByText("The rule is in force").waitFor();
  await page.locator(".rule-list .rule", { hasText: "src/area/h1.ts" }).waitFor();
  const { config } = await stage.api("GET", "/api/config?project=my-app");
  expect(config.policies.blockedPaths.at(-1)).toBe("src/area/h1.ts");
  expect(config.policies.blockedPaths.length).toBe(2);
  await form.getByLabel("Pattern of the rule").fill("src/area/h1.ts");
  await form.getByText("The project has this rule already").waitFor();
  expect(await form.getByRole("button", { name: "Add the rule" }).isDisabled()).toBe(true);
  // A command that a person rejected is told before it is allowed.
  await form.getByLabel("Effect of the rule").selectOption({ label: "Allow commands" });
  await form.getByLabel("Pattern of the rule").fill("npm publish");
  await form.getByText("would have changed nothing").or(
    form.getByText("A person rejected 1 of those that it would allow"),
  ).waitFor();
});

test("rules are filtered and lead to their decisions", async () => {
  const page = await stage.page("/policy?project=my-app");
  const rules = page.locator(".rule-list .rule");
  await rules.first().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("looked at by a person");
  await until("one rule is left", async () => await rules.count() === 1);
  await rules.getByRole("link", { name: "12 decisions" }).click();
  await page.waitForURL(/\/actions\?.*rule=/);
  await until(
    "its actions are listed",
    async () => await page.locator("tbody .row-link").count() === 12,
  );
  await page.goBack();
  await page.getByPlaceholder("Pattern or reason").fill("");
  await page.getByRole("form", { name: "Rule filters" }).getByLabel("Effect").selectOption({
    label: "Allows",
  });
  await until("one rule allows", async () => await rules.count() === 1);
  await page.getByPlaceholder("Pattern or reason").fill("nothing like it");
  await page.getByText("No rule matches the filter").waitFor();
});

test("a decision counts at once, and moves nothing", async () => {
  const page = await stage.page("/policy?project=my-app");
  const rule = page.locator(".rule-list .rule", { hasText: "free/**" });
  await rule.waitFor();
  const write = (n: number) =>
    stage.submit("write_file", { path: `free/live${n}.ts`, content: "1\n" });
  await write(0);
  const counted = rule.getByRole("link", { name: /decision/ });
  await counted.waitFor();
  const before = await counted.textContent();
  const place = await rule.boundingBox();
  await write(1);
  await until("the count rises", async () => await counted.textContent() !== before);
  expect(await rule.boundingBox()).toEqual(place);
});

test("a rule that only may match is told apart from those that do", async () => {
  const input = encodeURIComponent('cat "$FILE"');
  const page = await stage.page(`/policy?project=my-app&input=${input}`);
  const tester = part(page, "Test");
  const maybe = tester.locator("summary", { hasText: "may match: a part of the action" });
  await maybe.click();
  await tester.locator("details .policy-matched").getByText(".env", { exact: true }).waitFor();
  const sure = tester.locator(".policy-result > .policy-matched");
  expect(await sure.getByText(".env", { exact: true }).count()).toBe(0);
  await page.locator(".rule-list .rule", { hasText: "may match the test" })
    .filter({ hasText: ".env" }).waitFor();
});

test("suggestions come from approvals, and one is tried", async () => {
  const page = await stage.page("/policy?project=my-app");
  const found = part(page, "Suggestions");
  await found.getByRole("button", { name: "Suggest rules" }).click();
  const suggested = await stage.api("POST", "/api/policy/suggest?project=my-app", {
    since: new Date(Date.now() - 86_400_000).toISOString(),
  });
  expect(suggested.suggestions.length).toBeGreaterThan(0);
  await found.getByRole("button", { name: "Try it" }).first().click();
  await page.waitForURL(/list=allowedPaths/);
  await part(page, "Try a rule").getByText(/would be allowed/).waitFor();
});

test("trust of an override is given and taken back; a broken config is told", async () => {
  stage.write(
    "gate.config.json",
    JSON.stringify({ id: "docs-site", overrideGlobal: true, policies: { defaultEffect: "ask" } }),
    "docs-site",
  );
  const page = await stage.page("/policy");
  await page.getByRole("link", { name: "docs-site" }).click();
  await page.getByText("Nobody trusts it yet").waitFor();
  await page.getByRole("button", { name: "Trust this project" }).click();
  await page.getByText("because a person trusts it").waitFor();
  await page.getByRole("button", { name: "Let the machine’s rules hold again" }).click();
  await page.getByText("Nobody trusts it yet").waitFor();
  stage.write("gate.config.json", "{", "docs-site");
  await page.reload();
  await part(page, "State").getByText("Everything is denied").waitFor();
  await expectGood(page, "policy_broken");
});

test("a policy that cannot be read says so", async () => {
  const page = await stage.page();
  await page.route("**/api/policy/**", (route) => route.abort());
  await page.goto(`${stage.gate.url}/policy?project=my-app`);
  await page.getByText("The policy could not be read").waitFor();
});

test(
  "axe finds nothing and nothing is too wide, in each theme and width",
  async () => {
    const query = new URLSearchParams({
      project: "my-app",
      input: `rm -rf "${HOSTILE}" && npm test | tee log && cat .env ${"x ".repeat(60)}`,
      list: "allowedPaths",
      rule: "src/area/**",
    });
    const page = await stage.page(`/policy?${query}`);
    await page.locator(".parsed").waitFor();
    await page.getByText(/actions replayed/).waitFor();
    await expectGoodInEachLook(page, "policy");
    await page.goto(`${stage.gate.url}/policy`);
    await page.getByText("Each project has its own rules").waitFor();
    await expectGoodInEachLook(page, "policy_choose");
  },
);
