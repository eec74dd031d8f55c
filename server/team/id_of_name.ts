import type { z } from "zod";
import { GateError } from "../errors.ts";

/** The id for something that was given only a name: `Ann Miller` → `ann-miller`. @throws GateError `invalid` */
export function idOfName(name: string, schema: z.ZodType<string>): string {
  const id = name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-+|-+$/g, "").slice(0, 64);
  if (schema.safeParse(id).success) return id;
  throw new GateError("invalid", `Cannot make an id of the name "${name}"; give an "id"`);
}
