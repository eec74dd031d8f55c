/** More rules than this in one ledger are counted together, under no name. */
export const MOST_RULES = 5_000;

const part = (name: string) => `json_extract(NEW.decision, '$.rule.${name}')`;
const effectIs = (effect: string) => `json_extract(NEW.decision, '$.effect') = '${effect}'`;

/** Asked and then approved by a person, or allowed and taken back. */
function overruled(row: "NEW" | "OLD"): string {
  return `((${effectIs("ask")} AND ${row}.status IN ('approved', 'rolled_back')
      AND coalesce(${row}.decided_by, '') <> 'policy')
    OR (${effectIs("allow")} AND ${row}.status = 'rolled_back'))`;
}

const ROOM = `(SELECT count(*) FROM rule_hits WHERE project_id = NEW.project_id) < ${MOST_RULES}`;
const KNOWN = `EXISTS (SELECT 1 FROM rule_hits WHERE project_id = NEW.project_id
  AND source = ${part("source")} AND list = ${part("list")} AND pattern = ${part("pattern")})`;
const name = (key: string) => `CASE WHEN is_named THEN ${key} ELSE '' END`;

/**
 * How often each rule has decided, kept by the database in the same batch as the actions: exact
 * over the whole ledger, and never counted anew.
 */
export const RULE_HITS: string[] = [
  `CREATE TABLE rule_hits (
    project_id TEXT NOT NULL,
    source TEXT NOT NULL,
    list TEXT NOT NULL,
    pattern TEXT NOT NULL,
    allow INTEGER NOT NULL,
    ask INTEGER NOT NULL,
    deny INTEGER NOT NULL,
    overruled INTEGER NOT NULL,
    last_hit_at TEXT NOT NULL,
    PRIMARY KEY (project_id, source, list, pattern)
  ) STRICT, WITHOUT ROWID`,
  `INSERT INTO rule_hits
    SELECT project_id, source, list, pattern, SUM(effect = 'allow'), SUM(effect = 'ask'),
      SUM(effect = 'deny'), SUM((effect = 'ask' AND status IN ('approved', 'rolled_back')
        AND coalesce(decided_by, '') <> 'policy')
      OR (effect = 'allow' AND status = 'rolled_back')), MAX(created_at)
    FROM (SELECT project_id, status, decided_by, created_at,
        json_extract(decision, '$.effect') AS effect,
        json_extract(decision, '$.rule.source') AS source,
        json_extract(decision, '$.rule.list') AS list,
        json_extract(decision, '$.rule.pattern') AS pattern FROM actions)
    WHERE pattern IS NOT NULL GROUP BY project_id, source, list, pattern`,
  `CREATE TRIGGER actions_rule_hit AFTER INSERT ON actions
    WHEN ${part("pattern")} IS NOT NULL BEGIN
    INSERT INTO rule_hits
      SELECT NEW.project_id, ${name(part("source"))}, ${name(part("list"))},
        ${name(part("pattern"))}, ${effectIs("allow")}, ${effectIs("ask")}, ${effectIs("deny")},
        ${overruled("NEW")}, NEW.created_at
      FROM (SELECT ${KNOWN} OR ${ROOM} AS is_named) WHERE true
      ON CONFLICT DO UPDATE SET allow = allow + excluded.allow, ask = ask + excluded.ask,
        deny = deny + excluded.deny, overruled = overruled + excluded.overruled,
        last_hit_at = max(last_hit_at, excluded.last_hit_at);
  END`,
  `CREATE TRIGGER actions_rule_overruled AFTER UPDATE OF status, decided_by ON actions
    WHEN ${part("pattern")} IS NOT NULL AND ${overruled("OLD")} <> ${overruled("NEW")} BEGIN
    UPDATE rule_hits SET overruled = overruled + ${overruled("NEW")} - ${overruled("OLD")}
      WHERE project_id = NEW.project_id
        AND source = CASE WHEN ${KNOWN} THEN ${part("source")} ELSE '' END
        AND list = CASE WHEN ${KNOWN} THEN ${part("list")} ELSE '' END
        AND pattern = CASE WHEN ${KNOWN} THEN ${part("pattern")} ELSE '' END;
  END`,
];
