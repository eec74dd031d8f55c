import { useEffect } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { Code, Text } from "../parts/text.tsx";
import { countHidden } from "../parts/visible.ts";
import { count } from "../parts/words.ts";

interface CommandProps {
  command: string;
  onShown?: (hidden: number) => void;
}

const BLANK_RUN = 20;

/** Shows a command in full; folds only long runs of blank lines. */
export function Command({ command, onShown }: CommandProps) {
  useEffect(() => onShown?.(countHidden(command, { code: true })), [command]);
  return (
    <pre class="command" tabIndex={0} aria-label="Command or input">
      {foldBlankLines(command).map((part, at) =>
        typeof part === "string"
          ? <Text key={at} value={part} code />
          : <span key={at} class="chip chip-blank">[{count(part.blank, "blank line")}]</span>
      )}
    </pre>
  );
}

/** The programs and files of a command, as the gate analysed it. */
export function WhatItDoes({ analysis }: { analysis: NonNullable<ActionDetail["analysis"]> }) {
  const commands = analysis.commands.map((argv) =>
    argv.length === 1 && UNKNOWN.includes(argv[0]!) ? argv[0]! : argv.map(quoted).join(" ")
  );
  return (
    <>
      <List title="Runs" items={commands} />
      <List title="Writes" items={analysis.writes} tone="warn" />
      <List title="Deletes" items={analysis.deletes} tone="danger" />
      <List title="Reads" items={analysis.reads} />
      <List title="Unknown" items={analysis.unresolved} tone="warn" />
    </>
  );
}

type ShownProgram = NonNullable<ActionDetail["programs"]>[number];

/** The program files that gate starts, those that an agent can change first. */
export function Programs({ programs }: { programs: ShownProgram[] }) {
  if (programs.length === 0) return null;
  const shown = [
    ...programs.filter(({ changeable }) => changeable),
    ...programs.filter(({ changeable }) => !changeable),
  ];
  const rest = shown.slice(FIRST_ITEMS);
  return (
    <div class="fact">
      <dt>Programs</dt>
      <dd>
        <ProgramList programs={shown.slice(0, FIRST_ITEMS)} />
        {rest.length > 0 && (
          <details open={rest.some(({ changeable }) => changeable)}>
            <summary>Show {rest.length} more</summary>
            <ProgramList programs={rest} />
          </details>
        )}
      </dd>
    </div>
  );
}

function ProgramList({ programs }: { programs: ShownProgram[] }) {
  return (
    <ul>
      {programs.map(({ name, path, real, changeable }) => (
        <li key={name}>
          <Code value={path} />
          {real !== undefined && (
            <p class="quiet">
              leads to <Code value={real} />
            </p>
          )}
          {changeable && (
            <p class="changeable tone-warn">
              <Icon name="alert" />
              <span>An agent can change this program: {PLACES[changeable]}.</span>
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

const PLACES = {
  project: "it lies in the folder of a project",
  temporary: "it lies in a temporary folder",
};

const FIRST_ITEMS = 8;
/** The analysis writes these for names that are known only at run time. */
const UNKNOWN = ["…", "$…"];

function List({ title, items, tone }: { title: string; items: string[]; tone?: string }) {
  if (items.length === 0) return null;
  const rest = items.slice(FIRST_ITEMS);
  return (
    <div class="fact">
      <dt class={tone ? `tone-${tone}` : undefined}>{title}</dt>
      <dd>
        <Items items={items.slice(0, FIRST_ITEMS)} />
        {rest.length > 0 && (
          <details>
            <summary>Show {rest.length} more</summary>
            <Items items={rest} />
          </details>
        )}
      </dd>
    </div>
  );
}

function Items({ items }: { items: string[] }) {
  return (
    <ul>
      {items.map((item, at) => (
        <li key={at} class="code-text">
          {UNKNOWN.includes(item)
            ? <span class="unknown">known only when it runs</span>
            : <Text value={item} />}
        </li>
      ))}
    </ul>
  );
}

function quoted(argument: string): string {
  return /^[\w@%+=:,./~^-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

function foldBlankLines(text: string): (string | { blank: number })[] {
  const parts: (string | { blank: number })[] = [];
  let from = 0;
  for (const match of text.matchAll(/\n(?:[ \t]*\n){20,}/g)) {
    const blank = match[0].split("\n").length - 2;
    if (blank < BLANK_RUN) continue;
    parts.push(`${text.slice(from, match.index)}\n`, { blank }, "\n");
    from = match.index + match[0].length;
  }
  return [...parts, text.slice(from)];
}
