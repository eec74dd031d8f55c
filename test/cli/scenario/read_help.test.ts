import { expect, test } from "vitest";
import { type CliOption, readHelp } from "../../../cli/scenario/generate/help/read_help.ts";

const option = (
  flags: string,
  value = "none",
  placeholder = "",
  choices: string[] = [],
): CliOption => ({
  flags: flags.split(" "),
  value: value as CliOption["value"],
  placeholder,
  choices,
});

const COMMANDER = `Usage: shop [options] [command]

Options:
  -V, --version      print the version
  --output <format>  json, text, markdown
  --limit [n]        at most so many
  -H, --header <header>  add "Name: value" (choices: "a", "b")
  -h, --help         display help

Set up:
  add|a [options] <name>  Add a thing
                          and go on
  remove                  Remove it

Commands:
  help [command]     display help

Examples:
  shop add milk
`;
const ARGPARSE = `usage: shop [-h] [--level {low,high}] [--out OUT] {add,remove} ...

positional arguments:
  {add,remove}       what to do
    add              add a thing

options:
  -h, --help         show this help
  --level {low,high}
  --out OUT          where to
`;
const CLAP = `A shop

Usage: shop [OPTIONS] <NAME> <COUNT>

Commands:
  add   Add a thing
  help  Print this message

Options:
  -c, --color <WHEN>  Coloring [default: auto] [possible values: auto, always, never]
      --check[=<VALUE>]  Check it
  -q, --quiet
`;
const GNU = `Usage: cp [OPTION]... [-T] SOURCE DEST
  or:  cp [OPTION]... SOURCE... DIRECTORY

  -a, --archive                same as -dR
      --backup[=CONTROL]       make a backup
      --suffix=SUFFIX          override the usual suffix
`;
const COBRA = `Things

Usage:
  shop add NAME [flags]

Available Commands:
  now         At once

Flags:
  -n, --count int   how many
      --no-wait     do not wait
`;
const GIT = `usage: git [-v | --version] [-C <path>]
           <command> [<args>]

start a working area (see also: git help tutorial)
   clone     Clone a repository
   init      Create one
`;
const NPM = `npm <command>

Usage:

npm install        install all
npm <command> -h   quick help

All commands:

    access, adduser, audit,
    install
`;

test.each<[string, string, CliOption[], string[], string[]]>([
  [
    "commander",
    COMMANDER,
    [
      option("-V --version"),
      option("--output", "required", "format", ["json", "text", "markdown"]),
      option("--limit", "optional", "n"),
      option("-H --header", "required", "header", ["a", "b"]),
      option("-h --help"),
    ],
    ["add", "remove"],
    [],
  ],
  [
    "argparse",
    ARGPARSE,
    [
      option("-h --help"),
      option("--level", "required", "low,high", ["low", "high"]),
      option("--out", "required", "OUT"),
    ],
    ["add", "remove"],
    [],
  ],
  [
    "clap",
    CLAP,
    [
      option("-c --color", "required", "WHEN", ["auto", "always", "never"]),
      option("--check", "optional", "VALUE"),
      option("-q --quiet"),
    ],
    ["add"],
    ["NAME", "COUNT"],
  ],
  [
    "GNU, with two usages",
    GNU,
    [
      option("-a --archive"),
      option("--backup", "optional", "CONTROL"),
      option("--suffix", "required", "SUFFIX"),
    ],
    [],
    [],
  ],
  ["cobra", COBRA, [option("-n --count"), option("--no-wait")], ["now"], ["NAME"]],
  ["git", GIT, [], ["clone", "init"], []],
  ["npm", NPM, [], ["access", "adduser", "audit", "install"], []],
  [
    "colours and overstrikes",
    "\u001b[1mOptions:\u001b[0m\n  -\b-a, --all  all",
    [
      option("-a --all"),
    ],
    [],
    [],
  ],
  [
    "a sentence that begins with an option",
    "Options:\n  --permit <place...>  let it\n  -q       be quiet\n\n--permit is for a command such as npm\n-q says nothing.",
    [option("--permit", "required", "place..."), option("-q")],
    [],
    [],
  ],
  ["a text without help", "hello\nworld", [], [], []],
  ["an endless line", `  --${"x".repeat(100_000)}`, [option(`--${"x".repeat(396)}`)], [], []],
])("readHelp() reads %s", (_name, text, options, commands, required) => {
  expect(readHelp(text)).toEqual({ options, commands, required });
});
