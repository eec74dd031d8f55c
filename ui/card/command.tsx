import { useEffect } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { Icon } from "../parts/icon.tsx";
import { Code, Text } from "../parts/text.tsx";
import { countHidden } from "../../server/shown/visible.ts";
import { bytesOf, count, number } from "../parts/words.ts";
import { commandText, isUnknownWord } from "../../server/shown/command_text.ts";

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

interface WhatItDoesProps {
  analysis: NonNullable<ActionDetail["analysis"]>;
  /** The command as the card already shows it; its single program is not listed again. */
  command?: string | null;
  deletion?: ActionDetail["deletion"];
}

/** The programs and files of a command, as the gate analysed it. */
export function WhatItDoes({ analysis, command, deletion }: WhatItDoesProps) {
  const commands = analysis.commands.map(commandText);
  const isSaid = commands.length === 1 && commands[0] === command?.trim();
  return (
    <>
      {!isSaid && <List title="Runs" items={commands} />}
      <List title="Writes" items={analysis.writes} tone="warn" />
      {deletion
        ? <Deletes deletion={deletion} />
        : <List title="Deletes" items={analysis.deletes} tone="danger" />}
      <List title="Reads" items={analysis.reads} />
      <List title="Unknown" items={analysis.unresolved} tone="warn" />
    </>
  );
}

/** "214 files in build/, 1.2 MB", with the files. */
function Deletes({ deletion }: { deletion: NonNullable<ActionDetail["deletion"]> }) {
  const { files, bytes, folders, paths, is_whole } = deletion;
  const named = folders.slice(0, 3).map((folder) => `${folder.replace(/\/$/, "")}/`).join(", ");
  const more = folders.length > 3 ? ` and ${count(folders.length - 3, "more folder")}` : "";
  return (
    <div class="fact">
      <dt class="tone-danger">Deletes</dt>
      <dd>
        <p>
          {is_whole ? count(files, "file") : `More than ${count(files, "file")}`}
          {named !== "" && <Text value={` in ${named}${more}`} />}
          {is_whole ? `, ${bytesOf(bytes)}` : `, more than ${bytesOf(bytes)}`}
        </p>
        <Items items={paths.slice(0, FEW_FILES)} />
        {paths.length > FEW_FILES && (
          <details>
            <summary>Show {number(paths.length - FEW_FILES)} more</summary>
            <Items items={paths.slice(FEW_FILES)} />
            {files > paths.length && (
              <p class="quiet">{count(files - paths.length, "more file")} not listed</p>
            )}
          </details>
        )}
      </dd>
    </div>
  );
}

const FEW_FILES = 4;

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
          {isUnknownWord(item)
            ? <span class="unknown">known only when it runs</span>
            : <Folded value={item} />}
        </li>
      ))}
    </ul>
  );
}

const LONG = 240;
const SHOWN = 200;

/** A text whose rest is folded when it is very long; the card shows the whole command. */
function Folded({ value }: { value: string }) {
  if (value.length <= LONG) return <Text value={value} />;
  // A pair of surrogates stays together.
  const cut = /[\ud800-\udbff]/.test(value[SHOWN - 1]!) ? SHOWN + 1 : SHOWN;
  return (
    <>
      <Text value={value.slice(0, cut)} />
      <details>
        <summary>Show {count(value.length - cut, "more character")}</summary>
        <Text value={value.slice(cut)} />
      </details>
    </>
  );
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
