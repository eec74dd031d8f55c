import type { RiskFactor } from "../../policy/schema.ts";
import type { Cause } from "../facts.ts";
import { effectOfSql } from "../sql.ts";
import {
  asksHelp,
  type Call,
  type Context,
  has,
  MAX_TEXT,
  one,
  productionOf,
  type Row,
  triesOnly,
} from "./call.ts";

/** Programs that create or migrate the schema of a database. */
export const DB_TOOLS =
  /^(prisma|knex|sequelize|sequelize-cli|typeorm|alembic|flyway|liquibase|goose|dbmate|drizzle-kit|atlas|diesel|sqlx|migrate|rails|rake|artisan|mikro-orm|node-pg-migrate|db-migrate|umzug|ecto|mix|manage\.py|wp|drush|supabase|hasura|sqitch|phinx|doctrine|yoyo|flask|kysely)$/;

/** Programs that change, copy or migrate a database. */
export const DATABASES: readonly Row[] = [
  [
    /^(psql|pgcli|mysql|mycli|mariadb|sqlite3|sqlite|mongosh|mongo|redis-cli|valkey-cli|sqlcmd|clickhouse-client|clickhouse|duckdb|cqlsh|influx|cockroach|usql|snowsql|isql|sqlplus|bq|etcdctl|cypher-shell|surreal|turso)$/,
    databaseCauses,
  ],
  [DB_TOOLS, migrationCauses],
  [
    /^(dropdb|dropuser)$/,
    (call, context) =>
      databaseEffect(
        "database_destroy",
        `${call.program} deletes a database or a user of it`,
        productionOf(call, context),
      ),
  ],
  [
    /^(createdb|createuser|pg_restore|mongorestore|mysqlimport|mysqladmin|mongoimport)$/,
    (call, context) =>
      databaseEffect(
        /\bdrop\b|--clean|--drop/.test(call.text) ? "database_destroy" : "database_change",
        `${call.program} changes a database`,
        productionOf(call, context),
      ),
  ],
  [/^(pg_dump|pg_dumpall|mysqldump|mongodump|mongoexport)$/, (call, context) => {
    const production = productionOf(call, context);
    return production === null
      ? one("interpreter", `${call.program} copies a database`)
      : one("production_named", `${call.program} copies "${production}"`);
  }],
];

const DB_WORD =
  /(^|[:/ _.-])(db|database|migrat\w*|schema|seed|ecto)([:/ _.-]|$)|^(flush|sqlflush|reset_db|dbshell)$/;

function databaseCauses(call: Call, context: Context): Cause[] {
  const { program, words, text } = call;
  if (asksHelp(call)) return [];
  const target = productionOf(call, context);
  if (program === "etcdctl" && words.includes("del")) return keysCauses(call, target);
  const effects = call.argv.map((word) => effectOfSql(word.slice(0, MAX_TEXT)));
  const effect = effects.find((one) => one === "destroys") ??
    effects.find((one) => one === "changes") ?? effectOfSql(text);
  if (effect === "reads") {
    const isFed = /(^|\s)(-f|--file|<)\s?\S|\b(source|\\i|restore|\.read|\.import|load\s+data)\b/
      .test(text);
    if (isFed) {
      return databaseEffect("database_change", `${program} runs a file of statements`, target);
    }
    return [];
  }
  return effect === "destroys"
    ? databaseEffect("database_destroy", `${program} deletes data`, target)
    : databaseEffect(
      "database_change",
      `${program} changes data: ${words.at(-1)?.slice(0, 60)}`,
      target,
    );
}

/** The deletion of keys: of a whole store, if no key or prefix limits it. */
function keysCauses(call: Call, production: string | null): Cause[] {
  const causes = databaseEffect("database_destroy", `${call.program} deletes keys`, production);
  const isWide = has(call, /^--(prefix|from-key)(=true)?$/);
  if (isWide && call.words.every((word) => word === "del" || word === "" || word === "/")) {
    causes.push({ name: "destroys_whole", why: `${call.program} deletes every key` });
  }
  return causes;
}

function databaseEffect(name: RiskFactor, why: string, production: string | null): Cause[] {
  const causes = one(name, why);
  if (production !== null) causes.push({ name: "production", why: `it works on "${production}"` });
  return causes;
}

/** The causes of a change to the schema of a database. */
export function migrationCauses(call: Call, context: Context): Cause[] {
  const { program, words, text } = call;
  if (asksHelp(call) || triesOnly(call)) return [];
  const lower = words.join(" ");
  const isMigrator = !/^(rails|rake|artisan|mix|manage\.py|wp|drush|flask|supabase|atlas)$/.test(
    program,
  );
  if (!isMigrator && !DB_WORD.test(lower)) return [];
  const production = productionOf(call, context);
  if (
    /\b(reset|fresh|flush|sqlflush|drop|undo|down|clean|wipe|purge|downgrade|revert|rollback|refresh|reset_db|delete|truncate_all|replant)\b|\b(schema|structure):load\b/
      .test(lower) ||
    /accept-data-loss|force-reset/.test(text) ||
    (/\bpush\b/.test(lower) && has(call, /^--force$/))
  ) {
    return databaseEffect(
      "database_destroy",
      `${program} ${lower} takes a schema or its data back`,
      production,
    );
  }
  if (/\bdeploy\b/.test(lower)) {
    return databaseEffect(
      "database_destroy",
      `${program} ${lower} changes a deployed database`,
      production,
    );
  }
  if (
    /\b(status|generate|diff|validate|format|history|current|studio|info|show|list|version|introspect|pull|new|create|make|revision|heads|check|lint|inspect)\b/
      .test(lower) && !/\b(up|upgrade|migrate dev|db:create)\b/.test(lower)
  ) {
    return production === null ? [] : one("production_named", `it names "${production}"`);
  }
  return databaseEffect("database_change", `${program} ${lower} changes a database`, production);
}
