import { ARCHIVES } from "./archives.ts";
import { DEVELOPMENT } from "./development.ts";
import { FILES } from "./files.ts";
import { NETWORK } from "./network.ts";
import type { Row } from "./record.ts";
import { SEARCH } from "./search.ts";
import { TEXT } from "./text.ts";
import { WORDS } from "./words.ts";

/** All records, by the name of the program. A family is a file; a new program is a line in one. */
export const ROWS: Record<string, Row> = {
  ...WORDS,
  ...FILES,
  ...TEXT,
  ...SEARCH,
  ...ARCHIVES,
  ...NETWORK,
  ...DEVELOPMENT,
};
