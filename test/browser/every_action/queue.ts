import { expect } from "vitest";
import { type Deed, deed, type Scene, use } from "./deed.ts";
import { until } from "../stage.ts";

const BAR = "approvals/decision_bar";
const PANE = "approvals/review_pane";
const HEAD = "approvals/queue_head";
const PAGE = "approvals/approvals_page";
const LONG = Array.from({ length: 400 }, (_, i) => `line ${i}\n`).join("");

/** The deeds of a person in the queue and on a card. */
export const QUEUE: Deed[] = [
  deed("Approvals", "approve", { [BAR]: ["Approve"], [PANE]: ["key a"] }, async (scene) => {
    const { hand, button } = use(scene);
    const action = await scene.held();
    await hand.press(button("Approve"), "a");
    await scene.executed(action);
  }),
  deed(
    "Approvals",
    "reject with a reason",
    { [BAR]: ["Reject", "reject-reason", "Back"], [PANE]: ["key r", "key escape"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const action = await scene.held();
      await hand.press(button("Reject"), "r");
      await hand.press(button("Back"), "Escape");
      await scene.ready();
      await hand.press(button("Reject"), "r");
      await hand.type(page.locator("#reject-reason"), "not in this folder");
      await hand.press(page.locator(".decision button[type=submit]"), "Enter");
      await scene.becomes(action, "rejected");
      expect((await scene.stage.detail(action.id)).reason).toBe("not in this folder");
    },
  ),
  deed(
    "Approvals",
    "approve with edit",
    {
      [BAR]: ["Edit"],
      "approvals/edit_steps": [
        ...["Review your change", "Approve with edit", "Back to the editor", "Back"],
      ],
      [PANE]: ["key e", "key mod+enter"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const action = await scene.held();
      await hand.press(button("Edit"), "e");
      await page.locator(".editor .cm-content").waitFor();
      await hand.press(button("Back"), "Escape");
      await hand.press(button("Edit"), "e");
      await hand.type(page.locator(".editor .cm-content"), "edited\n");
      await hand.press(button("Review your change"), "Control+Enter");
      await hand.press(button("Back to the editor"), "Escape");
      await hand.press(button("Review your change"), "Control+Enter");
      await hand.press(button("Approve with edit"), "Control+Enter");
      await scene.becomes(action, "approved");
      expect((await scene.stage.detail(action.id)).edited).toBe(true);
    },
  ),
  deed(
    "Approvals",
    "approve what hides characters, in a second step",
    { [BAR]: ["Approve anyway | Approve"], [PANE]: ["key y"] },
    async (scene) => {
      const { hand, button } = use(scene);
      const action = await scene.held("a\u202eb\n");
      await hand.press(button("Approve"), "a");
      await scene.see("Before you approve");
      expect((await scene.stage.detail(action.id)).status).toBe("pending");
      await hand.press(button("Approve anyway"), "y");
      await scene.becomes(action, "approved");
    },
  ),
  deed(
    "Approvals",
    "read to the end before approving",
    { [BAR]: ["Read on"], [PANE]: ["key space", "key shift+space"], "diff/diff": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const action = await scene.held(LONG);
      await hand.press(button("Approve"), "a");
      const end = page.getByText("You have seen everything");
      await hand.press(button("Read on"), "Space");
      // A mouse turns its wheel over the card.
      await until("the end was on the screen", async () => {
        if (hand.name === "keyboard") await page.keyboard.press("Space");
        else await turnWheel(scene);
        return await end.isVisible();
      });
      if (hand.name === "keyboard") await page.keyboard.press("Shift+Space");
      await hand.press(button("Approve"), "y");
      await scene.becomes(action, "approved");
    },
  ),
  deed(
    "Approvals",
    "type the name that a critical action needs",
    {
      [BAR]: ["<TypedField>"],
      "approvals/typed_field": ["typed-confirmation"],
      "approvals/edit_steps": ["<TypedField>"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const type_to_confirm = { approvals: { proof: "token", type_to_confirm: "critical" } };
      scene.stage.write("config.json", JSON.stringify(type_to_confirm), "home");
      const command = "terraform apply -auto-approve -var-file=prod.tfvars";
      const action = await scene.card(await scene.stage.submit("run_command", { command }));
      await hand.press(button("Edit"), "e");
      await hand.type(page.locator(".editor .cm-content"), "echo one; ");
      await hand.press(button("Review your change"), "Control+Enter");
      await hand.type(page.locator("#typed-confirmation"), "terraform");
      await hand.press(button("Back to the editor"), "Escape");
      await hand.press(button("Back"), "Escape");
      // The page keeps the typed text.
      await hand.press(button("Approve"), "a");
      await page.locator("#typed-confirmation").waitFor();
      await hand.press(button("Approve anyway"), "Enter");
      await scene.becomes(action, "approved");
      const token = { approvals: { proof: "token" } };
      scene.stage.write("config.json", JSON.stringify(token), "home");
    },
  ),
  deed(
    "Approvals",
    "mark two and approve them together",
    {
      [BAR]: ["Mark"],
      [PANE]: ["key x"],
      [HEAD]: ["Decide on … marked"],
      [PAGE]: ["key shift+a", "key j"],
      "approvals/marked_dialog": ["Approve …"],
      "approvals/queue": ["…"],
    },
    async (scene) => {
      const { hand, button } = use(scene);
      const both = await markTwo(scene);
      await hand.press(button("Decide on 2 marked"), "Shift+A");
      await hand.press(button("Approve 2 actions"));
      for (const action of both) await scene.becomes(action, "approved");
    },
  ),
  deed(
    "Approvals",
    "mark two and reject them together",
    { "approvals/marked_dialog": ["<textarea>", "Reject …", "Back | Close"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const both = await markTwo(scene);
      await hand.press(button("Decide on 2 marked"), "Shift+A");
      await hand.press(button("Back"), "Escape");
      await hand.press(button("Decide on 2 marked"), "Shift+A");
      await hand.type(page.getByRole("dialog").getByLabel("Reason"), "one at a time");
      await hand.press(button("Reject 2 actions"));
      for (const action of both) await scene.becomes(action, "rejected");
    },
  ),
  deed(
    "Approvals",
    "remember an approval, approve what matches, and revoke it",
    {
      [BAR]: ["Remember"],
      [PANE]: ["key m"],
      "approvals/remember_dialog": [
        ...["offer", "<Segmented>", "Custom pattern", "Preview", "key mod+enter"],
      ],
      "approvals/dialog_foot": ["…", "Back"],
      "approvals/matching_dialog": ["Approve …", "key mod+enter"],
      [HEAD]: ["Remembered"],
      [PAGE]: ["key shift+m"],
      "approvals/grants_dialog": ["Revoke"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const tag = scene.name("tag");
      const [one, two] = [await publish(scene, `${tag}-1`), await publish(scene, `${tag}-2`)];
      await scene.card(one);
      await hand.press(button("Remember"), "m");
      await hand.press(page.locator(".dialog .button", { hasText: "Back" }), "Escape");
      await scene.ready();
      await hand.press(button("Remember"), "m");
      await hand.check(page.getByRole("radio", { name: "npm publish --tag *" }));
      await hand.press(button("The whole project"));
      await hand.type(page.getByLabel("Custom pattern"), `npm publish --tag ${tag}-*`);
      await hand.press(button("Preview"));
      await page.getByRole("radio", { name: `npm publish --tag ${tag}-*` }).waitFor();
      await hand.press(button("Approve and remember"), "Control+Enter");
      await page.getByRole("dialog").getByText("1 held action matches").waitFor();
      await hand.press(button("Approve 1 action"), "Control+Enter");
      for (const action of [one, two]) await scene.becomes(action, "approved");
      await page.locator("dialog").waitFor({ state: "detached" });
      await hand.press(button("Remembered"), "Shift+M");
      await hand.press(button("Revoke"));
      const live = "/api/grants?project=my-app&state=live";
      await until("nothing is remembered", async () => {
        const { items } = await scene.stage.api("GET", live);
        return items.length === 0;
      });
    },
  ),
  deed(
    "Approvals",
    "leave what matches in the queue",
    { "approvals/matching_dialog": ["Close | Leave them in the queue"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const tag = scene.name("tag");
      const [one, two] = [await publish(scene, `${tag}-1`), await publish(scene, `${tag}-2`)];
      await scene.card(one);
      await hand.press(button("Remember"), "m");
      await hand.check(page.getByRole("radio", { name: "npm publish --tag *" }));
      await hand.press(button("Approve and remember"), "Control+Enter");
      await hand.press(button("Leave them in the queue"), "Escape");
      await scene.becomes(one, "approved");
      expect((await scene.stage.detail(two.id)).status).toBe("pending");
      const { items } = await scene.stage.api("GET", "/api/grants?project=my-app&state=live");
      for (const { id } of items) {
        await scene.stage.api("DELETE", `/api/grants/${id}?project=my-app`);
      }
    },
  ),
  deed(
    "Approvals",
    "snooze for each span, and bring it back",
    {
      [BAR]: ["Bring back | Snooze"],
      [PANE]: ["key z"],
      "approvals/snooze_step": ["key 1", "key 2", "key 3", "key 4", "…", "Back"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const first = await scene.held();
      await scene.stage.hold(`${scene.name()}.ts`, "two\n");
      await hand.press(button("Snooze"), "z");
      await hand.press(button("Back"), "Escape");
      await scene.ready();
      const spans = ["15 minutes", "1 hour", "8 hours", "Until it changes"];
      for (const [at, span] of spans.entries()) {
        await hand.press(button("Snooze"), "z");
        await hand.press(button(span), String(at + 1));
        await page.locator(".queue-row").last().filter({ hasText: first.path! }).waitFor();
        // Snoozing decides nothing.
        expect((await scene.stage.detail(first.id)).status).toBe("pending");
        await scene.card(first);
        await hand.press(button("Bring back"), "z");
        await button("Snooze").waitFor();
      }
    },
  ),
  deed(
    "Approvals",
    "roll back what was just approved",
    { [PAGE]: ["key u"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const action = await scene.held();
      await hand.press(button("Approve"), "a");
      await hand.press(button("Roll back", page.locator(".toast")), "u");
      await scene.becomes(action, "rolled_back");
    },
  ),
  deed(
    "Approvals",
    "filter, and show what the filter leaves out",
    {
      [HEAD]: ["Filter by path, command, agent"],
      [PAGE]: ["key /", "Show it in the list"],
      "approvals/queue": ["Show all"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const action = await scene.held();
      await hand.type(page.getByPlaceholder("Filter by path, command"), "no such path", "/");
      await scene.see("No held action matches");
      await hand.press(button("Show all"));
      await scene.address("q", null);
      await scene.open(`/approvals?project=my-app&id=${action.id}&q=other`);
      await hand.press(button("Show it in the list"));
      await page.locator(".queue-row", { hasText: action.path! }).waitFor();
      expect((await scene.stage.detail(action.id)).status).toBe("pending");
    },
  ),
  deed(
    "Approvals",
    "sort, group, choose the projects, and sort what came later",
    {
      [HEAD]: ["Order", "By session", "Projects", "Sort the new ones"],
      [PAGE]: ["key ."],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await scene.held();
      await hand.press(button("All projects", page.locator(".queue-head")));
      await scene.address("scope", "all");
      await hand.press(button("By session"));
      await scene.address("group", "session");
      await hand.press(button("By session"));
      await hand.press(button("Riskiest"));
      await scene.address("sort", "risk");
      const path = ".github/workflows/ci.yml";
      await scene.stage.submit("write_file", { path, content: "on: push\n" });
      await hand.press(button("Sort the new ones"), ".");
      await page.locator(".queue-row").first().filter({ hasText: "ci.yml" }).waitFor();
    },
  ),
  deed(
    "Approvals",
    "go through the queue",
    { [PAGE]: ["key j", "key k", "key arrowdown", "key arrowup"], "approvals/queue": ["…"] },
    async (scene) => {
      const { hand, page } = use(scene);
      const first = await scene.held();
      const next = await scene.stage.hold(`${scene.name()}.ts`, "two\n");
      const row = (path: string) => page.locator(".queue-row", { hasText: path });
      for (const [down, up] of [["j", "k"], ["ArrowDown", "ArrowUp"]] as const) {
        await hand.press(row(next.path!), down);
        await scene.address("id", next.id);
        await hand.press(row(first.path!), up);
        await scene.address("id", first.id);
      }
    },
  ),
  deed(
    "Approvals",
    "look at the diff in another way, and open folded lines",
    {
      "diff/files": ["Diff view", "Skip blanks"],
      [PANE]: ["key d"],
      "diff/diff": ["Show …"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const path = `src/${scene.name()}.ts`;
      scene.stage.write(path, LONG);
      const edits = [{ old_text: "line 200\n", new_text: "  line 200\n" }];
      await scene.card(await scene.stage.submit("edit_file", { path, edits }));
      await hand.press(button("Split"), "d");
      await scene.address("view", "split");
      await hand.press(button("Unified"), "d");
      await hand.press(page.locator(".fold-button").first());
      await hand.press(button("Skip blanks"));
      await scene.address("blanks", "skipped");
    },
  ),
  deed(
    "Approvals",
    "comment on lines and send the comments with a rejection",
    {
      "diff/files": ["Comment"],
      "diff/notes": ["…-line", "<input>", "…-text", "Add the comment", "Back", "Remove"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const action = await scene.held("one\ntwo\n");
      const file = scene.region("Changes");
      await hand.press(button("Comment"));
      await hand.press(button("Back", file), "Escape");
      await file.getByLabel("Comment for the agent").waitFor({ state: "detached" });
      for (const text of ["wrong", "why two?"]) {
        await hand.press(button("Comment"));
        await hand.type(file.getByLabel("Line", { exact: true }), "2");
        await hand.type(file.getByLabel("Comment for the agent"), text);
        await hand.press(button("Add the comment"), "Enter");
        await file.getByRole("listitem").filter({ hasText: text }).waitFor();
      }
      await hand.press(button("Remove", file));
      await hand.press(button("Reject"), "r");
      await scene.see("Sends 1 comment on lines too");
      await hand.press(page.locator(".decision button[type=submit]"), "Enter");
      await scene.becomes(action, "rejected");
      expect((await scene.stage.detail(action.id)).reason).toContain(':2 ("two"): why two?');
    },
  ),
  deed(
    "Approvals",
    "settle a comment on an earlier version and answer another",
    { "diff/earlier_comments": ["Answer", "Settled | Settle"] },
    async (scene) => {
      const { hand, button } = use(scene);
      const path = `src/${scene.name()}.ts`;
      const write = (content: string) => scene.stage.submit("write_file", { path, content });
      const { id, project_id } = await write("one\ntwo\n");
      const comments = [1, 2].map((line) => ({ path, line, text: `not ${line}` }));
      await scene.stage.api("POST", `/api/actions/${id}/reject?project=${project_id}`, {
        comments,
      });
      const next = await write("one\ntwo\nthree\n");
      await scene.card(next);
      const earlier = scene.region("Earlier comments");
      await hand.press(button("Settle", earlier));
      await earlier.getByRole("button", { name: "Settled" }).waitFor();
      const second = earlier.getByRole("listitem").filter({ hasText: "not 2" }).first();
      await hand.press(button("Answer", second));
      await hand.type(scene.page.getByLabel("Answer to the earlier comment"), "still not");
      await hand.press(button("Add the comment"), "Enter");
      await hand.press(button("Reject"), "r");
      await scene.see("Settles 1 comment");
      await hand.press(scene.page.locator(".decision button[type=submit]"), "Enter");
      await scene.becomes(next, "rejected");
      expect((await scene.stage.detail(next.id)).reason).toContain('("two"), again: still not');
    },
  ),
  deed(
    "Approvals",
    "open the record",
    { [BAR]: ["Record"], [PANE]: ["key o", "key enter"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      for (const key of ["o", "Enter"]) {
        const action = await scene.held();
        await hand.press(button("Record"), key);
        await page.waitForURL(new RegExp(`/actions/${action.id}`));
      }
    },
  ),
];

function publish(scene: Scene, tag: string) {
  return scene.stage.submit("run_command", { command: `npm publish --tag ${tag}` });
}

async function turnWheel({ page }: Scene): Promise<void> {
  await page.locator(".card").hover();
  await page.mouse.wheel(0, 600);
}

/** Holds two writes and marks both. */
async function markTwo(scene: Scene) {
  const { hand, button, page } = use(scene);
  const first = await scene.held();
  const second = await scene.stage.hold(`${scene.name()}.ts`, "two\n");
  await hand.press(button("Mark"), "x");
  await hand.press(page.locator(".queue-row", { hasText: second.path! }), "j");
  await scene.address("id", second.id);
  await scene.ready();
  await hand.press(button("Mark"), "x");
  return [first, second];
}
