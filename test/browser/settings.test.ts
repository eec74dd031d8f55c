import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { policyTemplate } from "../../server/policy/templates.ts";
import { Stage } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

async function addProject(id: string, policies: unknown): Promise<void> {
  stage.write("gate.config.json", JSON.stringify({ id, policies }), id);
  await stage.api("POST", "/api/hub/projects", { root: `${stage.folder}/${id}` });
}

test.each([["light", 360], ["dark", 1280]] as const)(
  "settings show the rules of a project with their reasons, in %s at %i px",
  async (scheme, width) => {
    const id = `shop-${width}`;
    const { allowedCommands, ...rest } = policyTemplate("balanced");
    const own = { pattern: "make \u202eall", reason: "asked for by Ana" };
    await addProject(id, { ...rest, allowedCommands, askCommands: [own] });
    const page = await stage.page(`/settings?project=${id}`, { scheme, width });
    const rules = page.getByRole("region", { name: "Rules" });
    await rules.getByText("everything else").waitFor();
    const text = (await rules.innerText()).replace(/\s+/g, " ");
    for (
      const part of [
        ".env.local .env.production",
        "Secrets stay out of an agent's hands",
        "They show the repository and change nothing",
        "make [U+202E]all asked for by Ana",
        "Asks you everything else",
      ]
    ) expect(text).toContain(part);
    await rules.getByText(/^Show \d+ more rules$/).first().click();
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
      // deno-lint-ignore no-explicit-any
      const { violations } = await (globalThis as any).axe.run(document);
      // deno-lint-ignore no-explicit-any
      return violations.map((one: any) => `${one.id}: ${one.nodes[0].html}`);
    });
    expect(found).toEqual([]);
  },
);

test("settings of several projects ask for one, and follow a change of its rules", async () => {
  await addProject("one", { defaultEffect: "ask", blockedPaths: ["first/**"] });
  await addProject("two", { defaultEffect: "deny" });
  const page = await stage.page("/settings");
  const rules = page.getByRole("region", { name: "Rules" });
  await rules.getByText("Choose a project to see its rules.").waitFor();
  await page.goto(`${stage.gate.url}/settings?project=one`);
  await rules.getByText("first/**").waitFor();
  await stage.api("PUT", "/api/config/policies?project=one", { blockedPaths: ["second/**"] });
  await rules.getByText("second/**").waitFor();
  await rules.getByText("first/**").waitFor({ state: "detached" });
});
