import type { Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { headline, Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(["my-app", "shop"]);
});
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const boxOf = async (locator: Locator) => (await locator.boundingBox())!;

/** The distance from the end of one element to the start of the next one below it. */
async function gap(above: Locator, below: Locator): Promise<number> {
  await below.waitFor();
  const [first, second] = [await boxOf(above), await boxOf(below)];
  return second.y - first.y - first.height;
}

test.each([[1440, 100], [1024, 100], [390, 100]])(
  "at %i px the decision bar of a card is at most %i px high, and shows every button whole",
  async (width, most) => {
    await stage.hold("bar.ts", "x\n");
    await stage.page("/approvals", { width });
    const { items } = await stage.api("GET", "/api/actions?project=my-app&status=pending");
    const page = await stage.page(`/approvals?project=my-app&id=${items[0].id}`, { width });
    await headline(page, "src/bar.ts");
    const bar = page.locator(".decision");
    expect((await boxOf(bar)).height).toBeLessThanOrEqual(most);
    for (const name of ["Approve", "Reject", "Edit", "Remember", "Mark", "Snooze", "Record"]) {
      const button = await boxOf(bar.getByRole("button", { name: new RegExp(`^${name}`) }));
      expect(button.x + button.width, name).toBeLessThanOrEqual(width);
    }
    await bar.getByText("You are approving exactly what is shown").waitFor();
    await bar.getByText(/digest [0-9a-f]{4}/).waitFor();
  },
);

test.each([1440, 390])(
  "at %i px a project without held actions says so while another has some",
  async (width) => {
    await stage.hold("there.ts", "x\n");
    await stage.submit("write_file", { path: "free/a.md", content: "x\n" }, { project: "shop" });
    const page = await stage.page("/approvals?project=shop", { width });
    await page.getByRole("heading", { name: "No action is held" }).waitFor();
    await page.getByRole("button", { name: "All projects" }).click();
    await page.locator(".queue-row").waitFor();
    expect(await page.getByRole("heading", { name: "No action is held" }).count()).toBe(0);
  },
);

test.each(["light", "dark"] as const)(
  "the chosen one of several options has an outline that is seen, in %s",
  async (scheme) => {
    await stage.hold("remember.ts", "x\n");
    const page = await stage.page("/approvals", { scheme });
    await headline(page, "src/remember.ts");
    await page.keyboard.press("m");
    const chosen = page.getByRole("dialog").locator(".segmented [aria-pressed=true]").first();
    await chosen.waitFor();
    const contrast = await chosen.evaluate((button) => {
      const pixel = (colour: string) => {
        const canvas = new OffscreenCanvas(1, 1).getContext("2d")!;
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      const light = (colour: string) => {
        const [r, g, b] = pixel(colour).map((part) => {
          const share = part / 255;
          return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
      };
      const outline = getComputedStyle(button).boxShadow.replace(/\) .*/, ")");
      const ground = getComputedStyle(button).backgroundColor;
      const [low, high] = [light(outline), light(ground)].sort((a, b) => a - b);
      return (high! + 0.05) / (low! + 0.05);
    });
    expect(contrast).toBeGreaterThanOrEqual(2.9);
  },
);

test("no heading, text or button of a room touches the next one", async () => {
  const page = await stage.page("/audit");
  const text = page.getByText("A check recomputes the hash");
  expect(await gap(text, page.getByRole("list", { name: "Chains" }))).toBeGreaterThanOrEqual(8);
  await page.setViewportSize({ width: 1024, height: 900 });
  await page.goto(`${stage.gate.url}/audit?project=shop`);
  const verify = page.getByRole("button", { name: "Verify now" });
  await verify.waitFor();
  const sign = page.getByRole("button", { name: "Sign the head" });
  expect((await boxOf(sign)).y).toBe((await boxOf(verify)).y);
  await page.goto(`${stage.gate.url}/team`);
  const form = page.getByRole("form", { name: "Test the routes" });
  const send = form.getByRole("button", { name: "Test the routes" });
  expect(await gap(form.locator(".choice"), send)).toBeGreaterThanOrEqual(8);
  await page.goto(`${stage.gate.url}/remediation?project=my-app`);
  const title = page.getByRole("heading", { name: "Remediation" });
  const part = page.getByRole("heading", { name: /^Blocks/ });
  expect(await gap(title, part)).toBeLessThan(32);
});

test.each(["remediation", "analytics", "policy?project=my-app", "agents"])(
  "at 390 px /%s has its name whole in the bar, and no choice or button breaks or leaves its place",
  async (path) => {
    const page = await stage.page(`/${path}`, { width: 390 });
    await page.locator("main h1").waitFor();
    if (path.startsWith("policy")) {
      await page.getByRole("button", { name: "Run a command" }).waitFor();
    }
    const cut = await page.evaluate(() => {
      const texts = ".nav a[aria-current] span, .segmented button, .room-row .button";
      return [...document.querySelectorAll<HTMLElement>(texts)]
        .filter((one) =>
          one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().height > 36 ||
          one.getBoundingClientRect().right > innerWidth
        )
        .map(({ textContent }) => textContent);
    });
    expect(cut).toEqual([]);
    // Rows of choices are filled, so that no single one hangs below the others by chance.
    const rows = await page.locator(".segmented").evaluateAll((all) =>
      all.map((one) =>
        getComputedStyle(one).flexWrap === "wrap" && getComputedStyle(one).display !== "grid" &&
        one.clientHeight > 34
      )
    );
    expect(rows).not.toContain(true);
  },
);
