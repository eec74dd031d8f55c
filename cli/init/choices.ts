import type { TemplateName } from "../../server/policy/templates.ts";

/** The form of a project id. */
export const PROJECT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export type Template = TemplateName;

/** The templates of policies, with a hint for the person who chooses. */
export const TEMPLATES: readonly { name: Template; hint: string }[] = [
  { name: "strict", hint: "a person approves everything except reading the project" },
  { name: "balanced", hint: "ordinary work is allowed, risky work needs a person or is denied" },
  { name: "permissive", hint: "everything is allowed except dangerous actions" },
];
