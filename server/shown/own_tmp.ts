/** What an agent must know about files in `/tmp` that its command in this sandbox names; else null. */
export function tellOwnTmp(command: string, engine: string): string | null {
  if (engine !== "bubblewrap" || !NAMES_TMP.test(command)) return null;
  return "/tmp is this session's own in the sandbox: file tools and other programs do not see it";
}

const NAMES_TMP = /(^|[^\w./~-])\/tmp(\/|\b)/;
