import { expect } from "vitest";
import { type Deed, deed, use } from "./deed.ts";
import { until } from "../stage.ts";

const PASSPHRASE = "correct horse battery";
const OTHER = "another correct horse";

/** The deeds with the key of a person's decisions; each row goes on where the one before ended. */
export const PROOF: Deed[] = [
  deed(
    "Any page",
    "put the choice off, then set a passphrase",
    {
      "proof/set_form": ["New passphrase", "The same passphrase again", "Set the passphrase", "…"],
      "proof/fields": ["<input>"],
      "proof/lock_button": ["Set a passphrase"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      await hand.press(button("Not now", dialog));
      await hand.press(page.locator(".lock-button"));
      await hand.type(dialog.getByLabel("New passphrase"), PASSPHRASE);
      await hand.type(dialog.getByLabel("The same passphrase again"), PASSPHRASE);
      await hand.press(button("Set the passphrase", dialog), "Enter");
      await button("Unlocked: lock").waitFor();
      expect((await scene.stage.api("GET", "/api/proof")).kind).toBe("passphrase");
    },
  ),
  deed(
    "Approvals",
    "lock the page, go back from the question, unlock and approve",
    {
      main: ["key t l"],
      "proof/lock_button": ["Unlocked: lock | Locked: unlock"],
      "proof/unlock_dialog": ["Passphrase", "Unlock", "Back"],
      "settings/proof_settings": ["Lock | Unlock"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await hand.press(button("Unlocked: lock"), "t l");
      const action = await scene.held();
      await hand.press(button("Approve"), "a");
      const dialog = page.getByRole("dialog");
      await hand.press(button("Back", dialog), "Escape");
      expect((await scene.stage.detail(action.id)).status).toBe("pending");
      await scene.open("/settings");
      await hand.press(button("Unlock", scene.region("Proof")));
      await hand.type(dialog.getByLabel("Passphrase"), PASSPHRASE);
      await hand.press(button("Unlock", dialog), "Enter");
      await dialog.waitFor({ state: "detached" });
      await hand.press(page.getByRole("link", { name: /^Approvals/ }), "g a");
      await scene.ready();
      await hand.press(button("Approve"), "a");
      await scene.executed(action);
    },
  ),
  deed(
    "Settings",
    "replace the key, remove it, and approve without a proof",
    {
      "settings/proof_settings": [
        "Replace the key | Set a passphrase or a passkey",
        ...["Remove the key", "Approve without a proof", "Back", "…"],
      ],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const kind = async () => (await scene.stage.api("GET", "/api/proof")).kind;
      await scene.open("/settings");
      const part = scene.region("Proof");
      const permit = async (passphrase: string) => {
        const dialog = page.getByRole("dialog");
        await hand.type(dialog.getByLabel("Passphrase"), passphrase);
        await hand.press(button("Unlock", dialog), "Enter");
      };
      const key = async () => (await scene.stage.api("GET", "/api/proof")).enrolled[0]?.key_id;
      const before = await key();
      await hand.press(button("Replace the key", part));
      await hand.type(part.getByLabel("New passphrase"), OTHER);
      await hand.type(part.getByLabel("The same passphrase again"), OTHER);
      await hand.press(button("Set the passphrase", part), "Enter");
      await permit(PASSPHRASE);
      await until("the key is another", async () => await key() !== before);
      await hand.press(button("Remove the key", part));
      await hand.press(button("Back", part));
      await hand.press(button("Remove the key", part));
      await hand.press(button("Remove the key", part));
      await until("the key is gone", async () => await kind() === "none");
      await hand.press(button("Approve without a proof", part));
      await hand.press(button("Approve without a proof", part));
      await until("the token decides", async () => await kind() === "token");
    },
  ),
];
