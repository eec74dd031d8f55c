import type { OpenedWalls, Requester } from "./schema.ts";
import type { ListFolder } from "./interpret/globs.ts";
import type { GitLinks, Repository } from "./tracked.ts";

export type Access = "read" | "write" | "delete";

/** A path as it was requested (absolute, `..` folded), and its real path as far as it exists. */
export interface PathFacts {
  lexical: string;
  real: string;
  /** Why the disk gives no real path; `real` is then "". */
  unresolved?: string;
}

/** Access to one file. */
export interface PathRequest {
  kind: "path";
  access: Access;
  path: PathFacts;
  /** The name that tool rules match. */
  tool?: string;
  /** A read by a program or by a host's own tool: only rules that block or ask apply. */
  is_plain_read?: boolean;
}

/** The files below a folder that a search by a host's own tool reads. */
export interface Searched {
  /** The only names of files, as globs; empty for all. */
  only: string[];
  /** The names that it leaves out, as globs. */
  skips: string[];
  /** It leaves out the files that the repository ignores. */
  obeys_ignores: boolean;
  follows_links: boolean;
  /** It may read fewer files than this says. */
  is_vague: boolean;
}

/** A search by a host's own tool in the files below a folder. */
export interface SearchRequest {
  kind: "search";
  folder: PathFacts;
  below: Searched;
}

/** A command line, run in the folder `cwd`. */
export interface CommandRequest {
  kind: "command";
  command: string;
  cwd: string;
  tool?: string;
}

/** A call of any other tool, under the host's name for it. */
export interface ToolRequest {
  kind: "tool";
  tool: string;
  input: Record<string, unknown>;
  /** The folder from which relative paths start; the first root by default. */
  cwd?: string;
  /** Nothing else is evaluated for the call, so its input is searched for paths and commands. */
  searches?: boolean;
}

/** One tool call of an agent, as policy evaluates it. */
export type Request = PathRequest | SearchRequest | CommandRequest | ToolRequest;

/** The machine and the project that a request is evaluated in; policy/ itself does no I/O. */
export interface Surroundings {
  /** Real paths of the project's folders. */
  roots: readonly string[];
  /** The user's home folder. */
  user_home: string;
  /** The gate's own data folder. */
  gate_home: string;
  port: number;
  /** The daemon's process id, if known. */
  daemon_pid?: number;
  /** Looks a path up on disk. */
  resolve: (path: string) => PathFacts;
  /** The folder for which git takes settings, hooks or programs from this path, if any. */
  git_folder?: (path: string) => string | null;
  /** Lists the names in a folder; without it, nobody runs the command and globs stay unknown. */
  list?: ListFolder;
  /** The text of a small file of the project, empty if it is missing; null if gate cannot read it. */
  read?: (path: string) => string | null;
  /** The names that git ignores below a folder, and absolute paths; see `ignoredNames`. */
  ignored?: (folder: string) => readonly string[];
  /** The repository around a folder and the names that it tracks; null if there is none. */
  repository?: (folder: string) => Repository | null;
  /** The links in the folder of that repository, and what its lists name elsewhere; null if unknown. */
  git_links?: (folder: string) => GitLinks | null;
  /** Resolves when the histories that were asked for are read; null if none is being read. */
  settle?: () => Promise<void> | null;
  /** Whether a list of ignored names in this folder takes names back; see `takesNamesBack`. */
  takes_back?: (folder: string) => boolean;
  /**
   * The action belongs to another project and touches files of this one: the rules decide about paths
   * inside the roots only.
   */
  is_guest?: boolean;
  /** The engine that can sandbox a command. Without one, everything is judged by its text alone. */
  sandbox?: {
    engine: string;
    opened?: OpenedWalls;
    /** The real folders outside the project that commands write in it, if it answers questions. */
    folders?: readonly string[];
    /** The folders of other projects. */
    projects?: readonly string[];
    /** Whether each session has a folder of its own in the place of this path. */
    is_own?: (path: string) => boolean;
  } | null;
  /** The text of a script in the project's task file (`npm run build`), if it exists. */
  script?: (name: string, cwd: string) => string | null;
}

/** Everything that a decision depends on besides the rules and the request. */
export interface EvaluationOptions extends Surroundings {
  /** Absent if no session asks, as in `gate policy test`. */
  requester?: Requester;
}
