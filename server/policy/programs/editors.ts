import { ANY, isSeveral, isStatic, isWild, show } from "../holes.ts";
import type { Call, Handler, Runner } from "../interpret/call.ts";
import { touchBackups, touchCode } from "./operands.ts";
import { has, readOptions, spec, valuesOf } from "./options.ts";
import { OUTPUTS } from "./outputs.ts";
import { readSed, SED, sedParts } from "./sed.ts";
import { patchMarks } from "./patch_marks.ts";

/** `sed`: in-place writes, `w` files, and the `e` command, which runs text. */
export const runSed: Handler = (argv, call, run) => {
  const { scripts, files } = sedParts(argv);
  const parsed = readOptions(argv.slice(1), SED);
  for (const script of scripts) followSed(script, call, run);
  for (const path of valuesOf(parsed, "file")) {
    if (path !== "-") touchCode("sed", path, call, run);
    followSed(read(path, call, run) ?? "", call, run);
  }
  for (const path of files) run.touch(has(parsed, "in-place") ? "write" : "read", path, call);
  for (const suffix of valuesOf(parsed, "in-place")) touchBackups(suffix, files, call, run);
  return OUTPUTS.sed!(argv, call, run);
};

/** The text of a program's script file, if it is known. */
function read(path: string, call: Call, run: Runner): string | null {
  return path === "-" ? call.stdin : run.content(path, call);
}

function followSed(script: string, call: Call, run: Runner): void {
  if (isSeveral(script)) {
    run.doubt("the name of a file becomes the sed script", show(script), call);
    return;
  }
  const commands = readSed(script);
  if (commands === null) {
    if (isStatic(script)) run.doubt("gate cannot read this sed script", script, call, "code");
    else if (isWild(script) && /\b[we]\b|^e|[;{}]|^[\uFDD0\uFDD1]+$/.test(script)) {
      run.doubt("part of the sed script is unknown", show(script), call, "code");
    }
    return;
  }
  for (const { kind, text, flags } of commands) {
    if (kind === "run" || /^[^w]*e/.test(flags)) {
      if (text !== "") run.code(text, { ...call, supposed: true });
      run.doubt("sed runs text as a command", script, call);
    }
    const file = kind === "write" ? text : /w\s*(\S.*)$/.exec(flags)?.[1];
    if (file) run.touch("write", file, call);
    if (kind === "read") run.touch("read", text, call);
  }
}

/**
 * `apply_patch` of Codex, a program or a word that Codex follows itself: it changes the files that
 * its patch names, and runs nothing.
 */
export const runApplyPatch: Handler = (argv, call, run) => {
  const patch = [...argv.slice(1), call.stdin].join("\n");
  const marks = isWild(patch) ? null : patchMarks(patch);
  if (marks === null) {
    run.doubt("the patch may change any file", show(patch).slice(0, 80), call, "files");
    run.touch("write", ANY, call);
  }
  for (const { kind, path } of marks ?? []) {
    run.touch(kind === "Delete File" ? "delete" : "write", path, call);
  }
  return ANY;
};

/** Editors (`ed`, `ex`, `vi`): `!command` and writes in their input and options. */
export const runEditor: Handler = (argv, call, run) => {
  const parsed = readOptions(
    argv.slice(1),
    spec("-c= -S= -s -e -E -n -N -u= -i= -p= --cmd= -R -O -o -es -Es --eval="),
  );
  const scripts = [
    call.stdin,
    ...valuesOf(parsed, "c", "cmd", "eval"),
    ...argv.filter((_, at) => /^--?(eval|execute)$/.test(argv[at - 1] ?? "")),
    ...argv.filter((arg) => arg.startsWith("+")),
  ];
  for (const script of scripts) {
    if (isWild(script)) {
      run.doubt("part of the editor's input is unknown", show(script).slice(0, 80), call);
    } else followEditor(script, call, run);
  }
  for (const path of parsed.operands) {
    if (!path.startsWith("+")) run.touch("write", path, call);
  }
  return ANY;
};

/** Words that run a program or remove a file in an editor's own language. */
const RUNS =
  /\b(system|systemlist|shell-command|call-process|start-process|make-process|libcall|jobstart|job_start|term_start|termopen|os\.execute|io\.popen|subprocess|popen|delete-(file|directory))\b|^[\s:+]*ter(m(inal)?)?\b/;

/** Commands of `ed` and `vi` that open the file after them. */
const OPENS =
  /^[\s:+]*[\d,.$%]*\s*(?:r|re|rea|read|e|ed|edit|so|source|sp|split|vs|vsp|vsplit|sv|sview|vie|view|tabe|tabedit|tabnew|n|next|ar|args|bad|badd|diffs|diffsplit|f|file)!?\s+(?:\+\S+\s+)?([^!\s]\S*)/;

/** Words of an editor's own language that may open a computed file. */
const COMPUTES =
  /\b(exe|execute|readfile|insert-file|find-file|norm|normal|feedkeys|call|let|lua|py3?|python3?|perl|ruby|tcl)\b|^[\s:+]*@/;

function followEditor(script: string, call: Call, run: Runner): void {
  for (const line of script.split(/\n|\|/)) {
    const shell = /^[\s:+]*(?:[\d,.$%]*)\s*(?:r|w|e|E|silent|execute)?\s*!+\s*(.+)$/.exec(line);
    if (shell) {
      run.code(shell[1]!, { ...call, supposed: true, stdin: "" });
      run.doubt("the editor runs a command", line, call);
    }
    const read = OPENS.exec(line)?.[1];
    if (read !== undefined) run.touch("read", read, call);
    if (COMPUTES.test(line)) run.touch("read", ANY, call, { implied: true });
    const write = /^[\s:+]*[\d,.$%]*\s*(?:w|W|wq|f)\s+([^!\s]\S*)$/.exec(line);
    if (write) run.touch("write", write[1]!, call);
    if (RUNS.test(line)) {
      for (const [, double, single] of line.matchAll(/"([^"]*)"|'([^']*)'/g)) {
        run.code(double ?? single!, { ...call, supposed: true, stdin: "" });
      }
      run.doubt("the editor runs a command", line, call);
    }
  }
}

/**
 * Clients with a shell escape (`psql -c '\! …'`, `sqlite3 '.shell …'`): finds the shell commands, the
 * output files and the input files in arguments and input. An input file without a name is computed.
 */
export function runClient(escape: RegExp, output?: RegExp, input?: RegExp): Handler {
  return (argv, call, run) => {
    for (const text of [...argv.slice(1), call.stdin]) {
      if (!isStatic(text)) continue;
      for (const found of output ? text.matchAll(output) : []) {
        const path = found.slice(1).find((part) => part !== undefined);
        if (path && path !== "stdout") run.touch("write", path, call);
      }
      for (const found of input ? text.matchAll(input) : []) {
        const path = found.slice(1).find((part) => part !== undefined);
        run.touch("read", path?.replace(/^["']|["']$/g, "") ?? ANY, call, { implied: true });
      }
      for (const found of text.matchAll(escape)) {
        run.code(found.slice(1).find((part) => part !== undefined) ?? "", {
          ...call,
          supposed: true,
          stdin: "",
        });
        run.doubt("the program runs a shell command", text.slice(0, 200), call);
      }
    }
    return ANY;
  };
}
