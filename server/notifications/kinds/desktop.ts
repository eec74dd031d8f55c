import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { platform } from "node:os";
import { ownEnvironment } from "../../runtime/self.ts";
import type { Message } from "../schema.ts";
import { ReceiverProblem } from "../secrets.ts";
import { factsOf } from "./facts.ts";
import type { Sending } from "./sending.ts";
import { DeliveryError } from "./post.ts";

/** A program and its arguments that show a message on the desktop. */
interface DesktopCommand {
  program: string;
  args: string[];
  env?: Record<string, string>;
}

/** Shows a message on the desktop of this machine. */
export async function sendDesktop(message: Message, { signal }: Sending): Promise<void> {
  await runDesktop(desktopCommand(message), signal);
}

/** Runs the program that shows a message. @throws DeliveryError */
export async function runDesktop(
  { program, args, env }: DesktopCommand,
  signal: AbortSignal,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const options = { signal, env: { ...ownEnvironment(), ...env }, windowsHide: true };
    execFile(program, args, options, (error) => {
      if (error === null) return resolve();
      const why = signal.aborted ? "it did not end in time" : "it failed";
      reject(new DeliveryError(`"${program}": ${why}`));
    });
  });
}

/**
 * The command of this system. Texts are arguments or variables, never part of a script. Programs are
 * taken from fixed places, because an agent may change PATH. @throws ReceiverProblem
 */
export function desktopCommand(
  message: Message,
  system: string = platform(),
  places: readonly string[] = NOTIFY_SEND,
): DesktopCommand {
  const { title, quoted } = message;
  const facts = factsOf(message).map(([name, value]) => `${name}: ${value}`);
  const body = [...facts, ...quoted.map(({ name, text }) => `${name}: ${text}`)].join("\n");
  switch (system) {
    case "darwin":
      return {
        program: "/usr/bin/osascript",
        args: [
          ...["-e", "on run argv"],
          ...["-e", "display notification (item 2 of argv) with title (item 1 of argv)"],
          ...["-e", "end run", "--", title, body],
        ],
      };
    case "win32": {
      const root = ownEnvironment()["SystemRoot"] ?? "C:\\Windows";
      return {
        program: `${root}\\System32\\WindowsPowerShell\\v1.0\\powershell.exe`,
        args: ["-NoProfile", "-NonInteractive", "-Command", TOAST],
        env: { GATE_TITLE: title, GATE_BODY: body },
      };
    }
    default: {
      const program = places.find((place) => existsSync(place));
      if (program === undefined) {
        throw new ReceiverProblem("notify-send is not installed; install libnotify");
      }
      // Some desktops read markup in the body.
      return { program, args: ["--app-name=gate", "--", title, escapeMarkup(body)] };
    }
  }
}

/** Where the systems put libnotify's program. */
const NOTIFY_SEND = ["/usr/bin/notify-send", "/run/current-system/sw/bin/notify-send"];

const TOAST = [
  "$m = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]",
  "$x = $m::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)",
  "$t = $x.GetElementsByTagName('text')",
  "$null = $t.Item(0).AppendChild($x.CreateTextNode($env:GATE_TITLE))",
  "$null = $t.Item(1).AppendChild($x.CreateTextNode($env:GATE_BODY))",
  "$m::CreateToastNotifier('gate').Show([Windows.UI.Notifications.ToastNotification]::new($x))",
].join("; ");

function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
