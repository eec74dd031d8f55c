import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { listedParts } from "../../server/shown/listed.ts";
import { Path, Text } from "./text.tsx";
import { headlineOf, plain, type Sentence, sentenceOf } from "./words.ts";

/** Describes an action in one line of a list. */
export function SentenceLine({ action }: { action: Action }) {
  const sentence = sentenceOf(action);
  return (
    <span class="sentence" title={plain(sentence)}>
      <Words sentence={sentence} isPath={action.command === null} brief />
    </span>
  );
}

/** Describes an action in the headline of its card. */
export function Headline({ detail }: { detail: ActionDetail }) {
  const sentence = headlineOf(detail);
  return <Words sentence={sentence} isPath={detail.command === null} />;
}

interface WordsProps {
  sentence: Sentence;
  isPath: boolean;
  /** Only the start and the end of a long command. */
  brief?: boolean;
}

function Words({ sentence, isPath, brief }: WordsProps) {
  return (
    <>
      <span class="sentence-verb">{sentence.verb}</span>{" "}
      {sentence.object !== null && (
        <span class="sentence-object code-text">
          {isPath
            ? <Path value={sentence.object} />
            : <Long value={sentence.object} brief={brief} />}
        </span>
      )}
      {sentence.to !== undefined && (
        <>
          {" "}
          <span class="sentence-tail">to</span>{" "}
          <span class="sentence-object code-text">
            <Path value={sentence.to} />
          </span>
        </>
      )}
      {sentence.tail !== "" && <Text as="span" class="sentence-tail" value={sentence.tail} />}
    </>
  );
}

function Long({ value, brief }: { value: string; brief?: boolean }) {
  const [start, note, end = ""] = brief ? listedParts(value) : [value];
  return (
    <>
      <Text value={start} />
      {note && <span class="chip">{note}</span>}
      <Text value={end} />
    </>
  );
}
