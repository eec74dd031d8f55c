import { parse } from "unbash";
import type { Call } from "./call.ts";
import { endsOpen, hasStrayOpener, isStrange, refuseText } from "./guards.ts";
import { Overload, Recorder } from "./recorder.ts";
import { TableRunner } from "./runner.ts";
import { Shell } from "./state.ts";
import type { CommandAnalysis } from "./unit.ts";

/** The folder, the home and the tasks that a command is analysed with. */
interface Setting {
  cwd: string;
  user_home: string;
  /** The text of a task of the project (`npm run build`), if it exists. */
  script?: (name: string, cwd: string) => string | null;
}

/** The start of the doubt about a command that gate could not analyse completely. */
export const UNREAD = "Cannot analyse the whole command: ";

/**
 * Analyses a command: parses it, follows every branch, and returns the programs that run, the files
 * that they touch, and the parts that stay unresolved. Never throws.
 */
export function analyse(source: string, setting: Setting): CommandAnalysis {
  const recorder = new Recorder();
  const call = topCall(source, setting);
  const refused = refuseText(source);
  if (refused) {
    recorder.cut(`${UNREAD}${refused}`, call.text, call);
    return recorder.found;
  }
  try {
    follow(source, call, recorder, setting);
  } catch (error) {
    const why = error instanceof Overload ? error.message : "it nests too deep";
    recorder.cut(`${UNREAD}${why}`, call.text, call);
  }
  return recorder.found;
}

/** The outermost call. It has every field, so all copies of it share one shape and are cheap. */
function topCall(source: string, { cwd, user_home }: Setting): Call {
  return {
    shell: new Shell(cwd, user_home),
    stdin: "",
    source: undefined,
    pipes: [],
    depth: 0,
    remote: false,
    supposed: false,
    guessed: undefined,
    task: false,
    repeated: undefined,
    text: source.slice(0, 400),
    found: undefined,
  };
}

/** `{ … } always { … }` of zsh. */
const ALWAYS = /\}\s*always\s*\{/;

function follow(source: string, call: Call, recorder: Recorder, setting: Setting): void {
  if (isStrange(source)) {
    recorder.doubt("It has a control character or an unusual blank", call.text, call);
  }
  if (endsOpen(source)) recorder.doubt("It ends in a backslash", call.text, call);
  if (source.includes("always") && ALWAYS.test(source)) {
    recorder.doubt("zsh runs a block after it", call.text, call);
  }
  const script = parse(source);
  if (script.errors?.length) {
    recorder.doubt(`${UNREAD}${script.errors[0]!.message}`, call.text, call);
  }
  if (hasStrayOpener(source, script)) {
    recorder.doubt("A shell may run as code what gate reads as text", call.text, call);
  }
  call.shell.warn = (name, reason) =>
    recorder.doubt(`the text sets "${name}": ${reason}`, name, call);
  const runner = new TableRunner(recorder, setting.script ?? (() => null));
  runner.interpreter.script(script, call);
}
