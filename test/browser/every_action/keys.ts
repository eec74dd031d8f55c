import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { addAuthenticator, setPassphrase } from "../own_key.ts";
import { until } from "../stage.ts";
import { type Deed, deed, type Scene, use } from "./deed.ts";

const OWNER = "correct horse battery";
const MEMBER = "another correct horse";

/** The deeds of an owner with the keys of a team; each row goes on where the one before ended. */
export const TEAM_KEYS: Deed[] = [
  deed(
    "Any page",
    "confirm a passphrase that was set in another browser",
    { "proof/notices": ["It was me"] },
    async (scene) => {
      const { hand, button } = use(scene);
      await hand.press(button("Not now", scene.page.getByRole("dialog")), "Escape");
      const other = await scene.stage.page();
      await setPassphrase(other, OWNER);
      await other.close();
      const changed = scene.page.getByText("Who can approve was changed outside this browser");
      await changed.waitFor({ timeout: 60_000 });
      await hand.press(button("It was me"));
      await changed.waitFor({ state: "hidden" });
      await button("Locked: unlock").waitFor();
    },
  ),
  deed(
    "Routes & team",
    "accept a team that was changed by hand",
    { "team/waiting": ["Accept the changes of …"] },
    async (scene) => {
      const { hand, button } = use(scene);
      const members = [{ id: "ann", name: "Ann", role: "reviewer" }];
      const file = join(scene.stage.folder, "home", "team.json");
      writeFileSync(file, JSON.stringify({ members }), { mode: 0o600 });
      await scene.open("/team");
      await hand.press(button("Accept the changes of team.json"));
      await unlock(scene);
      await scene.see("team.json is in force");
      expect((await scene.stage.api("GET", "/api/team/members")).items).toMatchObject(members);
    },
  ),
  deed(
    "Routes & team",
    "learn that a member has set a key, and remove it",
    { "proof/notices": ["I know"], "team/members": ["Remove the key"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const row = page.getByRole("listitem", { name: "Ann", exact: true });
      await hand.press(button("Create a login link", row));
      const dialog = page.getByRole("dialog");
      const link = await dialog.getByLabel("The link").innerText();
      await hand.press(button("Close", dialog), "Escape");
      const member = await scene.stage.stranger();
      await member.goto(link);
      await setPassphrase(member, MEMBER, "Set a key of your own");
      const news = page.getByText("A member’s key has changed.");
      await news.waitFor({ timeout: 60_000 });
      await hand.press(button("I know"));
      await news.waitFor({ state: "hidden" });
      const keys = async () => (await scene.stage.api("GET", "/api/proof")).enrolled.length;
      expect(await keys()).toBe(2);
      await hand.press(button("Remove the key", row));
      await hand.press(button("Remove the key of Ann", row));
      await until("the key is removed", async () => await keys() === 1);
    },
  ),
];

/** The deeds of a person with a passkey. */
export const PASSKEY: Deed[] = [
  deed(
    "Any page",
    "set a passkey, miss a touch of it, and approve with it",
    {
      "proof/notices": ["Set it up"],
      "proof/set_form": ["Use a passkey"],
      "proof/unlock_dialog": ["Waiting for your passkey | Use your passkey"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const { session, authenticatorId } = await addAuthenticator(page);
      const touch = (isUserVerified: boolean) =>
        session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
      const dialog = page.getByRole("dialog");
      await hand.press(button("Not now", dialog), "Escape");
      await hand.press(button("Set it up"));
      await hand.press(button("Use a passkey", dialog));
      await page.getByRole("link", { name: "Passkey: asked each time" }).waitFor();
      expect((await scene.stage.api("GET", "/api/proof")).kind).toBe("passkey");
      const action = await scene.held();
      await touch(false);
      await hand.press(button("Approve"), "a");
      await scene.see("The passkey was not used");
      expect((await scene.stage.detail(action.id)).status).toBe("pending");
      await touch(true);
      await hand.press(button("Use your passkey", dialog));
      await scene.executed(action);
    },
  ),
];

async function unlock(scene: Scene): Promise<void> {
  const { hand, button, page } = use(scene);
  const dialog = page.getByRole("dialog");
  await hand.type(dialog.getByLabel("Passphrase"), OWNER);
  await hand.press(button("Unlock", dialog), "Enter");
  await dialog.waitFor({ state: "detached" });
}
