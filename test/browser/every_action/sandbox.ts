import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { connect } from "../../server/sandbox/agent.ts";
import { until } from "../stage.ts";
import { type Deed, deed, type Scene, use } from "./deed.ts";

const PROJECT = "walled";
const LEAVES = { outside_sandbox: true, reason: "it needs the registry" };

/** The deeds of a person with the sandbox of the machine. */
export const SANDBOX: Deed[] = [
  deed(
    "Approvals",
    "open a wall for one run, and type the program's name",
    {
      "approvals/decision_bar": ["Open a wall"],
      "approvals/review_pane": ["key w"],
      "approvals/wall_dialog": ["<input>", "<TypedField>", "key mod+enter"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const config = (approvals: object) =>
        scene.stage.write("config.json", JSON.stringify({ approvals }), "home");
      const tag = scene.name();
      const command = `npm publish --tag ${tag} --registry https://registry.test`;
      const { id } = await holdOutside(scene, command);
      config({ proof: "token", type_to_confirm: "high" });
      try {
        await scene.open(`/approvals?project=${PROJECT}&id=${id}`);
        await scene.ready();
        await hand.press(button("Open a wall"), "w");
        const dialog = page.getByRole("dialog");
        await hand.check(dialog.getByRole("checkbox", { name: "the host registry.test" }));
        await hand.type(dialog.getByLabel(/^Type .* to approve/), "npm");
        await hand.press(button("Approve in sandbox", dialog), "Control+Enter");
        await until("a wall is open", async () => (await openedBy(scene, id)) !== undefined);
        expect(await openedBy(scene, id)).toMatchObject({ for: "once" });
      } finally {
        config({ proof: "token" });
      }
    },
  ),
  deed(
    "Approvals",
    "name a wall and open it for the session; close it in Settings",
    {
      "approvals/wall_dialog": ["…", "registry.example | ~/data", "Add", "Open for"],
      "settings/sandbox_settings": ["Close"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const { id } = await holdOutside(scene, `npm publish --tag ${scene.name()}`);
      await scene.open(`/approvals?project=${PROJECT}&id=${id}`);
      await scene.ready();
      await hand.press(button("Open a wall"), "w");
      const dialog = page.getByRole("dialog");
      await hand.choose(dialog.getByLabel("Kind of wall"), "Write in the folder");
      await hand.choose(dialog.getByLabel("Kind of wall"), "Reach the host");
      await hand.type(dialog.getByLabel("Host, folder or file"), "mirror.test:8443");
      await hand.press(button("Add", dialog), "Enter");
      await dialog.getByRole("checkbox", { name: "the host mirror.test:8443" }).waitFor();
      await hand.press(button("This session", dialog));
      await hand.press(button("Approve in sandbox", dialog), "Control+Enter");
      await until("a wall is open", async () => (await openedBy(scene, id)) !== undefined);
      await scene.open(`/settings?project=${PROJECT}`);
      const part = scene.region("Sandbox");
      await part.getByText("the host mirror.test:8443").waitFor();
      await hand.press(button("Close", part));
      await part.getByText("Nobody has opened a wall").waitFor();
      const { openings } = await scene.stage.api("GET", `/api/sandbox?project=${PROJECT}`);
      expect(openings).toEqual([]);
    },
  ),
  deed(
    "Approvals",
    "take over a part of what a command changed on a copy",
    { "approvals/take_part": ["Takes over all … | Takes over … of …", "<input>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const project = "reviewed";
      const [a, b, c] = [0, 1, 2].map(() => `src/${scene.name()}.txt`);
      for (const name of [a, b]) scene.stage.write(name!, `${name}\n`, project);
      const run = await connect(scene.stage.agentOf(project));
      const command = `cp ${a} ${b} && cp ${a} ${c}`;
      const { held_changes } = await run(command, { wait_ms: 25_000 });
      const { action_id: id } = held_changes as { action_id: string };
      await scene.open(`/approvals?project=${project}&id=${id}`);
      await hand.press(page.locator("summary", { hasText: "Takes over all 2 files" }));
      await hand.check(page.getByLabel(b!));
      await scene.see("Takes over 1 of 2 files");
      await scene.ready();
      await hand.press(button("Approve"), "a");
      await scene.executed({ id });
      const read = (name: string) => readFileSync(join(scene.stage.folder, project, name), "utf8");
      expect([read(b!), read(c!)]).toEqual([`${b}\n`, `${a}\n`]);
    },
  ),
];

/** A command that an agent wants to run outside of the sandbox. */
async function holdOutside(scene: Scene, command: string) {
  return await scene.stage.submit("run_command", { command, ...LEAVES }, { project: PROJECT });
}

async function openedBy(scene: Scene, id: string): Promise<unknown> {
  const { timeline } = await scene.stage.detail(id);
  return timeline.find(({ type }) => type === "wall.opened")?.data;
}
