import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { Path, Text } from "./text.tsx";
import { headlineOf, plain, type Sentence, sentenceOf } from "./words.ts";

/** Describes an action in one line of a list. */
export function SentenceLine({ action }: { action: Action }) {
  const sentence = sentenceOf(action);
  return (
    <span class="sentence" title={plain(sentence)}>
      <Words sentence={sentence} isPath={action.command === null} />
    </span>
  );
}

/** Describes an action in the headline of its card. */
export function Headline({ detail }: { detail: ActionDetail }) {
  const sentence = headlineOf(detail);
  return <Words sentence={sentence} isPath={detail.command === null} />;
}

function Words({ sentence, isPath }: { sentence: Sentence; isPath: boolean }) {
  return (
    <>
      <span class="sentence-verb">{sentence.verb}</span>{" "}
      {sentence.object !== null && (
        <span class="sentence-object code-text">
          {isPath ? <Path value={sentence.object} /> : <Text value={sentence.object} />}
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
