import { PLATFORMS } from "../../server/hosts/hosts.ts";
import { EXIT, Exit } from "../errors.ts";
import type { Io } from "../io.ts";
import { cancel, confirm, isCancel, multiselect, select, text } from "../terminal/questions.ts";
import { typedInput } from "../terminal/typing.ts";
import { TEMPLATES } from "../../server/policy/templates.ts";
import { asksOften } from "../policy/templates_text.ts";
import { PROJECT_ID, type Template } from "./choices.ts";

/** The answers that `gate init` needs. */
export interface Answers {
  id: string;
  template: Template | null;
  extendGlobal: boolean;
  platforms: string[];
}

/** Asks a person, with the known answers as defaults. Ends the command when they cancel. */
export async function askAnswers(io: Io, known: Answers): Promise<Answers> {
  const id = answered(io, await askId(io, known));
  const template = answered(io, await askTemplate(io, known));
  const extendGlobal = answered(
    io,
    await confirm({
      ...terminal(io),
      message: "Inherit the rules of this machine (gate global-config)?",
      initialValue: known.extendGlobal,
    }),
  );
  const platforms = answered(
    io,
    await multiselect({
      ...terminal(io),
      message: "Which agents work here?",
      required: false,
      initialValues: known.platforms,
      options: PLATFORMS.map((value) => ({ value, label: value })),
    }),
  );
  return { id, template, extendGlobal, platforms };
}

function askId(io: Io, known: Answers) {
  return text({
    ...terminal(io),
    message: "Id of the project",
    initialValue: known.id,
    validate: (value) =>
      PROJECT_ID.test(value ?? "") ? undefined : "Letters, digits, '.', '_' and '-', at most 64",
  });
}

function askTemplate(io: Io, known: Answers) {
  return select<Template>({
    ...terminal(io),
    message: "Policy",
    initialValue: known.template ?? "balanced",
    options: TEMPLATES.map((template) => ({
      value: template.name,
      label: template.name,
      hint: `${template.summary}; ${asksOften(template)}`,
    })),
  });
}

function terminal(io: Io) {
  return { input: typedInput(io), output: io.stdout };
}

/** Asks whether to go on. */
export async function askToWrite(io: Io, message: string): Promise<boolean> {
  return answered(io, await confirm({ ...terminal(io), message }));
}

function answered<T>(io: Io, answer: T): Exclude<T, symbol> {
  if (!isCancel(answer)) return answer as Exclude<T, symbol>;
  cancel("Nothing was changed.", { output: io.stdout });
  throw new Exit(EXIT.failed);
}
