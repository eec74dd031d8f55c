import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { until } from "../stage.ts";
import { type Deed, deed, use } from "./deed.ts";

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
