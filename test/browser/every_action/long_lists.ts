import { until } from "../stage.ts";
import { type Deed, deed, use } from "./deed.ts";

/** More projects than the page lists at first. */
const MANY_PROJECTS = 101;

/** The deeds of a person on lists and exports that do not fit on the page. */
export const LONG_LISTS: Deed[] = [
  deed(
    "Policy",
    "see a rule that only may match, and suggestions that were turned down",
    {
      "policy/tester": ["… may match: a part of the action is not known"],
      "policy/suggestions": ["… turned down"],
    },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const input = encodeURIComponent('cat "$FILE"');
      await scene.open(`/policy?project=my-app&input=${input}`);
      await hand.press(page.locator("summary", { hasText: "may match: a part of the action" }));
      await page.locator("details[open] .policy-matched").first().waitFor();
      // A project of its own: the suggestions are learned from all of a project's decisions.
      const project = scene.name("history");
      await scene.stage.addProject(project);
      for (let n = 0; n < 12; n++) {
        const input = { path: `drafts/n${n}.md`, content: "n\n" };
        const { id } = await scene.stage.submit("write_file", input, { project });
        const verb = n === 7 ? "reject" : "approve";
        await scene.stage.api("POST", `/api/actions/${id}/${verb}?project=${project}`, {});
      }
      await scene.open(`/policy?project=${project}`);
      await hand.press(button("Suggest rules"));
      await hand.press(page.locator("summary", { hasText: "turned down" }));
      await scene.see(/actions that nobody approved/);
    },
  ),
  deed(
    "Audit",
    "stop an export",
    { "audit/exports": ["Stop"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      await scene.open("/audit?project=my-app");
      let go = () => {};
      const gone = new Promise<void>((resolve) => go = resolve);
      await page.route("**/api/audit/export*", async (route) => {
        await gone;
        await route.abort();
      });
      await hand.press(button("Export CSV"));
      await hand.press(button("Stop"));
      go();
      await button("Export CSV").waitFor();
      await page.unroute("**/api/audit/export*");
    },
  ),
  deed(
    "Sessions",
    "show more of a session's changes",
    { "sessions/session_files": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      const agent = scene.name("busy");
      let session = "";
      for (let n = 0; n < 21; n++) {
        const input = { path: `free/${agent}/${n}.txt`, content: "x\n" };
        session = (await scene.stage.submit("write_file", input, { agent })).session_id;
      }
      await scene.open(`/sessions/${session}?project=my-app`);
      const files = page.locator("section.file");
      await until("the first files are shown", async () => await files.count() === 20);
      await hand.press(button("Show the next 1"));
      await until("all files are shown", async () => await files.count() === 21);
    },
  ),
  deed(
    "Projects",
    "show more projects",
    { "projects/project_list": ["<More>"] },
    async (scene) => {
      const { hand, button, page } = use(scene);
      // To register as many projects would take half a minute.
      await page.route("**/api/daemon/status", async (route) => {
        const response = await route.fetch();
        const status = await response.json();
        const projects = Array.from({ length: MANY_PROJECTS }, (_, at) => ({
          ...status.projects[0],
          ...{ id: `many-${at}`, name: `many-${at}` },
        }));
        await route.fulfill({ response, json: { ...status, projects } });
      });
      await scene.open("/projects");
      const rows = page.locator(".room-list > .project");
      await until("the first projects are listed", async () => await rows.count() === 100);
      const more = button("Show the next 1");
      if (hand.name === "keyboard") {
        for (let at = 0; at < 100; at++) await page.keyboard.press("j");
      }
      await hand.press(more);
      await until("all are listed", async () => await rows.count() === MANY_PROJECTS);
      await page.unrouteAll({ behavior: "ignoreErrors" });
    },
  ),
];
