const DESTROYS =
  /\b(drop\s+(table|database|schema|view|index|column|user|role|keyspace|collection|materialized|type|sequence|function|owned|tablespace)|truncate\b|alter\s+table\s[^;]{0,400}\bdrop\b|dropdatabase|flush(all|db)\b|\.drop\s*\(|drop(Table|Column|Collection|Index|All)?\s*\(|delete_?many\s*\(\s*(\{\s*\})?\s*\)|delete_?all\b|remove\s*\(\s*\{\s*\}\s*\)|detach\s+delete)/i;
const DELETES =
  /\bdelete\s+from\s+[\w."`[\]]+\s*(;|$|"|'|\)|returning\b)|\bdelete\s+from\s+[\w."`[\]]+\s+where\s+(1\s*=\s*1|true)\b/i;
const UPDATES_ALL = /\bupdate\s+[\w."`]+\s+set\s+(?![^;]{0,2000}\bwhere\b)[^;]/i;
const CHANGES =
  /\b(insert\s+into|update\s+\S+\s+set|delete\s+from|alter\s+(table|user|role|system|database)|create\s+(or\s+replace\s+)?(table|database|schema|index|unique|user|role|view|function|trigger|extension|sequence|type)|grant\s|revoke\s|replace\s+into|merge\s+into|copy\s+\S+\s+from|vacuum\s+full|rename\s|set\s+global|insert(One|Many)\s*\(|update(One|Many)\s*\(|deleteOne\s*\(|createIndex\s*\(|\b(set|hset|del|unlink|expire|lpush|rpush|sadd|config)\b\s+\S+)/i;

/** Whether the text deletes tables, or rows without a condition. */
export function isDestructiveSql(text: string): boolean {
  const bare = text.replace(/^\s*(--|#|\/\/).*$/gm, "");
  return DESTROYS.test(bare) || DELETES.test(bare) || UPDATES_ALL.test(bare);
}

/** The effect of a text on a database. */
export function effectOfSql(text: string): "destroys" | "changes" | "reads" {
  if (isDestructiveSql(text)) return "destroys";
  return CHANGES.test(text) ? "changes" : "reads";
}
