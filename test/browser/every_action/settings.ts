import { Buffer } from "node:buffer";
import { chmodSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import type { ReceiverChange } from "../../../server/notifications/schema.ts";
import { type Stage, until } from "../stage.ts";
import { type Deed, deed, type Scene, use } from "./deed.ts";

/** The deeds of a person whose receivers and checks report trouble. */
export const SETTINGS: Deed[] = [
  deed(
    "Settings",
    "send messages again that a receiver refused, and turn the browser's notices on and off",
    { "settings/notification_settings": ["Send again", "<input>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const gone = await Refusing.listen();
      try {
        await addReceiver(scene, gone.url);
        await scene.stage.rejectHeld();
        await scene.stage.hold(`${scene.name()}.ts`, "1\n");
        const status = async () =>
          (await scene.stage.api("GET", "/api/notifications")).receivers[0];
        await until("the message is given up", async () => (await status()).dead > 0);
        gone.answer = 204;
        await page.context().grantPermissions(["notifications"]);
        await scene.open("/settings");
        const section = scene.region("Notifications");
        await hand.press(button("Send again", section));
        await until("it has arrived", async () => (await status()).dead === 0);
        // The row that goes moves the box, which a click would miss.
        await button("Send again", section).waitFor({ state: "detached" });
        const box = section.getByRole("checkbox").first();
        for (const isOn of [true, false]) {
          await hand.check(box);
          await until("the box has turned", async () => await box.isChecked() === isOn);
        }
      } finally {
        await removeReceiver(scene);
        await gone.close();
      }
    },
  ),
  deed(
    "Settings",
    "repair a finding of the checks, and copy the command that does it",
    { "settings/doctor_settings": ["<RepairButton>", "Copy", "…"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const token = join(scene.stage.folder, "home", "tokens", "viewer");
      chmodSync(token, 0o644);
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await scene.open("/settings");
      const checks = scene.region("Checks");
      await hand.press(button("Check again", checks));
      const row = checks.getByRole("listitem").filter({ hasText: `others may read ${token}` });
      // The checks run programs of their own.
      await row.waitFor({ timeout: 60_000 });
      await hand.press(button("Copy", row));
      await row.getByText("Copied").waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      expect(copied).toContain("chmod 600");
      await hand.press(button("Make it private", row));
      await row.waitFor({ state: "detached" });
      expect(statSync(token).mode & 0o777).toBe(0o600);
    },
  ),
];

const RECEIVERS = "/api/notifications/receivers";

async function addReceiver({ stage }: Scene, url: string): Promise<void> {
  const secret_file = join(stage.folder, "hook.key");
  const key = `whsec_${Buffer.alloc(32, 7).toString("base64")}\n`;
  writeFileSync(secret_file, key, { mode: 0o600 });
  const receiver = { id: "ops", kind: "webhook", url, secret_file };
  await accept(stage, await stage.api("POST", RECEIVERS, receiver));
}

async function removeReceiver({ stage }: Scene): Promise<void> {
  await accept(stage, await stage.api("DELETE", `${RECEIVERS}/ops`));
}

async function accept(stage: Stage, { change }: ReceiverChange): Promise<void> {
  const { path, after_sha256: sha256, number } = change!;
  await stage.api("POST", "/api/config/accept?project=machine", { path, sha256, number });
}

/** A receiver that says it is gone, until it is told to answer otherwise. */
class Refusing {
  answer = 410;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      request.resume();
      response.writeHead(this.answer).end();
    });
  }

  static async listen(): Promise<Refusing> {
    const refusing = new Refusing();
    await new Promise<void>((resolve) => refusing.#server.listen(0, "127.0.0.1", resolve));
    return refusing;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
