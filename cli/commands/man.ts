import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { VERSION } from "../../server/constants.ts";
import type { Io, Tree } from "../io.ts";
import { examples } from "../options.ts";

/** `gate man`: the manual page, generated from the commands. */
export function createCommand(io: Io, tree: Tree) {
  return new Command("man")
    .description("Print the manual page in the format that man reads.")
    .addHelpText("after", HELP)
    .action(async () => void io.stdout.write(manualPage(await tree(() => true))));
}

const HELP = examples(
  "gate man | man -l -",
  "gate man > ~/.local/share/man/man1/gate.1     then: man gate",
);

/** The manual page of the whole tree, in roff with the macros of man(7). */
export function manualPage(program: CommandUnknownOpts): string {
  const help = program.createHelp();
  const groups = new Map<string, CommandUnknownOpts[]>();
  for (const command of help.visibleCommands(program)) {
    const group = command.helpGroup() || "Help:";
    groups.set(group, [...groups.get(group) ?? [], command]);
  }
  return [
    `.TH GATE 1 "" "gate ${VERSION}" "User Commands"`,
    ".SH NAME",
    "gate \\- stand between AI agents and this machine",
    ".SH SYNOPSIS",
    ".B gate",
    ".I command",
    "[\\fIoptions\\fR]",
    ".SH DESCRIPTION",
    escape(program.description()),
    ...[...groups].flatMap(([group, commands]) => [
      `.SH ${escape(group.replace(/:$/, "").toUpperCase())}`,
      ...commands.flatMap((command) => section(command, program.name())),
    ]),
    ...FIXED_SECTIONS,
  ].join("\n") + "\n";
}

function section(command: CommandUnknownOpts, parent: string): string[] {
  if (command.name() === "help") return [];
  const path = `${parent} ${command.name()}`;
  const help = command.createHelp();
  const children = help.visibleCommands(command);
  return [
    `.SS ${escape(`${path} ${usageOf(command)}`.trim())}`,
    escape(command.description() || command.summary()),
    ...help.visibleArguments(command).flatMap((one) =>
      term(one.name(), help.argumentDescription(one))
    ),
    ...help.visibleOptions(command).filter(({ long }) => long !== "--help").flatMap((one) =>
      term(help.optionTerm(one), help.optionDescription(one))
    ),
    ...afterHelp(command),
    ...children.flatMap((child) => section(child, path)),
  ];
}

function usageOf(command: CommandUnknownOpts): string {
  return command.usage().replace(/^\[options\] ?/, "").replace("[command]", "command");
}

function term(name: string, description: string): string[] {
  return [".TP", `\\fB${escape(name)}\\fR`, escape(description)];
}

/** The help text after the options; examples keep their lines, other paragraphs are filled. */
function afterHelp(command: CommandUnknownOpts): string[] {
  let whole = "";
  const { writeOut } = command.configureOutput();
  command.configureOutput({ writeOut: (text) => void (whole += text) });
  command.outputHelp();
  command.configureOutput({ writeOut });
  const text = whole.slice(command.helpInformation().length).trim();
  const lines: string[] = [];
  for (const block of text.split(/\n{2,}/).filter((one) => one !== "")) {
    const isLiteral = /^Examples?\b/.test(block) || block.startsWith(" ");
    lines.push(".PP", ...isLiteral ? [".nf", escape(block), ".fi"] : [escape(block)]);
  }
  return lines;
}

const FIXED_SECTIONS = [
  ".SH EXIT STATUS",
  ...term("0", "success"),
  ...term("1", "failed, refused, outdated, or not found"),
  ...term("64", "wrong usage"),
  ...term("2", "gate scenario: a critical failure; gate hook: it could not print"),
  ...term("3", "gate scenario: an error of the tool itself"),
  ".SH ENVIRONMENT",
  ...term("GATE_HOME", "the data folder, instead of ~/.gate"),
  ...term("GATE_PORT", "the daemon's port, instead of 47000, to run several gates side by side"),
  ...term(
    "GATE_SYSTEM_PATH",
    "the folders of systemctl, journalctl and logger; PATH is not searched",
  ),
  ...term("NO_COLOR", "if set, the output has no colours"),
  ...term("VISUAL, EDITOR", "the editor of gate approve --edit and gate global-config edit"),
  ...term("BROWSER", "the browser of gate dashboard"),
  ".SH FILES",
  ...term("gate.config.json", "the policy of a project, in its folder"),
  ...term("~/.gate/config.json", "the policy of this machine"),
  ...term("~/.gate/projects/", "the ledgers: all actions and the audit log of each project"),
  ...term("~/.gate/logs/daemon.log", "the daemon's log; gate daemon logs shows it"),
  ...term("~/.local/state/gate/heads.json", "the newest events of each ledger that terminals saw"),
  ...term(
    "~/.gate/tokens/",
    "the access tokens; an approval also needs your passphrase or passkey",
  ),
];

/** Escapes text for roff, so that it is shown literally. */
function escape(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("`", "\\(ga")
    .replaceAll("'", "\\(aq").replaceAll("~", "\\(ti").replaceAll("^", "\\(ha")
    .replaceAll(/[^\p{ASCII}]/gu, (char) => `\\[u${hex(char)}]`)
    .split("\n").map((line) => line.replace(/^\./, "\\&.").trimEnd()).join("\n");
}

function hex(char: string): string {
  return char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
}
