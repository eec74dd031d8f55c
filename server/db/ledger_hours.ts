const RISK = "json_extract(risk, '$.level')";

/**
 * Which numbers the actions of each hour have, so that a span of time is a span of numbers: exact
 * whatever the clock does, because every hour that was ever seen is looked at. And the index of
 * the one filter that had none.
 */
export const HOURS: string[] = [
  `CREATE TABLE action_hours (
    project_id TEXT NOT NULL,
    hour TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    PRIMARY KEY (project_id, hour)
  ) STRICT, WITHOUT ROWID`,
  `INSERT INTO action_hours SELECT project_id, substr(created_at, 1, 13), min(seq), max(seq)
    FROM actions GROUP BY project_id, substr(created_at, 1, 13)`,
  `CREATE TRIGGER actions_in_hour AFTER INSERT ON actions BEGIN
    INSERT INTO action_hours VALUES
      (NEW.project_id, substr(NEW.created_at, 1, 13), NEW.seq, NEW.seq)
      ON CONFLICT DO UPDATE SET first_seq = min(first_seq, excluded.first_seq),
        last_seq = max(last_seq, excluded.last_seq);
  END`,
  // The project comes second, or SQLite would take this index where nothing is asked but it.
  `CREATE INDEX actions_by_risk ON actions (${RISK}, project_id, seq)`,
];
