import type { TemplateName } from "../../server/policy/templates.ts";

/** What a project may be called. */
export const PROJECT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export type Template = TemplateName;

/** The policies to start from, as a person chooses among them. */
export const TEMPLATES: readonly { name: Template; hint: string }[] = [
  { name: "strict", hint: "everything is asked, but reading the project" },
  { name: "balanced", hint: "ordinary work is allowed, what is risky is asked or denied" },
  { name: "permissive", hint: "everything is allowed but what is dangerous" },
];
