import { type TemplateName, TEMPLATES } from "../../server/policy/templates.ts";

/** The form of a project id. */
export const PROJECT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export type Template = TemplateName;

/** The names of the templates, the one that asks most first. */
export const TEMPLATE_NAMES: readonly Template[] = TEMPLATES.map(({ name }) => name);
