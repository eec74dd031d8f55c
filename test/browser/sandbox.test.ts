import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { engineOnce } from "../../server/sandbox/engine.ts";
import { ENGINE } from "../server/sandbox/stage.ts";
import { headline, settled, Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app"], { sandbox: engineOnce() });
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const LEAVES = { outside_sandbox: true, reason: "it needs <b>my</b> keys" };

test("the card says why the agent wants to leave the sandbox, and what a sandbox is", async () => {
  await stage.submit("run_command", { command: "sudo make", ...LEAVES });
  const page = await stage.page("/approvals");
  await page.locator(".queue-row").first().click();
  const fact = page.locator(".fact", { hasText: "Sandbox" }).first();
  await fact.getByText("it needs <b>my</b> keys").waitFor();
  const text = await fact.innerText();
  expect(text).toContain("The agent wants it to run outside the sandbox");
  expect(text).toContain("A sandbox is a closed room for one command");
});

describe.runIf(ENGINE !== null)("a person opens a wall", () => {
  async function openDialog(command: string) {
    const action = await stage.submit("run_command", { command, ...LEAVES });
    const page = await stage.page();
    await headline(page, `Run ${command}`);
    await settled(page);
    await page.keyboard.press("w");
    const dialog = page.getByRole("dialog", { name: "Open a wall of the sandbox" });
    await dialog.waitFor();
    return { ...action, page, dialog };
  }
  const openedBy = async (id: string) =>
    (await stage.detail(id)).timeline.find(({ type }) => type === "wall.opened")?.data;

  test("the host that the command names, for this run", async () => {
    const { id, page, dialog } = await openDialog("curl -s https://registry.test/a");
    const approve = dialog.getByRole("button", { name: "Approve in sandbox" });
    expect(await approve.isDisabled()).toBe(true);
    await dialog.getByRole("checkbox", { name: "the host registry.test" }).check();
    await approve.click();
    await page.getByText("No action is held").waitFor();
    expect(await openedBy(id)).toMatchObject({
      walls: [{ kind: "host", host: "registry.test" }],
      for: "once",
    });
  });

  test("a host that the person names, for the session; settings show and close it", async () => {
    const { id, page, dialog } = await openDialog("npm publish --tag one");
    await dialog.getByText("tell of no wall").waitFor();
    await dialog.getByLabel("Host, folder or file").fill("mirror.test:8443");
    await dialog.getByRole("button", { name: "Add" }).click();
    await dialog.getByRole("checkbox", { name: "the host mirror.test:8443" }).waitFor();
    await dialog.getByRole("button", { name: "This session" }).click();
    await page.keyboard.press("Control+Enter");
    await page.getByText("No action is held").waitFor();
    expect(await openedBy(id)).toMatchObject({ for: "session" });
    await page.goto(`${stage.gate.url}/settings?project=my-app`);
    const settings = page.getByRole("region", { name: "Sandbox" });
    await settings.getByText("the host mirror.test:8443").waitFor();
    for (const fact of ["bubblewrap", "only servers of the same command", "They write"]) {
      expect(await settings.innerText()).toContain(fact);
    }
    await settings.getByRole("button", { name: "Close" }).click();
    await settings.getByText("Nobody has opened a wall").waitFor();
    expect((await stage.api("GET", "/api/sandbox?project=my-app")).openings).toEqual([]);
  });

  test("a wall that a rule blocks stays closed, and the dialog says why", async () => {
    const { id, page, dialog } = await openDialog("npm publish --tag two");
    await dialog.getByLabel("Kind of wall").selectOption("Write in the folder");
    await dialog.getByLabel("Host, folder or file").fill("/etc/cron.d");
    await dialog.getByLabel("Host, folder or file").press("Enter");
    await dialog.getByRole("button", { name: "Approve in sandbox" }).click();
    await dialog.getByText("programs of the machine start from it").waitFor();
    expect((await stage.detail(id)).status).toBe("pending");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  test("a rule, whose impact is shown first", async () => {
    const earlier = await stage.submit("run_command", { command: "curl -s https://rule.test/b" });
    await stage.api("POST", `/api/actions/${earlier.id}/reject?project=my-app`, {});
    const { id, page, dialog } = await openDialog("curl -s https://rule.test/a");
    await dialog.getByRole("checkbox", { name: "the host rule.test" }).check();
    await dialog.getByRole("button", { name: "Every command" }).click();
    await dialog.getByText(/1 more would have been allowed in the sandbox/).waitFor();
    await dialog.getByText("A person rejected one of these").waitFor();
    const config = join(stage.folder, "my-app/gate.config.json");
    expect(readFileSync(config, "utf8")).not.toContain("rule.test");
    await dialog.getByRole("button", { name: "Approve and write the rule" }).click();
    await page.getByText("The rule is written and in force").waitFor();
    expect(JSON.parse(readFileSync(config, "utf8")).policies.sandbox).toEqual({
      hosts: ["rule.test"],
    });
    expect(await openedBy(id)).toMatchObject({ for: "once" });
    expect((await stage.api("GET", "/api/sandbox?project=my-app")).sandbox.hosts)
      .toEqual(["rule.test"]);
  });

  test("no rule shows a hidden file", async () => {
    const { dialog } = await openDialog("npm publish --tag three");
    await dialog.getByLabel("Kind of wall").selectOption("Read the file");
    await dialog.getByLabel("Host, folder or file").fill("~/.toolrc");
    await dialog.getByRole("button", { name: "Add" }).click();
    await dialog.getByRole("button", { name: "Every command" }).click();
    await dialog.getByText("No rule shows a hidden file").waitFor();
    expect(
      await dialog.getByRole("button", { name: "Approve and write the rule" }).isDisabled(),
    ).toBe(true);
  });
});

test("without an engine no wall is offered, and settings say so", async () => {
  const plain = await Stage.open();
  try {
    await plain.submit("run_command", { command: "sudo make", ...LEAVES });
    const page = await plain.page();
    await headline(page, "Run sudo make");
    expect(await page.getByRole("button", { name: "Open a wall" }).count()).toBe(0);
    await page.goto(`${plain.gate.url}/settings?project=my-app`);
    await page.getByText("none: commands run without a sandbox").waitFor();
    expect(await plain.clear()).toEqual([]);
  } finally {
    await plain.close();
  }
});
