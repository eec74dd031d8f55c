/** More names than this in one day and of one kind are counted together, under no name. */
export const MOST_KEYS = 500;

/** Adds `n` to the count of a key, in a trigger on `actions`. */
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

const WAITED =
  "CAST(round((julianday(NEW.decided_at) - julianday(NEW.created_at)) * 86400000) AS INTEGER)";

/**
 * What the analytics read: counts by day, kept by the database itself in the same batch as the
 * actions, so that no summary ever looks at the actions.
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
  // Waiting times to two digits: at most some hundred rows a day, and exact where a row has one.
  `CREATE TABLE daily_latencies (
    project_id TEXT NOT NULL,
    day TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    n INTEGER NOT NULL,
    sum_ms INTEGER NOT NULL,
    max_ms INTEGER NOT NULL,
    PRIMARY KEY (project_id, day, bucket)
  ) STRICT, WITHOUT ROWID`,

  `CREATE TRIGGER actions_hour AFTER INSERT ON actions BEGIN
    ${count("hour", "substr(NEW.created_at, 12, 2)", { day: "NEW.created_at" })}
  END`,
  `CREATE TRIGGER actions_blocked AFTER INSERT ON actions
    WHEN NEW.status = 'blocked' AND NEW.path IS NOT NULL BEGIN
    ${count("blocked_path", "NEW.path", { day: "NEW.created_at" })}
  END`,
  `CREATE TRIGGER actions_decided_by_policy AFTER INSERT ON actions
    WHEN NEW.decided_by = 'policy' AND NEW.decided_at IS NOT NULL BEGIN
    ${BY_AGENT}
    ${BY_RULE}
  END`,
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
  // Policy allowed it, and somebody took it back: counted on the day on which it was allowed.
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
