import { parse } from "unbash";
import type { Call } from "./call.ts";
import { endsOpen, hasStrayOpener, isStrange, refuseText } from "./guards.ts";
import { Interpreter } from "./interpreter.ts";
import { Overload, Recorder } from "./recorder.ts";
import { TableRunner } from "./runner.ts";
import { runSimple } from "./simple.ts";
import { Shell } from "./state.ts";
import type { Understanding } from "./unit.ts";

/** What a command is understood against. */
export interface Setting {
  cwd: string;
  user_home: string;
  /** The text of a task of the project (`npm run build`), where there is one. */
  script?: (name: string, cwd: string) => string | null;
}

/** How the doubt begins about a command that nobody has read to its end. */
export const UNREAD = "The command cannot be read to its end: ";

/** Reads a command: what runs, what is touched, what nobody can know. Never throws. */
export function understand(source: string, setting: Setting): Understanding {
  const recorder = new Recorder();
  const call = topCall(source, setting);
  const refused = refuseText(source);
  if (refused) {
    recorder.doubt(`${UNREAD}${refused}`, call.text, call);
    return recorder.found;
  }
  try {
    follow(source, call, recorder, setting);
  } catch (error) {
    const why = error instanceof Overload ? error.message : "it nests too deep";
    recorder.doubt(`${UNREAD}${why}`, call.text, call);
  }
  return recorder.found;
}

function topCall(source: string, { cwd, user_home }: Setting): Call {
  return {
    shell: new Shell(cwd, user_home),
    stdin: "",
    pipes: [],
    depth: 0,
    remote: false,
    supposed: false,
    task: false,
    text: source.slice(0, 400),
  };
}

function follow(source: string, call: Call, recorder: Recorder, setting: Setting): void {
  if (isStrange(source)) {
    recorder.doubt("It has a control character or an unusual blank", call.text, call);
  }
  if (endsOpen(source)) recorder.doubt("It ends in a backslash", call.text, call);
  const script = parse(source);
  if (script.errors?.length) {
    recorder.doubt(`${UNREAD}${script.errors[0]!.message}`, call.text, call);
  }
  if (hasStrayOpener(source, script)) {
    recorder.doubt("Quoted text may be run a second time", call.text, call);
  }
  const runner = new TableRunner(recorder, setting.script ?? (() => null));
  runner.interpreter = new Interpreter(
    recorder,
    (node, inner, interpreter) => runSimple(node, inner, interpreter, runner),
  );
  runner.interpreter.script(script, call);
}
