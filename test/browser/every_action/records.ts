import { expect } from "vitest";
import { until } from "../stage.ts";
import { type Deed, deed, type Scene, use } from "./deed.ts";

const BAR = "actions/record_bar";

/** What a person does with recorded actions and sessions. */
export const RECORDS: Deed[] = [
  deed(
    "Actions",
    "filter the table, save the filters, and forget them",
    {
      "actions/actions_page": ["key /"],
      "actions/filters": ["<input>", "Status", "Kind", "…"],
      "actions/saved_filters": ["Save these filters", "<input>", "Save", "Forget …"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const word = scene.name("note");
      const path = `free/${word}.md`;
      await scene.stage.submit("write_file", { path, content: "x" });
      await scene.open("/actions?project=my-app");
      await hand.type(page.getByRole("searchbox").first(), word, "/");
      await page.keyboard.press("Enter");
      await scene.address("q", word);
      await hand.choose(page.getByLabel("Status"), "Approved or allowed");
      await scene.address("status", "approved");
      await hand.choose(page.getByLabel("Kind"), "Writes");
      await page.locator("tbody .row-link", { hasText: word }).waitFor();
      await hand.press(button("Save these filters"));
      await hand.type(page.locator(".saved-name input"), "mine");
      await hand.press(button("Save"), "Enter");
      await page.getByRole("link", { name: "mine" }).waitFor();
      await hand.press(button("Forget mine"));
      await page.getByRole("link", { name: "mine" }).waitFor({ state: "detached" });
      const hour = new Date().toISOString().slice(0, 13);
      await scene.open(`/actions?project=my-app&from=${hour}:00:00.000Z`);
      await hand.press(page.locator(".filter-chip").first());
      await scene.address("from", null);
    },
  ),
  deed(
    "Actions",
    "go through the table and open a record, and go back",
    {
      "actions/actions_table": ["key j", "key k", "key arrowdown", "key arrowup"],
      "actions/action_page": ["key b"],
    },
    async (scene) => {
      const { hand, page } = use(scene);
      for (const n of [1, 2]) {
        await scene.stage.submit("write_file", { path: `free/t${n}.md`, content: "x" });
      }
      await scene.open("/actions?project=my-app");
      await page.locator(".row-link").nth(1).waitFor();
      if (hand.name === "keyboard") {
        for (const key of ["j", "j", "k", "ArrowDown", "ArrowUp"]) await page.keyboard.press(key);
      }
      await hand.press(page.locator(".row-link").first());
      await page.waitForURL(/\/actions\/[0-9a-f-]{36}/);
      await scene.see("What happened");
      await hand.press(page.locator("a.back"), "b");
      await page.waitForURL(/\/actions\?/);
    },
  ),
  deed(
    "Actions",
    "show new actions",
    { "actions/actions_page": ["key .", "Show …"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await scene.stage.submit("write_file", { path: "free/old.md", content: "x" });
      await scene.open("/actions?project=my-app");
      await page.locator(".row-link").first().waitFor();
      const word = scene.name("new");
      await scene.stage.submit("write_file", { path: `free/${word}.md`, content: "x" });
      await hand.press(button(/^Show 1 new action/), ".");
      await page.locator(".row-link", { hasText: word }).waitFor();
    },
  ),
  deed(
    "Action",
    "roll back, and replay",
    { [BAR]: ["Roll back", "Replay", "key u", "key p", "key mod+enter", "key escape"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const path = `free/${scene.name()}.md`;
      const done = await scene.stage.submit("write_file", { path, content: "x\n" });
      await scene.open(`/actions/${done.id}`);
      await scene.see("What happened");
      await hand.press(button("Roll back"), "u");
      await scene.see("This is what changes on disk");
      await hand.press(button("Back"), "Escape");
      await hand.press(button("Roll back"), "u");
      await scene.see("This is what changes on disk");
      await hand.press(button("Roll back", page.locator(".decision")), "Control+Enter");
      await scene.becomes(done, "rolled_back");
      await hand.press(button("Replay"), "p");
      await until("it is replayed", async () => {
        const { items } = await scene.stage.api("GET", "/api/actions?project=my-app&limit=5");
        return items.some((one: { replay_of: string }) => one.replay_of === done.id);
      });
    },
  ),
  deed(
    "Action",
    "show more lines of a conflict in three columns",
    { "rollback/three_columns": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const path = `free/${scene.name()}.md`;
      const text = (word: string) =>
        Array.from({ length: 500 }, (_, at) => `${word} ${at}\n`).join("");
      scene.stage.write(path, text("before"));
      const done = await scene.stage.submit("write_file", { path, content: text("agent") });
      scene.stage.write(path, text("now"));
      await scene.open(`/actions/${done.id}`);
      await scene.see("What happened");
      await hand.press(button("Roll back"), "u");
      const rows = page.locator(".three tbody tr");
      await rows.first().waitFor();
      const shown = await rows.count();
      await hand.press(button(/^Show the next \d+$/));
      await until("more lines are shown", async () => await rows.count() > shown);
    },
  ),
  ...(["Merge", "Overwrite"] as const).map((way) =>
    deed(
      "Action",
      `roll back a file that changed later: ${way}`,
      { "rollback/rollback_pane": [way, "Roll back", "Back"] },
      async (scene) => {
        const { hand, button } = use(scene);
        const path = `free/${scene.name()}.md`;
        const lines = Array.from({ length: 20 }, (_, at) => `line ${at}\n`);
        scene.stage.write(path, lines.join(""));
        const edits = [{ old_text: "line 2\n", new_text: "LINE 2\n" }];
        const done = await scene.stage.submit("edit_file", { path, edits });
        scene.stage.write(path, lines.join("").replace("line 2\n", "LINE 2\n") + "later\n");
        await scene.open(`/actions/${done.id}`);
        await scene.see("What happened");
        await hand.press(button("Roll back"), "u");
        await hand.press(button(way));
        await scene.becomes(done, "rolled_back");
      },
    )
  ),
  deed(
    "Sessions",
    "filter by state",
    { "sessions/sessions_page": ["State"], "actions/filters": ["…"] },
    async (scene) => {
      const { hand, page } = use(scene);
      await scene.stage.submit("write_file", { path: "free/s.md", content: "x" });
      await scene.open("/sessions?project=my-app");
      await hand.choose(page.getByLabel("State"), "Ended");
      await scene.address("state", "ended");
    },
  ),
  deed(
    "Session",
    "go through its actions and files, and mark files as viewed",
    {
      "sessions/session_page": [
        ...["key j", "key k", "key arrowdown", "key arrowup", "key [", "key ]", "key b", "…"],
      ],
      "sessions/file_tree": ["Filter the changed files", "…"],
      "sessions/session_files": ["key v", "Viewed", "Show"],
      "sessions/session_bar": ["key o", "key enter"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const { id, actions } = await session(scene);
      await scene.open(`/sessions/${id}`);
      await scene.see("3 files changed");
      await hand.press(page.locator(".step", { hasText: "b.md" }), "j j");
      await scene.address("action", actions[1]!.id);
      if (hand.name === "keyboard") {
        for (const key of ["k", "ArrowDown", "ArrowUp", "k", "]", "["]) {
          await page.keyboard.press(key);
        }
      } else {
        await hand.press(page.locator(".step").first());
      }
      await scene.see("3 files changed");
      await hand.type(page.getByLabel("Filter the changed files"), "b.md");
      await hand.press(page.locator(".file-tree-file", { hasText: "b.md" }));
      await hand.type(page.getByLabel("Filter the changed files"), "");
      await page.keyboard.press("Escape");
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
      await hand.press(button("Viewed"), "v");
      await scene.see("1 of 3 viewed");
      await hand.press(button("Show"));
      await hand.press(page.locator(".step", { hasText: "a.md" }), "j");
      await scene.address("action", actions[0]!.id);
      await hand.press(page.getByRole("link", { name: /Open the record/ }).first(), "o");
      await page.waitForURL(/\/actions\//);
      await page.goBack();
      await scene.see("The whole session");
      await hand.press(page.locator("a.back"), "b");
      await page.waitForURL(/\/sessions\?/);
    },
  ),
  deed(
    "Session",
    "roll back the whole session as previewed",
    {
      "sessions/session_bar": [
        ...["Roll back the session | Roll back from here", "key u", "key mod+enter", "key escape"],
      ],
      "sessions/rollback_preview": ["… cannot be rolled back"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const { id, actions } = await session(scene);
      await scene.stage.submit("write_file", { path: ".env", content: "K=1" }, { agent: id });
      await scene.open(`/sessions/${id}`);
      await scene.see("3 actions can be rolled back");
      await hand.press(button("Roll back the session"), "u");
      await scene.see("3 actions would be rolled back");
      await hand.press(button("Back"), "Escape");
      await hand.press(button("Roll back the session"), "u");
      await scene.see("3 actions would be rolled back");
      await hand.press(button("Roll back", page.locator(".decision")), "Control+Enter");
      for (const action of actions) await scene.becomes(action, "rolled_back");
    },
  ),
];

/** A session that wrote three files. */
async function session(scene: Scene) {
  const agent = scene.name("agent");
  const actions = [];
  for (const name of ["a.md", "b.md", "c.md"]) {
    const path = `free/${agent}/${name}`;
    actions.push(
      await scene.stage.submit("write_file", { path, content: `${name}\n` }, { agent }),
    );
  }
  expect(actions.map(({ execution }) => execution)).toEqual(Array(3).fill("succeeded"));
  return { id: actions[0]!.session_id!, actions };
}
