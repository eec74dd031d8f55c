import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { pngOf } from "../png.ts";
import { headline, Stage } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let stage: Stage;
beforeAll(async () => void (stage = await Stage.open()));
afterEach(async () => expect(await stage.clear()).toEqual([]));
afterAll(() => stage?.close());

const held = (path: string, content: Uint8Array) =>
  stage.submit("write_file", {
    path: `src/${path}`,
    content: Buffer.from(content).toString("base64"),
    encoding: "base64",
  });

test.each([["light", 1440], ["dark", 1024], ["light", 390]] as const)(
  "a changed image is shown side by side, over each other and as a difference, in %s at %i px",
  async (scheme, width) => {
    stage.write("src/logo.png", pngOf(64, 48, [30, 90, 200]));
    const { id } = await held("logo.png", pngOf(96, 48, [200, 60, 30]));
    const page = await stage.page(`/approvals?id=${id}`, { scheme, width });
    await headline(page, "src/logo.png");
    const file = page.getByRole("region", { name: "Changes", exact: true });
    await file.getByText("Now, 64 × 48, PNG").waitFor();
    await file.getByText("After, 96 × 48, PNG").waitFor();
    const widths = () =>
      file.locator("img").evaluateAll((all) =>
        all.map((one) => (one as HTMLImageElement).naturalWidth)
      );
    await expect.poll(widths).toEqual([64, 96]);
    if (process.env["GATE_SHOTS"]) {
      await file.screenshot({ path: `${process.env["GATE_SHOTS"]}/image-${scheme}-${width}.png` });
    }
    await file.getByRole("button", { name: "Overlay" }).click();
    const slider = file.getByRole("slider", { name: /Now on the left/ });
    await slider.press("Home");
    const cut = () =>
      file.locator(".images-overlay").evaluate((box) =>
        getComputedStyle(box).getPropertyValue("--cut")
      );
    await expect.poll(cut).toBe("0%");
    await slider.press("ArrowRight");
    await expect.poll(cut).toBe("1%");
    await file.getByRole("button", { name: "Difference" }).click();
    await file.getByText("Equal pixels are black.").waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
      // deno-lint-ignore no-explicit-any
      const { violations } = await (globalThis as any).axe.run(document);
      // deno-lint-ignore no-explicit-any
      return violations.map((one: any) => `${one.id}: ${one.nodes[0].html}`);
    });
    expect(found).toEqual([]);
  },
);

test("a new image has no side before it, and a script named image.png is not shown", async () => {
  const { id } = await held("new.png", pngOf(8, 8, [0, 120, 0]));
  const page = await stage.page(`/approvals?id=${id}`);
  const file = page.getByRole("region", { name: "Changes", exact: true });
  await file.getByText("After, 8 × 8, PNG").waitFor();
  expect(await file.getByText("Now, ").count()).toBe(0);
  expect(await file.getByRole("button", { name: "Overlay" }).count()).toBe(0);
  const script = Buffer.from('<svg onload="document.title=1"><script>document.title=1</script>\0');
  const fake = await held("image.png", script);
  await page.goto(`${stage.gate.url}/approvals?id=${fake.id}`);
  await file.getByText("the file is no PNG, JPEG, GIF or WebP").waitFor();
  expect(await file.locator("img").count()).toBe(0);
  expect(await page.title()).not.toBe("1");
});
