import type { CDPSession, Page } from "playwright-core";

/** Sets a passphrase in the dialog of the first run, with the keyboard alone. */
export async function setPassphrase(
  page: Page,
  passphrase: string,
  dialog = "Show that it is you who approves",
): Promise<void> {
  await page.getByRole("dialog", { name: dialog }).waitFor();
  await page.keyboard.type(passphrase);
  await page.keyboard.press("Tab");
  await page.keyboard.type(passphrase);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Unlocked: lock" }).waitFor();
  await page.locator("dialog").waitFor({ state: "detached" });
}

/** Gives the browser a passkey device, which a person touches each time. */
export async function addAuthenticator(page: Page) {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { session, authenticatorId };
}
