/** More different keys of one kind in one day are counted together, under an empty key. */
export const MOST_KEYS = 500;

/** SQL for a trigger on `actions` that adds `n` to the count of a key. */
function count(kind: string, key: string, { day, n = "1" }: { day: string; n?: string }): string {
  const same = `project_id = NEW.project_id AND kind = '${kind}' AND day = substr(${day}, 1, 10)`;
  return `INSERT INTO daily_counts (project_id, kind, day, key, n)
    SELECT NEW.project_id, '${kind}', substr(${day}, 1, 10), CASE
      WHEN EXISTS (SELECT 1 FROM daily_counts WHERE ${same} AND key = ${key})
        OR (SELECT count(*) FROM daily_counts WHERE ${same}) < ${MOST_KEYS}
      THEN ${key} ELSE '' END, ${n}
    WHERE true
    ON CONFLICT (project_id, kind, day, key) DO UPDATE SET n = n + excluded.n;`;
}

const DECIDED = { day: "NEW.decided_at" };
const BY_AGENT = count("agent", "json_array(NEW.agent, NEW.status)", DECIDED);
const BY_RULE = count(
  "rule",
  `json_array(json_extract(NEW.decision, '$.effect'), json_extract(NEW.decision, '$.rule.source'),
    json_extract(NEW.decision, '$.rule.list'), json_extract(NEW.decision, '$.rule.pattern'),
    NEW.status)`,
  DECIDED,
);

const COUNT_HOUR = `BEGIN
    ${count("hour", "substr(NEW.created_at, 12, 2)", { day: "NEW.created_at" })}
  END`;
const COUNT_BLOCKED = `WHEN NEW.status = 'blocked' AND NEW.path IS NOT NULL BEGIN
    ${count("blocked_path", "NEW.path", { day: "NEW.created_at" })}
  END`;
const COUNT_DECIDED = `WHEN NEW.decided_by = 'policy' AND NEW.decided_at IS NOT NULL BEGIN
    ${BY_AGENT}
    ${BY_RULE}
  END`;

const WAITED =
  "CAST(round((julianday(NEW.decided_at) - julianday(NEW.created_at)) * 86400000) AS INTEGER)";

/**
 * Counts by day for the analytics. Triggers update them in the batch of each action, so a summary
 * never reads the actions.
 */
export const ROLLUPS: string[] = [
  `CREATE TABLE daily_counts (
    project_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN
      ('hour', 'blocked_path', 'agent', 'reviewer', 'rule', 'rolled_back')),
    day TEXT NOT NULL,
    key TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (project_id, kind, day, key)
  ) STRICT, WITHOUT ROWID`,
  // Waiting times are rounded to two digits, which makes at most some hundred rows a day.
  `CREATE TABLE daily_latencies (
    project_id TEXT NOT NULL,
    day TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    n INTEGER NOT NULL,
    sum_ms INTEGER NOT NULL,
    max_ms INTEGER NOT NULL,
    PRIMARY KEY (project_id, day, bucket)
  ) STRICT, WITHOUT ROWID`,

  `CREATE TRIGGER actions_hour AFTER INSERT ON actions ${COUNT_HOUR}`,
  `CREATE TRIGGER actions_blocked AFTER INSERT ON actions
    ${COUNT_BLOCKED}`,
  `CREATE TRIGGER actions_decided_by_policy AFTER INSERT ON actions
    ${COUNT_DECIDED}`,
  `CREATE TRIGGER actions_decided_later AFTER UPDATE ON actions
    WHEN OLD.status = 'pending' AND NEW.status <> 'pending' AND NEW.decided_at IS NOT NULL BEGIN
    ${BY_AGENT}
    ${BY_RULE}
  END`,
  `CREATE TRIGGER actions_reviewed AFTER UPDATE ON actions
    WHEN OLD.status = 'pending' AND NEW.status IN ('approved', 'rejected')
      AND NEW.decided_at IS NOT NULL AND NEW.decided_by IS NOT NULL BEGIN
    ${count("reviewer", "json_array(NEW.decided_by, NEW.status)", DECIDED)}
    INSERT INTO daily_latencies (project_id, day, bucket, n, sum_ms, max_ms)
      SELECT NEW.project_id, substr(NEW.decided_at, 1, 10),
        CASE WHEN ms < 100 THEN ms
          ELSE CAST(substr(ms, 1, 2) || substr('0000000000000000', 1, length(ms) - 2) AS INTEGER)
        END, 1, ms, ms
      FROM (SELECT max(0, ${WAITED}) AS ms) WHERE true
      ON CONFLICT (project_id, day, bucket) DO UPDATE SET
        n = n + 1, sum_ms = sum_ms + excluded.sum_ms, max_ms = max(max_ms, excluded.max_ms);
  END`,
  // Allowed by policy and rolled back later: counted on the day when policy allowed it.
  `CREATE TRIGGER actions_allowed_rolled_back AFTER UPDATE ON actions
    WHEN NEW.decided_by = 'policy' AND NEW.decided_at IS NOT NULL AND NEW.tool <> 'rollback'
      AND (OLD.status = 'rolled_back') <> (NEW.status = 'rolled_back') BEGIN
    ${
    count("rolled_back", "'allowed'", {
      ...DECIDED,
      n: "CASE WHEN NEW.status = 'rolled_back' THEN 1 ELSE -1 END",
    })
  }
  END`,
];

/** More rules in one ledger are counted together, under an empty name. */
const MOST_RULES = 5_000;

const part = (name: string) => `json_extract(NEW.decision, '$.rule.${name}')`;
const effectIs = (effect: string) => `json_extract(NEW.decision, '$.effect') = '${effect}'`;

/** SQL that is true when a person approved what the rule held, or undid what it allowed. */
function overruled(row: "NEW" | "OLD"): string {
  return `((${effectIs("ask")} AND ${row}.status IN ('approved', 'rolled_back')
      AND coalesce(${row}.decided_by, '') <> 'policy')
    OR (${effectIs("allow")} AND ${row}.status = 'rolled_back'))`;
}

const ROOM = `(SELECT count(*) FROM rule_hits WHERE project_id = NEW.project_id) < ${MOST_RULES}`;
const KNOWN = `EXISTS (SELECT 1 FROM rule_hits WHERE project_id = NEW.project_id
  AND source = ${part("source")} AND list = ${part("list")} AND pattern = ${part("pattern")})`;
const nameOrNone = (key: string) => `CASE WHEN is_named THEN ${key} ELSE '' END`;

const COUNT_RULE = `WHEN ${part("pattern")} IS NOT NULL BEGIN
    INSERT INTO rule_hits
      SELECT NEW.project_id, ${nameOrNone(part("source"))}, ${nameOrNone(part("list"))},
        ${nameOrNone(part("pattern"))}, ${effectIs("allow")}, ${effectIs("ask")}, ${
  effectIs("deny")
},
        ${overruled("NEW")}, NEW.created_at
      FROM (SELECT ${KNOWN} OR ${ROOM} AS is_named) WHERE true
      ON CONFLICT DO UPDATE SET allow = allow + excluded.allow, ask = ask + excluded.ask,
        deny = deny + excluded.deny, overruled = overruled + excluded.overruled,
        last_hit_at = max(last_hit_at, excluded.last_hit_at);
  END`;

/** How often each rule decided, over the whole ledger; triggers update it with each action. */
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
    ${COUNT_RULE}`,
  `CREATE TRIGGER actions_rule_overruled AFTER UPDATE OF status, decided_by ON actions
    WHEN ${part("pattern")} IS NOT NULL AND ${overruled("OLD")} <> ${overruled("NEW")} BEGIN
    UPDATE rule_hits SET overruled = overruled + ${overruled("NEW")} - ${overruled("OLD")}
      WHERE project_id = NEW.project_id
        AND source = CASE WHEN ${KNOWN} THEN ${part("source")} ELSE '' END
        AND list = CASE WHEN ${KNOWN} THEN ${part("list")} ELSE '' END
        AND pattern = CASE WHEN ${KNOWN} THEN ${part("pattern")} ELSE '' END;
  END`,
];

/**
 * The counts of new actions, as triggers on `view`: an INSERT into it counts the inserted rows and
 * stores nothing else.
 */
export function countNew(view: string): string[] {
  const counts = { hour: COUNT_HOUR, blocked: COUNT_BLOCKED, decided: COUNT_DECIDED };
  return Object.entries({ ...counts, rule: COUNT_RULE }).map(([name, body]) =>
    `CREATE TRIGGER ${view}_${name} INSTEAD OF INSERT ON ${view} ${body}`
  );
}
