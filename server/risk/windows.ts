import type { Cause } from "./facts.ts";

/** The programs of Windows that delete, and the shells that call them. */
export const WINDOWS_DELETERS =
  /^(cmd|rmdir|rd|del|erase|remove-item|ri|format|pwsh|powershell)(\.exe)?$/;

const DELETES =
  /\b(rmdir|rd|del|erase)(\.exe)?\s[^&|]*\/s\b|\b(remove-item|ri|rm|rmdir|rd|del)\b[^;|]*\s-r(ecurse)?\b/i;
const FORMATS = /\bformat(\.com)?\s+[a-z]:|\b(format-volume|clear-disk|initialize-disk)\b/i;
/** A whole disk, the home of a user or the system. */
const WHOLE =
  /(^|[\s"'])([a-z]:[\\/]?(\*|(windows|users|users[\\/][^\\/\s"']+|program files\S*)[\\/]?)?|%(userprofile|systemdrive|homedrive|windir|systemroot)%[\\/]?\*?|\$(home|env:(userprofile|systemdrive|windir))[\\/]?\*?|~[\\/]?\*?)(?=$|[\s"'])/i;

/** Deletions with the words of Windows, also behind `cmd /c` and PowerShell. */
export function windowsCauses(program: string, text: string): Cause[] {
  const whole = `${program} ${text}`;
  if (FORMATS.test(whole)) return [{ name: "destroys_machine", why: "it formats a disk" }];
  if (!DELETES.test(whole)) return [];
  return WHOLE.test(text)
    ? [{ name: "deletes_everything", why: "it deletes a whole disk, home or system folder" }]
    : [{ name: "deletes_folder", why: "it deletes a folder with everything in it" }];
}
