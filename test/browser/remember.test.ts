import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { headline, settled, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "billing-api"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const run = (command: string) => stage.submit("run_command", { command });

async function grants(query = "state=live") {
  return (await stage.api("GET", `/api/grants?project=my-app&${query}`)).items;
}

async function revokeAll() {
  for (const { id } of await grants()) {
    await stage.api("DELETE", `/api/grants/${id}?project=my-app`);
  }
}

async function openDialog(page: Page, title: string) {
  await headline(page, title);
  await settled(page);
  await page.keyboard.press("m");
  await page.getByRole("radio", { name: "Exactly this" }).waitFor();
}

describe("approving and remembering", () => {
  test("works with the keyboard alone: pattern, scope, lifetime, uses", async () => {
    const rejected = await run("npm publish --tag old");
    await stage.api("POST", `/api/actions/${rejected.id}/reject?project=my-app`, {});
    const { id } = await run("npm publish --tag next");
    const page = await stage.page();
    await openDialog(page, "Run npm publish --tag next");
    await page.getByText("1 action checked").waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.getByText("A person rejected one of these.").waitFor();
    await page.getByLabel("Matching actions").getByText("npm publish --tag old")
      .waitFor();
    await page.getByRole("button", { name: "The whole project" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "8 h" }).focus();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "50 ×" }).focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Control+Enter");
    await page.getByText("No action is held").waitFor();
    expect((await stage.detail(id)).status).toBe("approved");
    const [grant] = await grants();
    expect(grant).toMatchObject({
      pattern: "npm publish --tag *",
      scope: "project",
      max_uses: 50,
      uses: 0,
      given_by: "reviewer",
      action_id: id,
    });
    expect(Date.parse(grant.expires_at) - Date.parse(grant.created_at)).toBe(8 * 3_600_000);
    expect((await run("npm publish --tag more")).status).toBe("approved");
    await revokeAll();
  });

  test("a custom pattern is previewed first, and one that does not fit is refused", async () => {
    await stage.hold("ui/button.ts", "x");
    const page = await stage.page();
    await openDialog(page, "Write 1 line to src/ui/button.ts");
    const own = page.getByLabel("Custom pattern");
    await own.fill("docs/**");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText("does not cover everything that this action does").waitFor();
    await own.fill("src/ui/**/*.ts");
    await own.press("Enter");
    await page.getByRole("radio", { name: "src/ui/**/*.ts" }).waitFor();
    expect(await page.getByRole("radio", { name: "src/ui/**/*.ts" }).isChecked()).toBe(true);
    await page.getByRole("button", { name: "Approve and remember" }).click();
    await page.getByText("No action is held").waitFor();
    expect(await grants()).toMatchObject([{ pattern: "src/ui/**/*.ts", scope: "session" }]);
    await revokeAll();
  });

  test("escape closes the dialog, and nothing is approved", async () => {
    const { id } = await run("npm publish");
    const page = await stage.page();
    await openDialog(page, "Run npm publish");
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    expect((await stage.detail(id)).status).toBe("pending");
    await page.getByRole("button", { name: "Remember", exact: true }).click();
    await page.getByRole("radio", { name: "Exactly this" }).waitFor();
    await page.getByRole("button", { name: "Back" }).click();
    expect(await grants()).toEqual([]);
  });

  test("an action that cannot be remembered says why", async () => {
    await run("deploy $TARGET");
    const page = await stage.page();
    await headline(page, "Run deploy $TARGET");
    await settled(page);
    await page.keyboard.press("m");
    const why =
      "gate does not know this program, and one of its words is unknown; write its value instead: $…";
    await page.getByRole("dialog").getByText(why).waitFor();
    expect(await page.getByRole("button", { name: "Approve and remember" }).count()).toBe(0);
  });

  test("the warnings are shown above the button", async () => {
    await stage.hold("long.ts", "const a = 1;\n".repeat(400));
    const page = await stage.page();
    await openDialog(page, "Write 400 lines to src/long.ts");
    await page.getByText("You have not seen everything.").waitFor();
    await page.getByRole("button", { name: "Approve anyway and remember" }).waitFor();
  });

  test("a change to a later version of the file is approved as the card shows it", async () => {
    stage.write("src/moved.ts", "one\ntwo\n");
    const edits = [{ old_text: "two", new_text: "2" }];
    const { id } = await stage.submit("edit_file", { path: "src/moved.ts", edits });
    stage.write("src/moved.ts", "1\ntwo\n");
    const page = await stage.page();
    await openDialog(page, "Edit src/moved.ts");
    await page.getByText("The file has changed since").first().waitFor();
    await page.getByRole("radio", { name: "src/**" }).check();
    await page.getByRole("button", { name: "Approve anyway and remember" }).click();
    await page.getByText("No action is held").waitFor();
    expect(await stage.detail(id)).toMatchObject({ status: "approved", edited: true });
    expect(await grants()).toMatchObject([{ pattern: "src/**", access: "write" }]);
    await revokeAll();
  });

  test("the end of a session ends what it holds, so nothing is left to remember", async () => {
    const body = { agent: "gone", host: "unknown" };
    const { id: session_id } = await stage.api(
      "POST",
      "/api/sessions?project=my-app",
      body,
      "agent",
    );
    const action = { tool: "run_command", input: { command: "npm run gone" }, session_id };
    const { id } = await stage.api("POST", "/api/actions?project=my-app", action, "agent");
    const page = await stage.page();
    await openDialog(page, "Run npm run gone");
    await stage.api("POST", `/api/sessions/${session_id}/end?project=my-app`, {}, "agent");
    expect(await stage.detail(id)).toMatchObject({ status: "cancelled" });
    await page.locator("dialog").waitFor({ state: "detached" });
    expect(await grants()).toEqual([]);
  });

  test("nothing is remembered if another person reviews first", async () => {
    const { id } = await run("npm publish");
    const page = await stage.page();
    await openDialog(page, "Run npm publish");
    await page.route("**/approve*", async (route) => {
      await stage.api("POST", `/api/actions/${id}/reject?project=my-app`, {});
      await route.continue();
    });
    await page.getByRole("button", { name: "Approve and remember" }).click();
    await page.getByText("Your decision was not used: already rejected").waitFor();
    expect(await grants()).toEqual([]);
  });
});

describe("remembered approvals", () => {
  test("are listed with their remaining uses, and can be revoked", async () => {
    const first = await stage.hold("auth/login.ts", "a");
    const remember = { scope: "project", ttl_seconds: 3600, max_uses: 5, pattern: "src/auth/**" };
    await stage.api("POST", `/api/actions/${first.id}/approve?project=my-app`, { remember });
    const page = await stage.page();
    await page.keyboard.press("Shift+M");
    await page.waitForURL(/remembered=live/);
    const dialog = page.getByRole("dialog", { name: "Remembered approvals" });
    await dialog.getByText("src/auth/**").waitFor();
    await dialog.getByText("5 of 5 uses left").waitFor();
    await stage.hold("auth/logout.ts", "b");
    await dialog.getByText("4 of 5 uses left").waitFor();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByText("No approval is remembered").waitFor();
    expect(await grants("state=revoked&limit=1")).toMatchObject([{ pattern: "src/auth/**" }]);
    await page.keyboard.press("Escape");
    await until("the grant is gone from the address", () => !page.url().includes("remembered"));
    expect((await stage.hold("auth/third.ts", "c")).status).toBe("pending");
  });

  test("are named on the record of an action that they allowed", async () => {
    const first = await stage.hold("b/1.ts", "a");
    const remember = { scope: "project", ttl_seconds: 3600, max_uses: 5, pattern: "src/b/**" };
    await stage.api("POST", `/api/actions/${first.id}/approve?project=my-app`, { remember });
    const { id } = await stage.hold("b/2.ts", "b");
    const page = await stage.page(`/actions/${id}`);
    await page.getByText("Allowed by a remembered approval").waitFor();
    await page.getByText("4 of 5 uses left").first().waitFor();
    await page.goto(`${stage.gate.url}/actions/${first.id}`);
    await page.getByText("Remembered", { exact: true }).waitFor();
    await revokeAll();
  });
});

describe("what waits and matches too", () => {
  test("is listed in full and approved, each by its digest; a conflict stays in the queue", async () => {
    const first = await run("npm publish --tag one");
    const long = `npm publish --tag ${"two".repeat(60)}`;
    const same = [await run(long), await run("npm publish --tag three")];
    const other = await run("npm publish");
    const at = `/approvals?project=my-app&id=${first.id}`;
    const page = await stage.page(at, { has_clock: true });
    await openDialog(page, "Run npm publish --tag one");
    await page.getByRole("radio", { name: "npm publish --tag *" }).check();
    await page.getByRole("button", { name: "The whole project" }).click();
    // The dialog takes no key at first; its time passes only as the test lets it.
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 100));
    await page.keyboard.press("Control+Enter");
    const question = page.getByRole("dialog").getByText("2 held actions match. Approve them too?");
    await until("the dialog is there", async () => {
      await page.clock.runFor(20);
      return await question.isVisible();
    });
    await page.getByRole("dialog").getByText(long).waitFor();
    // Neither the key of a card nor the one that answered before decides here.
    for (const key of ["a", "y", "Shift+A", "Control+Enter"]) await page.keyboard.press(key);
    for (const { id } of same) expect((await stage.detail(id)).status).toBe("pending");
    await page.clock.resume();
    await page.getByRole("button", { name: "Approve 2 actions", disabled: false }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.locator(".toast", { hasText: "Approved 2 actions" }).waitFor();
    for (const { id } of same) expect((await stage.detail(id)).status).toBe("approved");
    expect((await stage.detail(other.id)).status).toBe("pending");
    const [grant] = await grants();
    expect(grant.uses).toBe(0);
    await revokeAll();
  });

  test("can be left in the queue", async () => {
    const first = await run("npm publish --tag four");
    const second = await run("npm publish --tag five");
    const page = await stage.page(`/approvals?project=my-app&id=${first.id}`);
    await openDialog(page, "Run npm publish --tag four");
    await page.getByRole("radio", { name: "npm publish --tag *" }).check();
    await page.keyboard.press("Control+Enter");
    await page.getByText("1 held action matches. Approve it too?").waitFor();
    await page.keyboard.press("Escape");
    await headline(page, "npm publish --tag five");
    expect((await stage.detail(second.id)).status).toBe("pending");
    await revokeAll();
  });
});
