import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { PolicyTestResult, Rule } from "../../server/policy/schema.ts";
import { describeSandbox } from "../../server/actions/show/sandbox_text.ts";
import { WhatItDoes } from "../card/command.tsx";
import { Key, Segmented } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Code, Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { EffectBadge, effectOf, keyOf, nameOfRule, SOURCES } from "./effects.tsx";

/** The rules that match what is tested, those of them that only may match, and the one that decides. */
export interface Judged {
  rule: Rule | null;
  matched: Rule[];
  unsure: Rule[];
}

const KINDS = [
  { value: "command", label: "Run a command" },
  { value: "write", label: "Write a file" },
  { value: "read", label: "Read a file" },
  { value: "delete", label: "Delete a file" },
] as const;
type Kind = (typeof KINDS)[number]["value"];

/** Waits for a pause in typing. */
const PAUSE_MS = 200;
const LONGEST = 100_000;
/** The address holds a text up to this length, because a server refuses a long one. */
const MOST_NOTED = 1_000;

interface TesterProps {
  project: string;
  /** Changes with the rules. */
  etag: string;
  judged: Signal<Judged | null>;
  field: RefObject<HTMLTextAreaElement | null>;
}

/** Evaluates a path or a command while it is typed; nothing is recorded and nothing runs. */
export function Tester({ project, etag, judged, field }: TesterProps) {
  const address = useAddress();
  const kind: Kind = KINDS.find(({ value }) => value === address.query["test"])?.value ?? "command";
  const asked = address.query["input"] ?? "";
  const text = useSignal(asked);
  const noted = useRef(asked);
  // Back, forward and a link change the address; typing changes it a moment later.
  useEffect(() => {
    if (asked !== noted.current) text.value = asked;
    noted.current = asked;
  }, [asked]);
  const note = (input: string) => {
    const kept = input.length <= MOST_NOTED ? input : "";
    if (kept === noted.current) return;
    noted.current = kept;
    address.set({ input: kept });
  };
  const { result, problem } = useTest({ project, etag, kind, text: text.value, judged, note });
  return (
    <section class="panel" aria-labelledby="policy-test">
      <h2 id="policy-test">Test</h2>
      <p class="quiet">What the rules say about an action. Nothing runs, nothing is recorded.</p>
      <Segmented
        label="Action"
        value={kind}
        options={KINDS}
        onChange={(next) => address.set({ test: next === "command" ? null : next })}
      />
      <label class="policy-input">
        <span class="visually-hidden">{kind === "command" ? "Command" : "Path"}</span>
        <textarea
          ref={field}
          rows={2}
          spellcheck={false}
          maxLength={LONGEST}
          placeholder={kind === "command" ? "rm -rf build && npm test" : "src/app.ts"}
          value={text.value}
          onInput={(event) => text.value = event.currentTarget.value}
          onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        />
        <Key keys="i" />
      </label>
      <div role="status" aria-live="polite">
        {problem !== null && <Text as="p" class="tone-danger" value={problem} />}
        {result !== null && problem === null && text.value.trim() !== "" && <Result {...result} />}
      </div>
    </section>
  );
}

interface Asked extends Omit<TesterProps, "field"> {
  kind: Kind;
  text: string;
  /** Keeps the text that is tested. */
  note: (text: string) => void;
}

/** A result, and the command that it is about; null for a path. */
interface Tested {
  result: PolicyTestResult;
  command: string | null;
}

function useTest({ project, etag, kind, text, judged, note }: Asked) {
  const result = useSignal<Tested | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    if (text.trim() === "") {
      result.value = null;
      problem.value = null;
      judged.value = null;
    }
    let late = false;
    const timer = setTimeout(async () => {
      note(text);
      if (text.trim() === "") return;
      const json = kind === "command"
        ? { action: "command", command: text }
        : { action: kind, path: text };
      try {
        const answer = await unwrap(api(project).api.policy.test.$post({ json }));
        if (late) return;
        result.value = { result: answer, command: kind === "command" ? text : null };
        problem.value = null;
        const { rule, matched, unsure } = answer;
        judged.value = { rule, matched, unsure };
      } catch (error) {
        if (late) return;
        problem.value = explain(error);
        judged.value = null;
      }
    }, PAUSE_MS);
    return () => {
      late = true;
      clearTimeout(timer);
    };
  }, [project, etag, kind, text]);
  return { result: result.value, problem: problem.value };
}

function Result({ result, command }: Tested) {
  const { effect, rule, reason, alternative, matched, unsure, analysis, span, sandbox } = result;
  return (
    <div class="policy-result">
      <p class="policy-effect">
        <EffectBadge effect={effect} />
        <Text as="span" value={reason} />
      </p>
      {alternative !== null && <Text as="p" class="quiet" value={alternative} />}
      {sandbox !== null && (
        <p class="quiet">
          <Icon name="lock" /> Only in a sandbox: <Text value={describeSandbox(sandbox)} />
        </p>
      )}
      {result.sandbox_refused !== null && (
        <Text
          as="p"
          class="quiet"
          value={`A sandbox does not answer the question: ${result.sandbox_refused}.`}
        />
      )}
      {command !== null && analysis && (
        <Drawn command={command} span={span ?? null} analysis={analysis} effect={effect} />
      )}
      <Matched matched={matched} unsure={unsure} rule={rule} effect={effect} />
    </div>
  );
}

interface DrawnProps {
  command: string;
  span: string | null;
  analysis: NonNullable<PolicyTestResult["analysis"]>;
  effect: PolicyTestResult["effect"];
}

/** The command as gate parsed it: its text with the deciding part marked, its programs, its effects. */
function Drawn({ command, span, analysis, effect }: DrawnProps) {
  const at = onlyPlaceOf(span, command);
  return (
    <div class="parsed" role="group" aria-label="The parsed command">
      <p class="code-text parsed-text">
        {at < 0 ? <Text value={command} code /> : (
          <>
            <Text value={command.slice(0, at)} code />
            <mark class={`parsed-${effect}`} title="The part that decides">
              <Text value={span!} code />
            </mark>
            <Text value={command.slice(at + span!.length)} code />
          </>
        )}
      </p>
      <ul class="parsed-tree">
        {analysis.commands.slice(0, MOST_PROGRAMS).map((argv, place) => (
          <li key={place} class={isAbout(argv, span) ? `parsed-${effect}` : undefined}>
            {argv.slice(0, MOST_WORDS).map((word, index) => (
              <span key={index} class={index === 0 ? "parsed-program" : "parsed-word"}>
                <Text value={word} />
              </span>
            ))}
            {argv.length > MOST_WORDS && (
              <span class="quiet">and {argv.length - MOST_WORDS} more words</span>
            )}
          </li>
        ))}
        {analysis.commands.length > MOST_PROGRAMS && (
          <li class="quiet">and {analysis.commands.length - MOST_PROGRAMS} more programs</li>
        )}
      </ul>
      <dl class="facts">
        <WhatItDoes analysis={{ ...analysis, commands: [] }} />
      </dl>
    </div>
  );
}

/** Where the part is in the command; -1 if it is there twice, because either may be meant. */
function onlyPlaceOf(span: string | null, command: string): number {
  if (span === null || span === "") return -1;
  const at = command.indexOf(span);
  return command.indexOf(span, at + 1) < 0 ? at : -1;
}

const MOST_PROGRAMS = 50;
const MOST_WORDS = 40;

/** Whether the deciding part of the text is this program with its words. */
function isAbout(argv: string[], span: string | null): boolean {
  return span !== null && argv.length > 0 && span.trim().split(/\s+/)[0] === argv[0] &&
    argv.every((word) => span.includes(word));
}

interface MatchedProps extends Judged {
  effect: PolicyTestResult["effect"];
}

/** The rules that match, and below them those that would match if an unknown part were so. */
function Matched({ matched, unsure, rule, effect }: MatchedProps) {
  if (matched.length === 0) return <p class="quiet">No rule matches: the default decides.</p>;
  const winner = rule === null ? null : keyOf(rule);
  const maybe = new Set(unsure.map(keyOf));
  const isMaybe = (one: Rule) => maybe.has(keyOf(one)) && keyOf(one) !== winner;
  const rows = (rules: Rule[]) => (
    <ul class="policy-matched">
      {rules.map((one) => (
        <li key={keyOf(one)} class={keyOf(one) === winner ? "rule-wins" : undefined}>
          <EffectBadge effect={keyOf(one) === winner ? effect : effectOf(one.list)} />
          <Code value={nameOfRule(one)} />
          <span class="quiet small">{SOURCES[one.source]}</span>
          {keyOf(one) === winner && <strong class="small">decides</strong>}
        </li>
      ))}
    </ul>
  );
  const sure = matched.filter((one) => !isMaybe(one));
  const others = matched.filter(isMaybe);
  return (
    <>
      {sure.length > 0 && (
        <>
          <h3>Rules that match</h3>
          {rows(sure)}
        </>
      )}
      {others.length > 0 && (
        <details>
          <summary>
            {count(others.length, "rule")} may match: a part of the action is not known
          </summary>
          {rows(others)}
        </details>
      )}
    </>
  );
}
