import type { PlaybookStep } from "../../driver/playbook_schema.ts";
import { type Draft, nameOf } from "../family.ts";
import type { Operation } from "../operation.ts";
import { PLACES, placesOf } from "./injection.ts";
import { tell } from "./resource.ts";

/** Longer than a slow answer, shorter than the time limit of a request. */
const SECONDS = 2;
/**
 * SQLite has no way to wait, so it makes bytes, more each time: the first slow answer ends the growth
 * before a service that does one thing at a time is held up for long.
 */
const MEGABYTES = [10, 20, 40, 80];

/** Texts by which a database waits for some seconds: each ends a text of the query first. */
const WAITS: { database: string; text: (seconds: number) => string }[] = [
  { database: "PostgreSQL", text: (s) => `'||(SELECT 1 FROM pg_sleep(${s}))||'` },
  { database: "MySQL", text: (s) => `'XOR(IF(1,SLEEP(${s}),0))XOR'z` },
  { database: "SQL Server", text: (s) => `';WAITFOR DELAY '0:0:${s}'--` },
  ...MEGABYTES.map((size) => ({
    database: `SQLite (${size} MB)`,
    text: (s: number) => `'||HEX(RANDOMBLOB(${bytesOf(s, size)}))||'`,
  })),
];
/** The same for a number of the query. */
const NUMBER_WAITS: typeof WAITS = [
  { database: "PostgreSQL", text: (s) => `1 AND 1=(SELECT 1 FROM pg_sleep(${s}))` },
  { database: "MySQL", text: (s) => `1 AND SLEEP(${s})` },
  { database: "SQL Server", text: (s) => `1;WAITFOR DELAY '0:0:${s}'--` },
  ...MEGABYTES.map((size) => ({
    database: `SQLite (${size} MB)`,
    text: (s: number) => `1 AND 1<LENGTH(HEX(RANDOMBLOB(${bytesOf(s, size)})))`,
  })),
];

function bytesOf(seconds: number, megabytes: number): number {
  return seconds === 0 ? 0 : megabytes * 1_000_000;
}

/** Asks the database to wait: an injection shows by time where every answer looks the same. */
export function slowSql(operation: Operation): Draft[] {
  return placesOf(operation).slice(0, PLACES).map((place) =>
    tell(operation, {
      family: "sql_injection_by_time",
      title: `Letting the database of ${nameOf(operation)} wait through ${place.name}`,
      who: "An attacker who sees no difference in the answers looks at the clock.",
      steps: [
        `Send a ${place.name} by which a database waits ${SECONDS} seconds`,
        "Where it is slow, send it without the wait, and once more",
      ],
      chaos: [`${place.name} becomes part of a query`],
      expected: "The text is searched for as it is, as fast as any other.",
      failures: ["The whole table can be read, one bit a second"],
      priority: "critical",
    }, {
      steps: (place.isNumber ? NUMBER_WAITS : WAITS).map(({ database, text }): PlaybookStep => {
        const { path, body } = place.request(text(0));
        return {
          ...place.request(text(SECONDS)),
          name: `a wait of ${database} as ${place.name}`,
          quick: { path, ...(body === undefined ? {} : { body }) },
        };
      }),
    })
  );
}
