import { join } from "node:path";
import { until } from "../stage.ts";
import { type Deed, deed, use } from "./deed.ts";

/** The deeds of a person on one card of the queue. */
export const CARDS: Deed[] = [
  deed(
    "Approvals",
    "let one run of a command change git's hooks",
    {
      "approvals/decision_bar": ["May change … | May not change git’s hooks", "<input>"],
    },
    async (scene) => {
      const { hand, page } = use(scene);
      const command = `npm install ${scene.name()}`;
      const action = await scene.card(await scene.stage.submit("run_command", { command }));
      await hand.press(page.locator("summary", { hasText: "May not change git’s hooks" }));
      await hand.check(page.getByLabel(".husky"));
      await page.locator("summary", { hasText: "May change .husky" }).waitFor();
      await scene.reject(action);
    },
  ),
  deed(
    "Approvals",
    "leave a link to an action that is not there",
    { "approvals/review_pane": ["Show the queue"] },
    async (scene) => {
      const { hand, button } = use(scene);
      await scene.open("/approvals?project=my-app&id=00000000-0000-7000-8000-000000000000");
      await hand.press(button("Show the queue"));
      await scene.address("id", null);
    },
  ),
  deed(
    "Approvals",
    "go from file to file of a patch, and show the rest",
    { "approvals/review_pane": ["key [", "key ]"], "diff/files": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const names = Array.from({ length: 25 }, (_, at) => `src/${scene.name()}-${at}.ts`);
      const adds = names.flatMap((name) => [`*** Add File: ${name}`, "+x"]);
      const patch = ["*** Begin Patch", ...adds, "*** End Patch"].join("\n");
      const hook = {
        ...{ session_id: scene.name("s"), cwd: join(scene.stage.folder, "my-app") },
        ...{ hook_event_name: "PreToolUse", tool_name: "apply_patch" },
        tool_input: { command: patch },
      };
      await scene.stage.api("POST", "/api/hooks/codex?wait_ms=0", hook, "agent");
      const { items } = await scene.stage.api("GET", "/api/actions?status=pending&project=my-app");
      const action = await scene.card(items[0]);
      if (hand.name === "keyboard") {
        for (const key of ["]", "]", "["]) await page.keyboard.press(key);
        const top = () => page.locator(".card-scroller").evaluate(({ scrollTop }) => scrollTop);
        await until("a file is at the top", async () => await top() > 0);
      }
      await hand.press(button("Show the next 5"));
      await until("all files are shown", async () => await page.locator(".file").count() === 25);
      await scene.reject(action);
    },
  ),
];
