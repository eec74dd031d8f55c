import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { HOSTILE } from "./rooms.ts";
import { POLICIES, Stage, until } from "./stage.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const SCRIPTS = [
  "<script>window.pwned=1</script>",
  '<img src=x onerror="window.pwned=1">',
  '"><svg onload=window.pwned=1>',
  "<a href=javascript:window.pwned=1>x</a>",
  "${window.pwned=1}",
];
const HIDDEN = ["\u202e", "\u2066", "\u200b", "\ufeff", "\u00ad", "\u00a0", "\u2028", "\u3164"];
/** Two hundred texts: each script with each hidden character in five places. */
const TEXTS = SCRIPTS.flatMap((script) =>
  HIDDEN.flatMap((char) => [
    `${char}${script}`,
    `${script}${char}`,
    `a${char}b ${script}`,
    `${script} ${char.repeat(20)}.`,
    `${"w".repeat(300)}${char}${script}`,
  ])
);

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open([]);
  const rules = TEXTS.map((text, at) => ({
    pattern: `program-${at} *`,
    reason: text,
    alternative: `instead ${text}`,
  }));
  const policies = { ...POLICIES, askCommands: rules, maxDenialsPerSession: 2 };
  stage.write("gate.config.json", JSON.stringify({ id: "my-app", policies }));
  await stage.api("POST", "/api/hub/projects", { root: join(stage.folder, "my-app") });
  for (const at of [0, 41, 82, 123, 164, 199]) {
    const agent = TEXTS[at]!.slice(-200);
    await stage.submit("run_command", { command: `program-${at} ${TEXTS[at]}` }, { agent });
    await stage.submit("write_file", { path: ".env", content: "A=1" }, { agent });
    await stage.submit("write_file", { path: ".env", content: "A=2" }, { agent });
  }
  const folder = join(stage.folder, "odd");
  stage.write("gate.config.json", JSON.stringify({ id: "odd" }), "odd");
  await stage.api("POST", "/api/workspaces", { id: "odd", name: SCRIPTS.join(" ") });
  await stage.api("POST", "/api/workspaces/odd/projects", { root: folder });
  writeFileSync(join(folder, "gate.config.json"), `{"id":"odd",${JSON.stringify(HOSTILE)}`);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const odd = encodeURIComponent(HOSTILE);

test.each([
  ["the policy's rules", "/policy?project=my-app&input=program-7%20x", ".policy-matched"],
  ["a replay", "/policy?project=my-app&list=blockedCommands&rule=program-0", ".policy-result a"],
  ["remediation", "/remediation?project=my-app", ".remediation-advice"],
  ["remediation of all projects", "/remediation", ".remediation-advice"],
  ["the projects", "/projects", ".workspace-members button"],
  ["the projects of a workspace", "/projects?workspace=odd", ".project-name"],
  ["analytics", "/analytics?project=my-app", "h2"],
  ["the audit log", "/audit?project=my-app", ".audit-events li"],
  ["the team", "/team", "h2"],
  ["the agents", "/agents", "h2"],
  ["the settings", "/settings", "h2"],
  [
    "the policy at a hostile address",
    `/policy?project=my-app&input=${odd}&list=${odd}&rule=${odd}&test=${odd}&q=${odd}`,
    "h2",
  ],
  ["the policy of an unknown project", `/policy?project=${odd}`, "h2"],
  ["remediation of an unknown session", `/remediation?session=${odd}&project=${odd}`, "h2"],
  ["the projects of an unknown workspace", `/projects?workspace=${odd}&project=${odd}`, "h2"],
])("%s: texts of others are shown as texts", async (_name, path, there) => {
  const page = await stage.page();
  await page.goto(stage.gate.url + path);
  await page.locator(`main ${there}`).first().waitFor();
  if (path.includes("program-7")) {
    const rules = page.locator(".rule-list .rule");
    const more = page.locator(".policy-rules .more button");
    while (await more.count() > 0) {
      const before = await rules.count();
      await more.click();
      await until("more rules are shown", async () => await rules.count() > before);
    }
    expect(await rules.count()).toBeGreaterThanOrEqual(TEXTS.length);
  }
  await page.locator("main details").evaluateAll((all) =>
    all.forEach((part) => (part as HTMLDetailsElement).open = true)
  );
  const found = await page.evaluate(() => {
    const invisible = /(?!\n|\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0]/u;
    const main = document.querySelector("main")!;
    return {
      pwned: "pwned" in globalThis,
      invisible: document.body.innerText.match(invisible)?.[0] ?? null,
      elements: document.querySelectorAll("#app script, #app img, #app iframe, [onerror], [onload]")
        .length,
      links: document.querySelectorAll('#app a[href^="javascript"]').length,
      wide: Math.max(
        main.scrollWidth - main.clientWidth,
        document.documentElement.scrollWidth - innerWidth,
      ),
    };
  });
  expect(found).toEqual({ pwned: false, invisible: null, elements: 0, links: 0, wide: 0 });
  // The page still answers.
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
});
