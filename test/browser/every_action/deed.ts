import type { Locator, Page } from "playwright-core";
import type { Action } from "../../../server/actions/schema.ts";
import { type Stage, until } from "../stage.ts";
import type { Hand } from "./hand.ts";

/** One row of the table: what a person does on a page, with which controls, and what is true then. */
export interface Deed {
  page: string;
  action: string;
  /** The controls and keys that it uses, as `listControls()` names them. */
  uses: string[];
  /** Does it with the hand; expects the outcome, in the API where the daemon keeps it. */
  run: (scene: Scene) => Promise<void>;
}

/** A row of the table; `file` is the folder and file of the controls that name none. */
export function deed(
  page: string,
  action: string,
  uses: Record<string, string[]>,
  run: Deed["run"],
): Deed {
  const named = Object.entries(uses).flatMap(([file, names]) =>
    names.map((name) => `${file}: ${name}`)
  );
  return { page, action, uses: named, run };
}

/** The page, the daemon behind it, and the hand that acts. */
export class Scene {
  readonly stage: Stage;
  readonly page: Page;
  readonly hand: Hand;
  #made = 0;

  constructor(stage: Stage, page: Page, hand: Hand) {
    this.stage = stage;
    this.page = page;
    this.hand = hand;
  }

  /** A name that nothing else of this run has. */
  name(word = "file"): string {
    return `${word}-${this.hand.name}-${++this.#made}`;
  }

  async open(path: string): Promise<void> {
    await this.page.goto(this.stage.gate.url + path);
    await this.page.locator("h1").first().waitFor({ state: "attached" });
  }

  /** Opens the card of a held action and waits until it accepts a decision. */
  async card(action: Action, more = ""): Promise<Action> {
    await this.open(`/approvals?project=my-app&id=${action.id}${more}`);
    await this.ready();
    return action;
  }

  async ready(): Promise<void> {
    await this.page.locator(".decision .button-primary:not([aria-disabled])").waitFor();
  }

  /** Holds a write of one line and opens its card. */
  async held(content = "one\n"): Promise<Action> {
    return await this.card(await this.stage.hold(`${this.name()}.ts`, content));
  }

  /** Rejects the action of the open card, by its keys or buttons. */
  async reject(action: Pick<Action, "id">): Promise<void> {
    await this.hand.press(this.button("Reject"), "r");
    await this.hand.press(this.page.locator(".decision button[type=submit]"), "Enter");
    await this.becomes(action, "rejected");
  }

  button(name: string | RegExp, within: Page | Locator = this.page): Locator {
    return within.getByRole("button", typeof name === "string" ? { name, exact: true } : { name })
      .first();
  }

  region(name: string): Locator {
    return this.page.getByRole("region", { name, exact: true });
  }

  /** Waits until the daemon has this status for the action. */
  async becomes(action: Pick<Action, "id">, status: Action["status"]): Promise<void> {
    await until(
      `the action is ${status}`,
      async () => (await this.stage.detail(action.id)).status === status,
    );
  }

  /** Waits until the approved action is executed. */
  async executed({ id }: Pick<Action, "id">): Promise<void> {
    await until("the action is executed", async () => {
      const { status, execution } = await this.stage.detail(id);
      return status === "approved" && execution === "succeeded";
    });
  }

  /** Waits until the address has this parameter; null means that it has none. */
  async address(name: string, value: string | null): Promise<void> {
    await until(
      `the address has ${name}=${value}`,
      () => new URL(this.page.url()).searchParams.get(name) === value,
    );
  }

  /** Waits until a person sees the text. */
  async see(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }
}

/** The parts of a scene that nearly every deed uses. */
export function use(scene: Scene) {
  return { hand: scene.hand, page: scene.page, button: scene.button.bind(scene) };
}
