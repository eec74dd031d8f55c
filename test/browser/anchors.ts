/** Photographs the points of the comparison in `.github/decisions/dashboard.md`, for a reader of it. */
import { Buffer } from "node:buffer";
import { mkdirSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { pngOf } from "../png.ts";
import { headline, settled, Stage } from "./stage.ts";

const PICTURES = fileURLToPath(new URL("../../.github/images/anchors/", import.meta.url));
const SIZE = { width: 1280, height: 800 };
/** Without the sidebar, which is the same everywhere. */
const ROOM = { x: 232, y: 0, width: 1048, height: 800 };
const DAY_MS = 86_400_000;

const CODE = `import { rate } from "./rates.ts";

/** The price with tax. */
export function total(orders: Order[]): number {
  let sum = 0;
  for (const order of orders) sum += order.price;
  return sum * rate;
}
`;
const EDITED = CODE.replace("sum += order.price", "sum += order.price * order.amount")
  .replace("return sum * rate;", "return Math.round(sum * rate);")
  .replace("let sum", "  let sum");

const stage = await Stage.open(["my-app"]);
try {
  mkdirSync(PICTURES, { recursive: true });
  await fill();
  await diffs();
  await queue();
  await rooms();
} finally {
  await stage.close();
}
process.exit(0);

async function take(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${PICTURES}${name}.png`, clip: ROOM });
  console.log(name);
}

async function open(path: string): Promise<Page> {
  await stage.closePages();
  return await stage.page(path, SIZE);
}

/** Some days of decisions, for the charts and for the context of a card. */
async function fill(): Promise<void> {
  for (const days of [6, 5, 3, 2, 1, 0]) {
    stage.clock.ahead_ms = -days * DAY_MS;
    await stage.submit("write_file", { path: `free/note-${days}.md`, content: "x" });
    if (days % 2 === 1) await stage.submit("write_file", { path: ".env", content: `K=${days}` });
    const { id } = await stage.hold("total.ts", `${CODE}// ${days}\n`);
    stage.clock.ahead_ms += 60_000 * (days + 1);
    await stage.api("POST", `/api/actions/${id}/${days === 3 ? "reject" : "approve"}`, {});
  }
  stage.clock.ahead_ms = 0;
}

async function diffs(): Promise<void> {
  const hidden = await stage.hold("pay.ts", 'const pаypal = "x"; // \u202e\n');
  let page = await open(`/approvals?id=${hidden.id}`);
  await headline(page, "pay.ts");
  await page.locator(".diff .chip-hidden").waitFor();
  await settled(page);
  await page.keyboard.press("a");
  await page.getByText("Before you approve").waitFor();
  await take(page, "01-hidden-characters");
  stage.write("src/total.ts", CODE);
  const edited = await stage.hold("total.ts", EDITED);
  page = await open(`/approvals?id=${edited.id}`);
  await page.locator(".diff .code-keyword").first().waitFor();
  await take(page, "02-counts-and-colours");
  await page.getByRole("button", { name: "Split" }).click();
  await page.getByRole("button", { name: "Skip blanks" }).click();
  await page.locator(".diff-split .code-keyword").first().waitFor();
  await take(page, "05-skip-blanks");
  const file = page.getByRole("region", { name: "Changes", exact: true });
  await page.getByRole("button", { name: "Unified" }).click();
  await file.locator("tr.line-add").first().locator("td.line-number").nth(1).click();
  await page.keyboard.type("Amounts may be negative here.");
  const comments = [{ path: "src/total.ts", line: 7, side: "after", text: "Which rate?" }];
  await stage.api("POST", `/api/actions/${edited.id}/reject`, { comments });
  const again = await stage.hold("total.ts", EDITED.replace("sum * rate", "sum * rate.now"));
  page = await open(`/approvals?id=${again.id}`);
  await page.getByRole("region", { name: "Earlier comments" }).scrollIntoViewIfNeeded();
  await page.getByText("Which rate?", { exact: true }).waitFor();
  await take(page, "06-comments");
  stage.write("src/logo.png", pngOf(160, 96, [30, 90, 200]));
  const image = await stage.submit("write_file", {
    path: "src/logo.png",
    content: Buffer.from(pngOf(160, 96, [200, 60, 30])).toString("base64"),
    encoding: "base64",
  });
  page = await open(`/approvals?id=${image.id}`);
  await page.getByRole("button", { name: "Overlay" }).click();
  await page.getByRole("slider").waitFor();
  await take(page, "07-images");
}

async function queue(): Promise<void> {
  const undone = await stage.hold("undone.ts", "1\n");
  let page = await open(`/approvals?id=${undone.id}`);
  await headline(page, "undone.ts");
  await take(page, "09-keys-and-digest");
  await settled(page);
  await page.keyboard.press("a");
  await page.locator(".toast").waitFor();
  await take(page, "10-undo");
  for (const name of ["one.ts", "two.ts", "three.ts"]) await stage.hold(name, "1\n");
  page = await open("/approvals");
  await page.locator(".queue-row").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.locator("dialog input").waitFor();
  await page.keyboard.type("total");
  await page.getByRole("option", { name: /approved$/ }).first().waitFor();
  await take(page, "11-palette");
  page = await open("/approvals?sort=risk");
  await page.locator(".queue-row", { hasText: "three.ts" }).waitFor();
  await stage.submit("write_file", { path: ".github/workflows/ci.yml", content: "on: push\n" });
  await page.getByRole("button", { name: "Sort the new ones" }).waitFor();
  await take(page, "13-calm");
  for (let left = 3; left > 0; left--) {
    await settled(page);
    await page.keyboard.press("x");
    await page.keyboard.press("j");
  }
  await page.keyboard.press("Shift+A");
  await page.locator("dialog").waitFor();
  await take(page, "12-together");
}

async function rooms(): Promise<void> {
  const next = await stage.hold("total.ts", `${CODE}// next\n`);
  let page = await open(`/approvals?id=${next.id}`);
  await page.locator(".context").scrollIntoViewIfNeeded();
  await take(page, "15-context");
  page = await open(`/actions/${next.id}`);
  await page.locator(".timeline").waitFor();
  await page.locator(".timeline").scrollIntoViewIfNeeded();
  await take(page, "16-timeline");
  page = await open(`/sessions/${next.session_id}`);
  await page.locator(".file-tree").waitFor();
  await page.keyboard.press("v");
  await page.getByText(/1 of \d+ viewed/).waitFor();
  await take(page, "04-tree-and-viewed");
  page = await open("/team");
  await page.getByRole("heading", { name: /Routes|Members/ }).first().waitFor();
  await take(page, "17-team");
  page = await open("/analytics");
  await page.getByRole("heading", { name: "Decisions over time" }).waitFor();
  await take(page, "18-charts");
  await page.getByText("Show the numbers").click();
  await take(page, "20-charts-as-tables");
  page = await open("/analytics?window=1h");
  await page.getByText("Each column is 1 minute").waitFor();
  await take(page, "19-time");
  page = await open("/approvals");
  await settled(page);
  await stage.gate.close();
  await page.getByText("does not answer").first().waitFor();
  await take(page, "14-without-daemon");
}
