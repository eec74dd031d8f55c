import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { headline, holdScripts, settled, Stage, until } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "billing-api"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

describe("logging in", () => {
  test("a login link opens the dashboard and leaves no key in the address", async () => {
    const page = await stage.page();
    expect(page.url()).toBe(`${stage.gate.url}/approvals`);
    await page.reload();
    await page.getByText("Your first held action").waitFor();
  });

  test("without a key the page says how to get one, at every address", async () => {
    const page = await stage.stranger();
    for (const path of ["/", "/approvals?id=x", "/actions/1234", "/sessions"]) {
      await page.goto(stage.gate.url + path);
      await page.getByText("gate dashboard", { exact: true }).waitFor();
    }
  });

  test("an invalid key leads back to the login page", async () => {
    const page = await stage.page();
    await page.evaluate(() => {
      const kept = { key: "0".repeat(43), until: Date.now() + 1e6 };
      localStorage.setItem("gate.key", JSON.stringify(kept));
    });
    await page.reload();
    await page.getByText("another program answers on this port").waitFor();
    await page.getByText("gate dashboard", { exact: true }).waitFor();
    expect(await page.evaluate(() => localStorage.getItem("gate.key"))).toBeNull();
  });
});

describe("reviewing", () => {
  test("approving with the mouse writes the file and shows the next card", async () => {
    const first = await stage.hold("one.ts", "export const one = 1;\n");
    await stage.hold("two.ts", "export const two = 2;\n");
    const page = await stage.page();
    await headline(page, "Write 1 line to src/one.ts");
    await page.getByText("sources are looked at by a person").first().waitFor();
    await page.getByText("export const one = 1;").waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await headline(page, "Write 1 line to src/two.ts");
    expect(readFileSync(`${stage.folder}/my-app/src/one.ts`, "utf8")).toBe(
      "export const one = 1;\n",
    );
    const { status, execution } = await stage.detail(first.id);
    expect({ status, execution }).toEqual({ status: "approved", execution: "succeeded" });
  });

  test("the queue is emptied from the keyboard alone", async () => {
    stage.write("src/old.ts", "const a = 1;\n");
    const write = await stage.hold("old.ts", "const a = 2;\n");
    const command = await stage.submit("run_command", { command: "echo hello" });
    const other = await stage.submit("delete_file", { path: "src/old.ts" });
    const page = await stage.page();
    await headline(page, "Write 1 line to src/old.ts");
    await page.keyboard.press("j");
    await headline(page, "Run echo hello");
    await page.keyboard.press("k");
    await headline(page, "Write 1 line to src/old.ts");
    await settled(page);
    await page.keyboard.press("d");
    await until("the split view is in the address", () => page.url().includes("view=split"));
    await page.keyboard.press("a");
    await headline(page, "Run echo hello");
    await settled(page);
    await page.keyboard.press("a");
    await headline(page, "Delete src/old.ts");
    await settled(page);
    await page.keyboard.press("r");
    await page.keyboard.type("still needed");
    await page.keyboard.press("Enter");
    await page.getByText("No action is held").waitFor();
    expect((await stage.detail(write.id)).status).toBe("approved");
    expect((await stage.detail(command.id)).status).toBe("approved");
    expect(await stage.detail(other.id)).toMatchObject({
      status: "rejected",
      reason: "still needed",
    });
  });

  test("rejecting moves the focus to the reason, and the agent receives it", async () => {
    const { id } = await stage.hold("no.ts", "no\n");
    const page = await stage.page();
    await page.getByRole("button", { name: "Reject" }).click();
    await page.keyboard.type("use the helper instead");
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByText("No action is held").waitFor();
    expect(await stage.detail(id)).toMatchObject({
      status: "rejected",
      reason: "use the helper instead",
    });
  });

  test("the edited text is written", async () => {
    const { id } = await stage.hold("edit.ts", "const secret = 1;\n");
    const page = await stage.page();
    await headline(page, "Write 1 line to src/edit.ts");
    await settled(page);
    await page.keyboard.press("e");
    await page.locator(".editor .cm-content").waitFor();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("// by a person\n");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Your changes to the agent’s version").waitFor();
    await page.getByText("// by a person").waitFor();
    await page.getByRole("button", { name: "Approve with edit" }).click();
    await page.getByText("No action is held").waitFor();
    expect(readFileSync(`${stage.folder}/my-app/src/edit.ts`, "utf8")).toBe(
      "// by a person\nconst secret = 1;\n",
    );
    expect(await stage.detail(id)).toMatchObject({ status: "approved", edited: true });
  });

  test.each([1440, 1200, 1024, 800, 390])(
    "what was decided is told beside the next decision, not over it, at %i px",
    async (width) => {
      const name = `told-${"very-long-".repeat(12)}${width}`;
      const { id } = await stage.hold(`${name}.ts`, "one\n");
      const next = await stage.submit("run_command", { command: `npm publish --tag ${width}` });
      const page = await stage.page(`/approvals?id=${id}`, { width, height: 844 });
      await settled(page);
      await page.getByRole("button", { name: "Approve", exact: true }).click();
      const toast = page.locator(".toast").filter({ hasText: "Approved" });
      await toast.waitFor();
      await page.locator(`.decision [title*="${next.digest}"]`).waitFor();
      const over = await toast.evaluate((told) => {
        const own = told.getBoundingClientRect();
        return [...document.querySelectorAll(".decision button, .decision summary")]
          .filter((control) => {
            const { left, right, top, bottom } = control.getBoundingClientRect();
            return left < own.right && right > own.left && top < own.bottom && bottom > own.top;
          }).map(({ textContent }) => textContent);
      });
      expect(over).toEqual([]);
    },
  );

  test("no key that is typed before the editor is there acts on the page", async () => {
    const { id } = await stage.hold("eager.ts", "one\n");
    await stage.hold("next.ts", "two\n");
    const page = await stage.page(`/approvals?id=${id}`);
    await headline(page, "Write 1 line to src/eager.ts");
    const release = await holdScripts(page);
    await page.keyboard.press("e");
    await page.keyboard.type("jxgh");
    release();
    await page.locator(".editor .cm-content").waitFor();
    expect(new URL(page.url()).pathname).toBe("/approvals");
    await page.getByText("Edit src/eager.ts").waitFor();
    await page.keyboard.press("Escape");
    await headline(page, "Write 1 line to src/eager.ts");
  });

  test("an edit keeps line endings, and survives leaving the editor", async () => {
    await stage.hold("dos.txt", "one\r\ntwo\r\n");
    const page = await stage.page();
    await headline(page, "Write 2 lines to src/dos.txt");
    await settled(page);
    await page.keyboard.press("e");
    await page.locator(".editor .cm-content").click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("zero\n");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    await page.keyboard.press("e");
    await page.locator(".editor .cm-content", { hasText: "zero" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Approve with edit" }).click();
    await page.getByText("No action is held").waitFor();
    expect(readFileSync(`${stage.folder}/my-app/src/dos.txt`, "utf8")).toBe(
      "zero\r\none\r\ntwo\r\n",
    );
  });

  test("an edited command runs as edited, and must not have more effects", async () => {
    const { id } = await stage.submit("run_command", { command: "echo one" });
    const page = await stage.page();
    await headline(page, "Run echo one");
    await settled(page);
    await editTo(page, "rm -rf src");
    await page.getByRole("button", { name: "Approve with edit" }).click();
    await page.getByText("does more than the agent's command").waitFor();
    await page.keyboard.press("Escape");
    await retype(page, "echo two");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Approve with edit" }).click();
    await page.getByText("No action is held").waitFor();
    expect(await stage.detail(id)).toMatchObject({ command: "echo two", edited: true });
  });

  test("marked cards are approved together, and no others", async () => {
    const ids = [];
    for (const name of ["m1.ts", "m2.ts", "m3.ts"]) ids.push((await stage.hold(name, "x\n")).id);
    const page = await stage.page();
    for (const name of ["m1.ts", "m2.ts"]) {
      await headline(page, name);
      await settled(page);
      await page.keyboard.press("x");
      await page.locator(".queue-row", { hasText: name }).getByText("marked").waitFor();
      await page.keyboard.press("j");
    }
    await page.keyboard.press("Shift+A");
    const dialog = page.getByRole("dialog", { name: "Decide on 2 actions" });
    await dialog.getByText("m1.ts").waitFor();
    await dialog.getByText("m2.ts").waitFor();
    expect(await dialog.getByText("m3.ts").count()).toBe(0);
    const sent: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (request.method() === "POST" && !pathname.startsWith("/api/auth")) sent.push(pathname);
    });
    await dialog.getByRole("button", { name: "Approve 2 actions" }).click();
    await page.getByText("Approved 2 actions").waitFor();
    await dialog.waitFor({ state: "detached" });
    expect(sent).toEqual(["/api/approvals/approve"]);
    await headline(page, "m3.ts");
    const statuses = await Promise.all(ids.map(async (id) => (await stage.detail(id)).status));
    expect(statuses).toEqual(["approved", "approved", "pending"]);
  });

  test("marked cards are rejected together, with a reason; refused ones are listed", async () => {
    const ids: string[] = [];
    for (const name of ["n1.ts", "n2.ts"]) ids.push((await stage.hold(name, "x\n")).id);
    const page = await stage.page();
    for (const name of ["n1.ts", "n2.ts"]) {
      await headline(page, name);
      await settled(page);
      await page.keyboard.press("x");
      await page.locator(".queue-row", { hasText: name }).getByText("marked").waitFor();
      await page.keyboard.press("j");
    }
    await page.keyboard.press("Shift+A");
    const dialog = page.getByRole("dialog", { name: "Decide on 2 actions" });
    await dialog.getByLabel("Reason").fill("one change at a time");
    await page.route("**/api/events*", (route) => route.abort());
    await page.route("**/api/approvals/reject*", async (route) => {
      await stage.api("POST", `/api/actions/${ids[0]}/approve?project=my-app`, {});
      await route.continue();
    });
    await dialog.getByRole("button", { name: "Reject 2 actions" }).click();
    const refused = page.getByRole("dialog", { name: "Not everything was decided" });
    await refused.getByText("it is approved").waitFor();
    expect(await refused.getByText("n2.ts").count()).toBe(0);
    await refused.getByRole("button", { name: "Close" }).last().click();
    expect(await stage.detail(ids[1]!)).toMatchObject({
      status: "rejected",
      reason: "one change at a time",
    });
    expect((await stage.detail(ids[0]!)).status).toBe("approved");
  });

  test("a reviewer who decides second learns who was first, and the page does not jump", async () => {
    const { id } = await stage.hold("race.ts", "x\n");
    const page = await stage.page();
    await headline(page, "Write 1 line to src/race.ts");
    await settled(page);
    await page.route("**/api/events*", (route) => route.abort());
    await page.route(`**/api/actions/${id}/approve*`, async (route) => {
      await stage.api("POST", `/api/actions/${id}/reject`, { reason: "first" });
      await route.continue();
    });
    await page.keyboard.press("a");
    await page.getByText("Your decision was not used: already rejected").waitFor();
    await headline(page, "Write 1 line to src/race.ts");
    expect((await stage.detail(id)).status).toBe("rejected");
  });

  test("a card that has just appeared accepts no decision", async () => {
    const first = await stage.hold("fast_1.ts", "1\n");
    const second = await stage.hold("fast_2.ts", "2\n");
    const page = await stage.page();
    await headline(page, "Write 1 line to src/fast_1.ts");
    await settled(page);
    await page.keyboard.press("a");
    await headline(page, "Write 1 line to src/fast_2.ts");
    await page.keyboard.press("a");
    await page.getByText("only just appeared").waitFor();
    expect((await stage.detail(first.id)).status).toBe("approved");
    expect((await stage.detail(second.id)).status).toBe("pending");
  });

  test("presses in a row decide one card, however many they are", async () => {
    const { first, second, page } = await twoOnHeldClock();
    await page.keyboard.press("a");
    await headline(page, "Write 1 line to src/row_2.ts");
    for (let press = 0; press < 20; press++) {
      await page.clock.runFor(300);
      await page.keyboard.press("a");
    }
    expect(await statusesOf(first, second)).toEqual(["approved", "pending"]);
    await page.clock.runFor(500);
    await page.keyboard.press("a");
    await until("decided", async () => (await stage.detail(second)).status === "approved");
  });

  test("a card that was in the queue before the last decision waits for no more than a double press", async () => {
    const { second, page } = await twoOnHeldClock();
    await page.keyboard.press("a");
    await headlineOnHeldClock(page, "Write 1 line to src/row_2.ts");
    await page.clock.runFor(500);
    await page.keyboard.press("a");
    await until("decided", async () => (await stage.detail(second)).status === "approved");
  });

  test("a card that an agent submits at the moment of a decision waits longer", async () => {
    const { id: first } = await stage.hold("race_1.ts", "1\n");
    const page = await pageOnHeldClock("Write 1 line to src/race_1.ts");
    const { id: second } = await stage.hold("race_2.ts", "2\n");
    await until("the second is listed", async () => {
      await page.clock.runFor(20);
      return await page.locator(".queue-row").count() === 2;
    });
    await page.keyboard.press("a");
    await headlineOnHeldClock(page, "Write 1 line to src/race_2.ts");
    await page.clock.runFor(500);
    await page.keyboard.press("a");
    await page.getByText("only just appeared").waitFor();
    expect(await statusesOf(first, second)).toEqual(["approved", "pending"]);
  });

  test.each(["tab", "window"])(
    "a card accepts no decision at the moment when the person comes back to its %s",
    async (place) => {
      const { id } = await stage.hold("back.ts", "1\n");
      const page = await stage.page();
      await headline(page, "Write 1 line to src/back.ts");
      await settled(page);
      await comeBack(page, place);
      await page.keyboard.press("a");
      await page.getByText("You have only just come back").waitFor();
      expect((await stage.detail(id)).status).toBe("pending");
    },
  );

  test("the marked cards accept no decision when their dialog appears or the person comes back", async () => {
    const { id } = await stage.hold("marked.ts", "1\n");
    const page = await stage.page();
    await headline(page, "Write 1 line to src/marked.ts");
    await settled(page);
    await page.keyboard.press("x");
    await page.getByRole("button", { name: "Decide on 1 marked" }).waitFor();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.keyboard.press("Shift+A");
    const approve = page.locator("dialog").getByRole("button", { name: "Approve 1 action" });
    for (const place of [null, "tab", "window"]) {
      if (place !== null) await comeBack(page, place);
      await page.locator('dialog .button-primary[aria-disabled="true"]').waitFor();
      await approve.press("Enter");
      expect((await stage.detail(id)).status, `${place}`).toBe("pending");
      await page.clock.runFor(800);
      await page.locator("dialog .button-primary:not([aria-disabled])").waitFor();
    }
    await approve.press("Enter");
    await until("decided", async () => (await stage.detail(id)).status === "approved");
  });

  test("approving sends the shown digest; another digest approves nothing", async () => {
    const { id } = await stage.hold("digest.ts", "x\n");
    const page = await stage.page();
    await headline(page, "Write 1 line to src/digest.ts");
    await settled(page);
    let sent = "";
    await page.route(`**/api/actions/${id}/approve*`, async (route) => {
      sent = route.request().postDataJSON().expected_digest;
      await route.continue({ postData: JSON.stringify({ expected_digest: "0".repeat(64) }) });
    });
    await page.keyboard.press("a");
    await page.getByText("The action changed while you were reading").waitFor();
    const { digest, status } = await stage.detail(id);
    expect({ sent, status }).toEqual({ sent: digest, status: "pending" });
  });
});

async function comeBack(page: Page, place: string): Promise<void> {
  await page.evaluate((place) => {
    if (place === "window") globalThis.dispatchEvent(new Event("focus"));
    else document.dispatchEvent(new Event("visibilitychange"));
  }, place);
}

/** Two held actions, the first on the page; the clock of the page moves only by `runFor`. */
async function twoOnHeldClock(): Promise<{ first: string; second: string; page: Page }> {
  const { id: first } = await stage.hold("row_1.ts", "1\n");
  const { id: second } = await stage.hold("row_2.ts", "2\n");
  const page = await pageOnHeldClock("Write 1 line to src/row_1.ts");
  return { first, second, page };
}

/** A page whose first card accepts a decision, and whose clock moves only by `runFor`. */
async function pageOnHeldClock(title: string): Promise<Page> {
  const page = await stage.page();
  await page.clock.install();
  await page.reload();
  await headline(page, title);
  await settled(page);
  await page.clock.pauseAt(await page.evaluate(() => Date.now()) + 60_000);
  return page;
}

/** Waits for the card while small steps of the clock let the page draw it. */
async function headlineOnHeldClock(page: Page, text: string): Promise<void> {
  await until(`"${text}" is shown`, async () => {
    await page.clock.runFor(20);
    return await page.locator(".headline").filter({ hasText: text }).count() > 0;
  });
}

async function statusesOf(...ids: string[]): Promise<string[]> {
  return await Promise.all(ids.map(async (id) => (await stage.detail(id)).status));
}

async function editTo(page: Page, text: string): Promise<void> {
  await page.keyboard.press("e");
  await retype(page, text);
  await page.keyboard.press("Control+Enter");
}

async function retype(page: Page, text: string): Promise<void> {
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
}
