/** The release, shown by `--version`, `/healthz` and the daemon's status. */
export const VERSION = "5.0.0";

/** The daemon's port. `GATE_PORT` changes it, for tests and side-by-side runs. */
export const DEFAULT_PORT = 47000;

/** The first port for legacy per-project servers (`gate start`). */
export const FIRST_PROJECT_PORT = 47001;

/** The id of the machine's own ledger, which records the calls from folders of no project. */
export const MACHINE_ID = "machine";

/** The limits of HTTP requests. SECURITY.md gives the reasons. */
export const REQUEST_LIMITS = {
  header_bytes: 16 * 1024,
  header_lines: 100,
  url_bytes: 8 * 1024,
  body_bytes: 1024 * 1024,
  content_body_bytes: 16 * 1024 * 1024,
  all_bodies_bytes: 256 * 1024 * 1024,
  json_depth: 64,
  json_values: 500_000,
  json_names: 50_000,
  headers_timeout_ms: 15_000,
  request_timeout_ms: 30_000,
  write_timeout_ms: 30_000,
  drain_bytes: 1024 * 1024,
  connections: 4096,
  event_readers: 2048,
} as const;

/** A held MCP call answers `pending` after this time, which is below the limit of every host. */
export const DEFAULT_WAIT_MS = 45_000;
