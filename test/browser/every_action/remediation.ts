import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../stage.ts";
import { type Deed, deed, use } from "./deed.ts";

const LINES = "one\ntwo\nthree\nfour\nfive\nsix\n";

/** The deeds of a person on the page Remediation. */
export const REMEDIATION: Deed[] = [
  deed(
    "Remediation",
    "show more findings",
    { "remediation/evaluation": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const options = { agent: scene.name("curious"), project: "docs-site" };
      let session = "";
      for (let n = 0; n < 22; n++) {
        const input = { path: ".env", content: `${n}` };
        session = (await scene.stage.submit("write_file", input, options)).session_id;
      }
      await scene.open(`/remediation?project=docs-site&session=${session}`);
      const found = page.locator(".remediation-findings[open] li");
      await until("the first findings are shown", async () => await found.count() === 20);
      await hand.press(button("Show the next 2"));
      await until("all findings are shown", async () => await found.count() === 22);
    },
  ),
  deed(
    "Remediation",
    "roll a session back: go back, merge what changed since, overwrite it",
    {
      "remediation/advice": [
        ...["Preview the rollback", "Roll back", "Back", "Merge", "Overwrite", "…"],
      ],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const started = async () => {
        const path = `free/${scene.name()}.txt`;
        scene.stage.write(path, LINES);
        const agent = scene.name("careless");
        const content = LINES.replace("two", "TWO");
        const made = await scene.stage.submit("write_file", { path, content }, { agent });
        await scene.stage.submit("write_file", { path: ".env", content: "1" }, { agent });
        const query = `project=my-app&session=${made.session_id}`;
        const show = async () => {
          await scene.open(`/remediation?${query}`);
          await hand.press(button("Preview the rollback", way));
        };
        const text = () => readFileSync(join(scene.stage.folder, "my-app", path), "utf8");
        return { path, show, text };
      };
      const way = page.getByRole("listitem", { name: "Roll back the whole session" });
      const plain = await started();
      await plain.show();
      await hand.press(button("Back", way));
      await hand.press(button("Preview the rollback", way));
      await hand.press(button("Roll back", way));
      await until("it is rolled back", () => plain.text() === LINES);
      const merged = await started();
      scene.stage.write(merged.path, LINES.replace("two", "TWO").replace("six", "6"));
      await merged.show();
      await hand.press(button("Merge", way));
      await until("it is merged", () => merged.text() === LINES.replace("six", "6"));
      const forced = await started();
      scene.stage.write(forced.path, "by hand\n");
      await forced.show();
      await hand.press(button("Overwrite", way));
      await until("it is overwritten", () => forced.text() === LINES);
      await hand.press(button(/^End the session/));
      await hand.press(button("End the session"));
      await scene.see("The session has ended");
    },
  ),
  deed(
    "Remediation",
    "show new sessions and blocks",
    { "remediation/blocks": ["Show …"], "remediation/remediation_page": ["Show …"] },
    async (scene) => {
      const { hand, button } = use(scene);
      const deny = (agent: string) =>
        scene.stage.submit("write_file", { path: ".env", content: "K" }, { agent });
      await deny(scene.name("early"));
      await scene.open("/remediation?project=my-app");
      await scene.page.locator(".remediation-sessions .list-row").first().waitFor();
      const blocks = async () =>
        (await scene.stage.api("GET", "/api/remediation/blocks?project=my-app")).items;
      const late = scene.name("late");
      await until("a session is blocked", async () => {
        await deny(late);
        return (await blocks()).length > 0;
      });
      await hand.press(button(/^Show \d+ new block/), ".");
      const sessions = button(/^Show \d+ new session/);
      if (hand.name === "mouse") await hand.press(sessions);
      await sessions.waitFor({ state: "detached" });
      for (const { id } of await blocks()) {
        await scene.stage.api("POST", `/api/remediation/blocks/${id}/unblock?project=my-app`, {});
      }
    },
  ),
];
