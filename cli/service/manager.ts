/** What has to be started at login, and where its own things are. */
export interface Program {
  command: string;
  args: string[];
  env: Record<string, string>;
  /** The gate's home. */
  home: string;
}

/** How the service is, as its manager says. */
export interface ServiceState {
  /** It is started at login. */
  enabled: boolean;
  running: boolean;
  pid: number | null;
  /** The manager's own words, such as "failed (exit-code)". */
  says: string;
}

/** Why a service cannot be kept here, and what to do instead. */
export interface Obstacle {
  why: string;
  next: string;
}

/** What starts programs at login: systemd on Linux, launchd on macOS. */
export interface ServiceManager {
  name: "systemd" | "launchd";
  /** The file in which the service is written down. */
  file: string;
  render(program: Program): string;
  /** Null where services of this user can be kept. */
  obstacle(): Promise<Obstacle | null>;
  state(): Promise<ServiceState>;
  /** Starts what the file says, now and at each login. @throws CliError */
  activate(): Promise<void>;
  /** Ends it, now and for good. @throws CliError */
  deactivate(): Promise<void>;
  /** Called when the file has gone. */
  forget(): Promise<void>;
  /** The command that shows what the service wrote, where the manager keeps that. */
  journal(options: JournalOptions): Promise<string[] | null>;
}

export interface JournalOptions {
  lines: number;
  follow: boolean;
  json: boolean;
}

/** The first line of what we write: whatever lacks it was written by somebody else. */
export const MARK = "Written by `gate service install`; changes in here are lost.";
