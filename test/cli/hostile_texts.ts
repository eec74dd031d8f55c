import { HIDDEN } from "../../server/shown/visible.ts";

/** Signs that move the cursor, hide, reorder or imitate, or that fill two columns. */
const SIGNS = [
  ..."\u001b\u0007\b\r\n\t\u007f\u0085\u009b\u009d\u00a0\u00ad\u034f\u061c\u115f\u180e\u200b\u200d",
  ..."\u200e\u2028\u2029\u202e\u2060\u2066\u2800\u3000\u3164\ufe0f\ufeff\ufff9",
  "\u001b[2J\u001b[H",
  "\u001b]0;title\u0007",
  "\u001b]8;;http://evil\u001b\\",
  "\r\u001b[2K✓ approved",
  "\u{e0041}",
  "a\u0301\u0301\u0301\u0301\u0301",
  "p\u0430ypal",
  "读我🚀",
  "\u05d0\u05d1",
  "\n✓ approved\n",
];
/** Two hundred texts: each sign at the beginning, inside, at the end, many times and far away. */
export const TEXTS = SIGNS.slice(0, 40).flatMap((sign) => [
  `${sign}text`,
  `te${sign}xt`,
  `text${sign}`,
  `te${sign.repeat(20)}xt`,
  `${"w".repeat(300)}${sign}text`,
]);

/** Texts that a person may paste into a command. */
export const GIVEN = [SIGNS.slice(0, 20), SIGNS.slice(20)].map((signs) => `te${signs.join("x")}xt`);

/** Names of folders: one that the systems accept everywhere, and one with every sign. */
export const FOLDERS = {
  mild: SIGNS.filter((sign) => /^[^\p{Cc}]+$/u.test(sign)).join("x"),
  wild: `te${SIGNS.join("x").replaceAll("/", "")}xt`,
};

/** Line feeds and tabs are layout. */
export const ACTS = new RegExp(`(?![\\n\\t])${HIDDEN.source}`, "u");
// deno-lint-ignore no-control-regex
export const COLOUR = /\x1b\[[\d;]*m/g;

/** The place of the first such character, for a person who mends it. */
export function around(text: string): string {
  const at = text.search(ACTS);
  return at < 0 ? "" : JSON.stringify(text.slice(Math.max(0, at - 60), at + 20));
}
