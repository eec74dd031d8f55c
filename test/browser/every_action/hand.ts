import type { Locator, Page } from "playwright-core";
import { until } from "../stage.ts";

/** How a person acts: with the keyboard alone, or with the mouse alone where no text is typed. */
export interface Hand {
  name: "keyboard" | "mouse";
  /** Uses a control: by its key, or by Tab and Enter; with a click. */
  press: (control: Locator, key?: string) => Promise<void>;
  /** Turns a box or chooses an option of a radio group. */
  check: (box: Locator) => Promise<void>;
  /** Replaces the text of a field; `key` leads to it. */
  type: (field: Locator, text: string, key?: string) => Promise<void>;
  /** Moves a slider. */
  slide: (slider: Locator) => Promise<void>;
  /** Chooses an option of a list by its words. */
  choose: (list: Locator, option: string) => Promise<void>;
}

/** More presses of Tab than any page has stops. */
const MOST_STOPS = 400;

/** Presses keys only. */
export function keyboardOf(page: Page): Hand {
  const reach = async (control: Locator) => {
    await control.waitFor();
    for (let stops = 0; stops < MOST_STOPS; stops++) {
      if (await isFocused(control)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not reach ${control}`);
  };
  return {
    name: "keyboard",
    press: async (control, key) => {
      await control.waitFor();
      await until(`${control} can be used`, () => control.isEnabled());
      if (key === undefined) await reach(control);
      await strike(page, key ?? "Enter");
    },
    check: async (box) => {
      if (await box.getAttribute("type") === "radio") {
        await reach(box.page().locator(":is(input[type=radio]:checked, input[type=radio]:focus)"));
        for (let steps = 0; steps < 20 && !await box.isChecked(); steps++) {
          await page.keyboard.press("ArrowDown");
        }
      } else {
        await reach(box);
        await page.keyboard.press("Space");
      }
    },
    type: async (field, text, key) => {
      if (key !== undefined) await strike(page, key);
      if (key === undefined || !await isFocused(field)) await reach(field);
      await replaceText(page, text);
    },
    slide: async (slider) => {
      await reach(slider);
      await page.keyboard.press("ArrowRight");
    },
    choose: async (list, option) => {
      await reach(list);
      const shown = () =>
        list.evaluate((element) => {
          const { selectedOptions, options } = element as HTMLSelectElement;
          return { now: selectedOptions[0]?.text, all: [...options].map(({ text }) => text) };
        });
      const { now, all } = await shown();
      const steps = all.indexOf(option) - all.indexOf(now!);
      if (all.indexOf(option) < 0) throw new Error(`"${option}" is none of ${all}`);
      const key = steps > 0 ? "ArrowDown" : "ArrowUp";
      for (let left = Math.abs(steps); left > 0; left--) await page.keyboard.press(key);
    },
  };
}

/** Clicks; only texts come from the keyboard. */
export function mouseOf(page: Page): Hand {
  return {
    name: "mouse",
    press: (control) => control.click(),
    check: (box) => box.click(),
    type: async (field, text) => {
      await field.click();
      await replaceText(page, text);
    },
    slide: (slider) => slider.click({ position: { x: 4, y: 4 } }),
    // The browser draws the open list outside of the page, where no test can click.
    choose: async (list, option) => void await list.selectOption({ label: option }),
  };
}

function isFocused(control: Locator): Promise<boolean> {
  return control.first().evaluate((element) =>
    (element.getRootNode() as Document | ShadowRoot).activeElement === element
  );
}

/** Presses a key, or the keys of a sequence one after the other. */
async function strike(page: Page, keys: string): Promise<void> {
  for (const key of keys.split(" ")) await page.keyboard.press(key);
}

async function replaceText(page: Page, text: string): Promise<void> {
  await page.keyboard.press("ControlOrMeta+a");
  if (text === "") await page.keyboard.press("Delete");
  else await page.keyboard.insertText(text);
}
