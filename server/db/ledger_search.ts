/** A longer text is found by its beginning. */
const MOST_TEXT = 4_000;

const ADD = `INSERT INTO actions_words (rowid, path, command, reason)
  VALUES (NEW.number, substr(NEW.path, 1, ${MOST_TEXT}), substr(NEW.command, 1, ${MOST_TEXT}),
    substr(coalesce(NEW.reason, '') || ' ' || coalesce(json_extract(NEW.decision, '$.reason'), ''),
      1, ${MOST_TEXT}));`;

/**
 * The words of paths, commands and reasons, kept by the database itself in the same batch as the
 * actions. Only the index: the texts stand in the actions.
 */
export const SEARCH: string[] = [
  `CREATE VIRTUAL TABLE actions_words USING fts5(path, command, reason,
    content = '', contentless_delete = 1, detail = full, tokenize = 'unicode61 remove_diacritics 2')`,
  `CREATE TRIGGER actions_words_added AFTER INSERT ON actions BEGIN ${ADD} END`,
  `CREATE TRIGGER actions_words_changed AFTER UPDATE OF path, command, reason, decision ON actions
    WHEN OLD.path IS NOT NEW.path OR OLD.command IS NOT NEW.command
      OR OLD.reason IS NOT NEW.reason OR OLD.decision IS NOT NEW.decision BEGIN
    DELETE FROM actions_words WHERE rowid = OLD.number;
    ${ADD}
  END`,
];
