import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AuditEvent } from "../../server/evidence/schema.ts";
import { Impostor } from "../impostor.ts";
import { addAuthenticator, setPassphrase as setFirst } from "./own_key.ts";
import { wear } from "./rooms.ts";
import { headline, settled, Stage, until } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ASSETS = join(import.meta.dirname!, "../../dist/ui/assets");
const PASSPHRASE = "correct horse battery";

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open(["my-app"], { proof: "none" });
});
afterEach(async () => {
  expect(stage.complaints).toEqual([]);
  await stage.close();
});

const setPassphrase = (page: Page) => setFirst(page, PASSPHRASE);

async function approvalEvent(): Promise<AuditEvent> {
  const { events } = await stage.api("GET", "/api/audit/export?format=json");
  return events.findLast(({ type }: AuditEvent) => type === "action.approved");
}

const onDisk = (path: string) => existsSync(join(stage.folder, "my-app", path));

async function approveShown(page: Page, path: string): Promise<void> {
  await headline(page, `Write 1 line to src/${path}`);
  await settled(page);
  await page.keyboard.press("a");
}

async function written(path: string): Promise<void> {
  await until(`${path} is written`, () => onDisk(`src/${path}`));
}

describe("a passphrase", () => {
  test("is set in the first run, unlocks the page, and signs each approval", async () => {
    const action = await stage.hold("first.ts", "one\n");
    const page = await stage.page();
    await setPassphrase(page);
    // An unlocked page loads no more code: it has every file.
    const loaded = await page.evaluate(() =>
      performance.getEntriesByType("resource").map(({ name }) => name.split("/").at(-1)!)
    );
    const scripts = readdirSync(ASSETS).filter((name) => name.endsWith(".js"));
    expect(scripts.filter((name) => !loaded.includes(name))).toEqual([]);
    await approveShown(page, "first.ts");
    await written("first.ts");
    const { data, actor } = await approvalEvent();
    expect(actor.kind).toBe("reviewer");
    expect(data.proof).toMatchObject({
      kind: "passphrase",
      challenge: { verb: "approve", action_id: action.id, digest: action.digest },
      signature: expect.stringMatching(/^[\w-]{86}$/),
    });
    const { kind, enrolled } = await stage.api("GET", "/api/proof");
    expect([kind, enrolled.length]).toEqual(["passphrase", 1]);
    expect(JSON.stringify(await page.evaluate(() => ({ ...localStorage, ...sessionStorage }))))
      .not.toContain(PASSPHRASE);
  });

  test(
    "signs each of the held actions that match what is remembered, in each theme and width",
    async () => {
      const run = (command: string) => stage.submit("run_command", { command });
      const [first, ...same] = [
        await run("npm publish --tag one"),
        await run("npm publish --tag two"),
        await run("npm publish --tag three"),
      ];
      const path = `/approvals?project=my-app&id=${first!.id}`;
      const page = await stage.page();
      await setPassphrase(page);
      await page.goto(new URL(path, page.url()).href);
      await page.getByRole("button", { name: "Locked: unlock" }).click();
      await page.getByLabel("Passphrase").fill(PASSPHRASE);
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Unlocked: lock" }).waitFor();
      await headline(page, "npm publish --tag one");
      await settled(page);
      await page.keyboard.press("m");
      await page.getByRole("radio", { name: "npm publish --tag *" }).check();
      await page.keyboard.press("Control+Enter");
      const dialog = page.getByRole("dialog");
      await dialog.getByText("2 held actions match. Approve them too?").waitFor();
      const button = dialog.getByRole("button", { name: "Approve 2 actions", disabled: false });
      await button.waitFor();
      for (const [scheme, width] of [["light", 390], ["dark", 1024], ["light", 1440]] as const) {
        await wear(page, scheme, width);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(
          0,
        );
        expect(await axe(page, `${scheme} at ${width} px`)).toEqual([]);
        const { GATE_SHOTS } = globalThis.process.env;
        if (GATE_SHOTS) {
          await page.screenshot({ path: `${GATE_SHOTS}/match-${scheme}-${width}.png` });
        }
      }
      await page.keyboard.press("Control+Enter");
      for (const { id } of same) {
        await until(
          `${id} is approved`,
          async () => (await stage.detail(id)).status === "approved",
        );
      }
      const { events } = await stage.api("GET", "/api/audit/export?format=json");
      const signed = events.filter(({ type }: AuditEvent) => type === "action.approved")
        .map(({ data }: AuditEvent) => (data.proof as { kind: string; challenge: object }));
      // The first signature covers what is remembered too.
      expect(signed.map(({ challenge }: { challenge: { digest: string } }) => challenge.digest))
        .toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), ...same.map(({ digest }) => digest)]);
      expect(signed).toMatchObject([first!, ...same].map(({ id }) => ({
        kind: "passphrase",
        challenge: { verb: "approve", action_id: id },
      })));
    },
  );

  test("accepts a team and routes that were changed by hand, each difference seen before", async () => {
    const page = await stage.page();
    await setPassphrase(page);
    const home = join(stage.folder, "home");
    const write = (file: string, list: unknown) =>
      writeFileSync(join(home, file), JSON.stringify(list), { mode: 0o600 });
    const members = [{ id: "ann", name: "Ann", role: "reviewer" }];
    write("team.json", { members });
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    const team = page.getByRole("region", { name: "Changes of team.json" });
    await team.getByText('name: "Ann"; role: "reviewer"').waitFor();
    // Another program adds someone while the person looks.
    write("team.json", { members: [...members, { id: "eve", name: "Eve", role: "admin" }] });
    await team.getByRole("button", { name: "Accept the changes of team.json" }).click();
    await page.getByText("it is not the version that you have seen").waitFor();
    expect((await stage.api("GET", "/api/team/members")).items).toEqual([]);
    write("team.json", { members });
    await team.getByRole("button", { name: "Accept the changes of team.json" }).click();
    await page.getByText("team.json is in force").waitFor();
    await team.waitFor({ state: "detached" });
    const route = { id: "src", name: "Sources", approvers: { members: ["ann"] } };
    write("approval_routes.json", { routes: [route] });
    await page.reload();
    const routes = page.getByRole("region", { name: "Changes of approval_routes.json" });
    await routes.getByRole("button", { name: "Accept the changes" }).click();
    await page.getByRole("dialog", { name: /^Unlock/ }).waitFor();
    await page.keyboard.type(PASSPHRASE);
    await page.keyboard.press("Enter");
    await page.getByText("approval_routes.json is in force").waitFor();
    expect(await stage.api("GET", "/api/approval-routes")).toMatchObject({
      items: [{ id: "src" }],
      problem: null,
      waiting: null,
    });
    const { events } = await stage.api("GET", "/api/audit/export?format=json");
    expect(events.filter(({ type }: AuditEvent) => /^(?:member|route)\./.test(type))).toMatchObject(
      [
        { type: "member.added", data: { member_id: "ann", by_hand: true, signed: {} } },
        { type: "route.added", data: { route_id: "src", by_hand: true, signed: {} } },
      ],
    );
  });

  test("is asked for after a reload; a wrong one is told, and nothing is decided", async () => {
    await stage.hold("locked.ts", "one\n");
    const page = await stage.page();
    await setPassphrase(page);
    await page.reload();
    await page.getByRole("button", { name: "Locked: unlock" }).waitFor();
    await approveShown(page, "locked.ts");
    const dialog = page.getByRole("dialog", { name: "Unlock to approve an action" });
    await dialog.waitFor();
    const progress = watchProgress(page);
    await page.keyboard.type("wrong horse battery");
    await page.keyboard.press("Enter");
    expect(await progress).toBe("Checking the passphrase");
    await dialog.getByText("This is not your passphrase").waitFor();
    expect(onDisk("src/locked.ts")).toBe(false);
    // The wrong passphrase is selected, so that typing replaces it.
    await page.keyboard.type(PASSPHRASE);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await written("locked.ts");
    await page.getByRole("button", { name: "Unlocked: lock" }).waitFor();
  });

  test("the page locks by its button and by the keyboard, and Back leaves the action held", async () => {
    await stage.hold("kept.ts", "one\n");
    const page = await stage.page();
    await setPassphrase(page);
    await page.getByRole("button", { name: "Unlocked: lock" }).click();
    await page.getByRole("button", { name: "Locked: unlock" }).waitFor();
    await approveShown(page, "kept.ts");
    await page.getByRole("dialog", { name: "Unlock to approve an action" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("You gave no proof. Nothing was decided.").waitFor();
    expect(onDisk("src/kept.ts")).toBe(false);
    await page.keyboard.press("t");
    await page.keyboard.press("l");
    await page.getByRole("dialog", { name: "Unlock this page" }).waitFor();
    await page.keyboard.type(PASSPHRASE);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Unlocked: lock" }).waitFor();
    await page.keyboard.press("t");
    await page.keyboard.press("l");
    await page.getByRole("button", { name: "Locked: unlock" }).waitFor();
  });

  test("each tab unlocks by itself", async () => {
    await stage.hold("tab.ts", "one\n");
    const page = await stage.page();
    await setPassphrase(page);
    const second = await page.context().newPage();
    await second.goto(`${stage.gate.url}/approvals`);
    await second.getByRole("button", { name: "Locked: unlock" }).waitFor();
    await approveShown(second, "tab.ts");
    await second.getByRole("dialog", { name: "Unlock to approve an action" }).waitFor();
    await second.keyboard.press("Escape");
    await page.bringToFront();
    await approveShown(page, "tab.ts");
    await written("tab.ts");
  });

  test("approving several actions asks once and signs each", async () => {
    const held = [];
    for (const name of ["a.ts", "b.ts", "c.ts"]) held.push(await stage.hold(name, "one\n"));
    const page = await stage.page();
    await setPassphrase(page);
    await page.reload();
    for (const name of ["a.ts", "b.ts", "c.ts"]) {
      await headline(page, `Write 1 line to src/${name}`);
      await settled(page);
      await page.keyboard.press("x");
      await page.keyboard.press("j");
    }
    await page.keyboard.press("Shift+A");
    await page.getByRole("button", { name: "Approve 3 actions" }).click();
    await page.getByRole("dialog", { name: "Unlock to approve 3 actions" }).waitFor();
    await page.keyboard.type(PASSPHRASE);
    await page.keyboard.press("Enter");
    await page.getByText("Approved 3 actions").waitFor();
    const { events } = await stage.api("GET", "/api/audit/export?format=json");
    const proofs = events.filter(({ type }: AuditEvent) => type === "action.approved")
      .map(({ data }: AuditEvent) =>
        data.proof as { challenge: { nonce: string; digest: string } }
      );
    expect(proofs.map(({ challenge }: typeof proofs[0]) => challenge.digest).sort()).toEqual(
      held.map(({ digest }) => digest).sort(),
    );
    expect(new Set(proofs.map(({ challenge }: typeof proofs[0]) => challenge.nonce)).size).toBe(3);
  });

  /** The part of the browser's scheduler that TypeScript does not know yet. */
  interface Scheduler {
    postTask: (task: () => void, options: { priority: "user-blocking"; delay: number }) => void;
  }

  test("the page stays usable while the key is derived", async () => {
    const page = await stage.page();
    await page.getByRole("dialog").waitFor();
    await setPassphrase(page);
    await page.getByRole("button", { name: "Unlocked: lock" }).click();
    await page.getByRole("button", { name: "Locked: unlock" }).click();
    await page.getByRole("dialog", { name: "Unlock this page" }).waitFor();
    await page.keyboard.type(PASSPHRASE);
    await page.evaluate(() => {
      const turns: number[] = [];
      const { scheduler } = globalThis as unknown as { scheduler: Scheduler };
      const turn = (): void => {
        turns.push(performance.now());
        scheduler.postTask(turn, { priority: "user-blocking", delay: 5 });
      };
      turn();
      Object.assign(globalThis, { turns });
    });
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Unlocked: lock" }).waitFor();
    const turns = await page.evaluate(() => (globalThis as unknown as { turns: number[] }).turns);
    const pauses = turns.slice(1).map((turn, i) => turn - turns[i]!);
    // A busy machine lengthens every pause and the whole alike; one blocking task would be most of it.
    expect(Math.max(...pauses)).toBeLessThan((turns.at(-1)! - turns[0]!) / 3);
  });

  test("the card under the open dialog gets no key, and Escape closes the dialog", async () => {
    const action = await stage.hold("under.ts", "one\n");
    const page = await stage.page();
    const dialog = page.getByRole("dialog", { name: "Show that it is you who approves" });
    await dialog.waitFor();
    await headline(page, "Write 1 line to src/under.ts");
    await settled(page);
    await dialog.getByText("Until you set one").click();
    for (const key of ["r", "x", "e"]) await page.keyboard.press(key);
    expect(await page.getByText("Reason for the agent").count()).toBe(0);
    expect(await page.getByText("marked").count()).toBe(0);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect((await stage.detail(action.id)).status).toBe("pending");
  });

  test("signs nothing when the card shows another text than the daemon has", async () => {
    const action = await stage.hold("swapped.ts", "one\n");
    const page = await stage.page();
    await setPassphrase(page);
    await page.route(`**/api/actions/${action.id}?*`, async (route) => {
      const response = await route.fetch();
      const detail = await response.json();
      detail.after.text = "two\n";
      await route.fulfill({ response, json: detail });
    });
    await page.reload();
    await approveShown(page, "swapped.ts");
    await page.getByText(
      "Cannot sign the decision: the action is not the one that its digest names",
    )
      .waitFor();
    await page.keyboard.press("x");
    expect(await page.getByText("marked").count()).toBe(0);
    expect((await stage.detail(action.id)).status).toBe("pending");
    // Rejecting signs nothing, so it stays possible.
    await page.keyboard.press("r");
    await page.keyboard.press("Enter");
    await until(
      "it is rejected",
      async () => (await stage.detail(action.id)).status === "rejected",
    );
    // The page may still be asking for the action when the test ends.
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  test("permits one run of a command to change a guarded place, with the keyboard too", async () => {
    const { id } = await stage.submit("run_command", { command: "npm install" });
    const page = await stage.page();
    await setPassphrase(page);
    await settled(page);
    await page.getByText("May not change git’s hooks").click();
    await page.getByLabel(".git/config").check();
    await page.getByLabel(".husky").focus();
    await page.keyboard.press("Space");
    await page.getByText("May change .git/config and .husky").waitFor();
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press("x");
    await page.getByText("A command that may change guarded places is approved alone.").waitFor();
    await page.keyboard.press("a");
    await until("it is approved", async () => (await stage.detail(id)).status === "approved");
    const { data } = await approvalEvent();
    expect(data.asked).toEqual({ digest: data.digest, permit: [".git/config", ".husky"] });
    expect((data.proof as { challenge: { digest: string } }).challenge.digest)
      .not.toBe(data.digest);
  });

  test("of a config accepts it too, if the file holds exactly the approved text", async () => {
    const config = (paths: string[]) =>
      JSON.stringify({ id: "my-app", policies: { defaultEffect: "ask", allowedPaths: paths } });
    const page = await stage.page();
    await setPassphrase(page);
    for (const paths of [["free/**"], ["free/**", "more/**"]]) {
      await stage.submit("write_file", { path: "gate.config.json", content: config(paths) });
    }
    await page.getByText("Approving also accepts it").waitFor();
    await settled(page);
    await page.keyboard.press("a");
    await page.getByText("The config is accepted and in force").waitFor();
    const free = await stage.submit("write_file", { path: "free/a.ts", content: "a\n" });
    expect(free.status).toBe("approved");
  });

  test("settings replace and remove it, and each needs the present one", async () => {
    const page = await stage.page();
    await setPassphrase(page);
    const first = (await stage.api("GET", "/api/proof")).enrolled[0].key_id;
    await page.goto(`${stage.gate.url}/settings`);
    await page.getByText(first).waitFor();
    await page.getByRole("button", { name: "Replace the key" }).click();
    await page.getByLabel("New passphrase").fill("another good phrase");
    await page.getByLabel("The same passphrase again").fill("another good phrase");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Unlock to replace the key that approves" })
      .waitFor();
    await page.keyboard.type(PASSPHRASE);
    await page.keyboard.press("Enter");
    await page.getByText("The passphrase is set").waitFor();
    const second = (await stage.api("GET", "/api/proof")).enrolled[0].key_id;
    expect(second).not.toBe(first);
    await page.getByText(second).waitFor();
    // This page made the change, so it does not warn.
    expect(await page.getByText("changed outside this browser").count()).toBe(0);
    await page.getByRole("button", { name: "Remove the key" }).click();
    await page.getByRole("button", { name: "Remove the key" }).click();
    await page.getByText("Nothing can be approved yet").waitFor();
    expect((await stage.api("GET", "/api/proof")).kind).toBe("none");
  });
});

test("under --auth none the page says who can approve, and asks for nothing", async () => {
  await stage.close();
  stage = await Stage.open(["my-app"], { proof: "none", auth: "none" });
  await stage.hold("a.txt", "x");
  const page = await stage.page();
  await page.getByText("the daemon runs with --auth none").waitFor();
  expect(await page.getByText("Nothing can be approved yet").count()).toBe(0);
  expect(await page.getByRole("dialog").count()).toBe(0);
});

test("the page locks itself after approvals.unlock_seconds", async () => {
  await stage.close();
  stage = await Stage.open(["my-app"], { proof: "none", unlock_seconds: 2 });
  const page = await stage.page();
  await setPassphrase(page);
  await page.getByRole("button", { name: "Locked: unlock" }).waitFor();
  await page.keyboard.press("t");
  await page.keyboard.press("l");
  await page.getByText("The page stays unlocked for 2 seconds").waitFor();
});

test("the page locks when another program takes the port", async () => {
  const page = await stage.page();
  await setPassphrase(page);
  const { port } = stage.gate;
  await stage.stop();
  const impostor = await Impostor.listen(port);
  try {
    await page.getByRole("heading", { name: "Another program answers on this port" }).waitFor();
    // An unlocked page has all its code, so it asked the impostor for none.
    expect(new Set(impostor.lines)).toEqual(new Set(["POST /api/auth/prove-daemon"]));
    expect(impostor.heard).not.toContain(PASSPHRASE);
  } finally {
    await impostor.close();
    await stage.start();
  }
});

test("where any program can approve, every page says so", async () => {
  await stage.close();
  stage = await Stage.open();
  const page = await stage.page();
  for (const path of ["/approvals", "/actions", "/sessions", "/settings"]) {
    await page.goto(stage.gate.url + path);
    await page.getByText("Any program of this user can approve: no passphrase").waitFor();
  }
  expect(await page.locator("dialog").count()).toBe(0);
});

describe("without a proof", () => {
  test("the choice can be put off, and approving says what is missing", async () => {
    await stage.hold("later.ts", "one\n");
    const page = await stage.page();
    await page.getByRole("dialog").waitFor();
    await page.getByRole("button", { name: "Not now" }).click();
    await page.getByText("Nothing can be approved yet").waitFor();
    await approveShown(page, "later.ts");
    await page.locator(".decision-notice", { hasText: "gate proof set" }).waitFor();
    expect(onDisk("src/later.ts")).toBe(false);
    await page.reload();
    await headline(page, "Write 1 line to src/later.ts");
    expect(await page.locator("dialog").count()).toBe(0);
    await page.getByRole("button", { name: "Set it up" }).click();
    await setPassphrase(page);
    await approveShown(page, "later.ts");
    await written("later.ts");
  });

  test.each([
    ["short", "short", /Choose a longer passphrase: it has 5 of at least 8/],
    ["long enough one", "long enough two", /The two passphrases differ/],
  ])("a bad choice is refused: %s", async (first, second, why) => {
    const page = await stage.page();
    await page.getByLabel("New passphrase").fill(first);
    await page.getByLabel("The same passphrase again").fill(second);
    await page.keyboard.press("Enter");
    await page.getByText(why).waitFor();
    expect((await stage.api("GET", "/api/proof")).kind).toBe("none");
  });
});

describe("a passkey", () => {
  test("is created in the first run and signs each approval", async () => {
    const action = await stage.hold("key.ts", "one\n");
    const page = await stage.page();
    await addAuthenticator(page);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByRole("link", { name: "Passkey: asked each time" }).waitFor();
    await approveShown(page, "key.ts");
    await written("key.ts");
    const { data } = await approvalEvent();
    expect(data.proof).toMatchObject({
      kind: "passkey",
      challenge: { verb: "approve", digest: action.digest },
      webauthn: { type: "public-key" },
    });
  });

  test("signs several approvals with one answer, and a cancelled one signs none", async () => {
    const held = [];
    for (const name of ["k1.ts", "k2.ts", "k3.ts"]) held.push(await stage.hold(name, "one\n"));
    const page = await stage.page();
    const { session, authenticatorId } = await addAuthenticator(page);
    const counted = async () => {
      const { credentials } = await session.send("WebAuthn.getCredentials", { authenticatorId });
      return credentials[0]!.signCount;
    };
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByRole("link", { name: "Passkey: asked each time" }).waitFor();
    await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
    for (const name of ["k1.ts", "k2.ts", "k3.ts"]) {
      await headline(page, `Write 1 line to src/${name}`);
      await settled(page);
      await page.keyboard.press("x");
      await page.keyboard.press("j");
    }
    await page.keyboard.press("Shift+A");
    const approve = page.getByRole("button", { name: "Approve 3 actions" });
    await approve.click();
    const dialog = page.getByRole("dialog", { name: "Use your passkey to approve 3 actions" });
    await dialog.getByText("exactly these 3 decisions").waitFor();
    for (const { digest } of held) expect(await dialog.innerText()).toContain(digest.slice(0, 12));
    await page.getByText("The passkey was not used").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("You gave no proof. Nothing was decided.").waitFor();
    expect(held.map(({ id }) => id).every((_, at) => !onDisk(`src/k${at + 1}.ts`))).toBe(true);
    await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
    const before = await counted();
    await approve.click();
    await page.getByText("Approved 3 actions").waitFor();
    expect(await counted()).toBe(before + 1);
    const { events } = await stage.api("GET", "/api/audit/export?format=json");
    const proofs = events.filter(({ type }: AuditEvent) => type === "action.approved").slice(-3)
      .map(({ data }: AuditEvent) => data.proof) as {
        together: string[];
        challenge: { digest: string };
      }[];
    expect(proofs.map(({ challenge }) => challenge.digest).sort()).toEqual(
      held.map(({ digest }) => digest).sort(),
    );
    for (const { together } of proofs) expect(together).toHaveLength(3);
    expect(await stage.api("GET", "/api/audit/verify")).toMatchObject({ ok: true });
  });

  test("a person who does not use it approves nothing, and can try again", async () => {
    await stage.hold("no_touch.ts", "one\n");
    const page = await stage.page();
    const { session, authenticatorId } = await addAuthenticator(page);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByRole("link", { name: "Passkey: asked each time" }).waitFor();
    await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
    await approveShown(page, "no_touch.ts");
    await page.getByText("The passkey was not used").waitFor();
    expect(onDisk("src/no_touch.ts")).toBe(false);
    await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
    await page.getByRole("button", { name: "Use your passkey" }).click();
    await written("no_touch.ts");
  });

  test("is not offered at an IP address, with the reason", async () => {
    const page = await stage.stranger();
    const { path } = await stage.api("POST", "/api/auth/login-code", {});
    await page.goto(`http://127.0.0.1:${stage.gate.port}${path}`);
    await page.getByText(/A passkey works at http:\/\/localhost:\d+ only/).waitFor();
    expect(await page.getByRole("button", { name: "Use a passkey" }).isDisabled()).toBe(
      true,
    );
  });
});

describe("a key that this browser does not know", () => {
  test("is said loudly, and a person can confirm it", async () => {
    const page = await stage.page();
    await page.getByRole("button", { name: "Not now" }).click();
    await page.getByText("Nothing can be approved yet").waitFor();
    const other = await stage.page();
    await setPassphrase(other);
    await page.getByText("Who can approve was changed outside this browser").waitFor({
      timeout: 20_000,
    });
    await page.getByText("Before: Not set. Now: Passphrase").waitFor();
    await page.reload();
    await page.getByText("Who can approve was changed outside this browser").waitFor();
    await page.getByRole("button", { name: "It was me" }).click();
    await page.getByText("Who can approve was changed").waitFor({ state: "hidden" });
    await page.reload();
    await page.getByRole("button", { name: "Locked: unlock" }).waitFor();
    expect(await page.getByText("Who can approve was changed").count()).toBe(0);
  });
});

test("axe finds nothing in any step, in light and dark", async () => {
  await stage.hold("axe.ts", "one\n");
  const found: string[] = [];
  const page = await stage.page();
  const look = async (step: string) => {
    for (const scheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      found.push(...await axe(page, `${step} in ${scheme}`));
    }
  };
  await page.getByRole("dialog").waitFor();
  await look("first run");
  await page.getByLabel("New passphrase").fill("short");
  await page.keyboard.press("Enter");
  await look("refused");
  await page.getByRole("button", { name: "Not now" }).click();
  await page.getByText("Nothing can be approved yet").waitFor();
  await look("not set");
  await page.getByRole("button", { name: "Set it up" }).click();
  await setPassphrase(page);
  await look("unlocked");
  await page.goto(`${stage.gate.url}/settings`);
  await page.getByText("Approve without a proof").waitFor();
  await look("settings");
  await page.getByRole("button", { name: "Replace the key" }).click();
  await look("replace");
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByRole("button", { name: "Remove the key" }).click();
  await look("remove");
  await page.goto(`${stage.gate.url}/approvals`);
  await page.getByRole("button", { name: "Locked: unlock" }).waitFor();
  await page.keyboard.press("t");
  await page.keyboard.press("l");
  await page.getByRole("dialog", { name: "Unlock this page" }).waitFor();
  await look("unlock");
  expect(found).toEqual([]);
});

test("at 360 and 1024 px nothing is wider than the window", async () => {
  const page = await stage.page("/approvals", { width: 360, height: 800 });
  const expectNarrow = async () => {
    for (const width of [360, 1024]) {
      await page.setViewportSize({ width, height: 800 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide, `at ${width} px`).toBeLessThanOrEqual(0);
    }
  };
  await page.getByRole("dialog").waitFor();
  await expectNarrow();
  await setPassphrase(page);
  await page.goto(`${stage.gate.url}/settings`);
  await page.getByText("Approve without a proof").waitFor();
  await expectNarrow();
  await page.getByRole("button", { name: "Locked: unlock" }).click();
  await page.getByRole("dialog", { name: "Unlock this page" }).waitFor();
  await expectNarrow();
});

/** The name of the next progress bar. An observer sees it however short it is shown. */
function watchProgress(page: Page): Promise<string | null> {
  return page.evaluate(() =>
    new Promise<string | null>((resolve) => {
      const look = () => {
        const bar = document.querySelector("progress");
        if (bar) resolve(bar.getAttribute("aria-label"));
      };
      new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    })
  );
}

async function axe(page: Page, name: string): Promise<string[]> {
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(AXE);
  return await page.evaluate(async (where) => {
    // deno-lint-ignore no-explicit-any
    const { violations } = await (globalThis as any).axe.run();
    // deno-lint-ignore no-explicit-any
    return violations.flatMap((violation: any) =>
      // deno-lint-ignore no-explicit-any
      violation.nodes.map((node: any) => `${where}: ${violation.id}: ${node.target.join(" ")}`)
    );
  }, name);
}
