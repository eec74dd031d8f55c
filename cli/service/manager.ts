/** The program to start at login. */
export interface Program {
  command: string;
  args: string[];
  env: Record<string, string>;
  /** The gate's home. */
  home: string;
}

/** The state that the manager reports. */
export interface ServiceState {
  /** The manager starts it at login. */
  enabled: boolean;
  running: boolean;
  pid: number | null;
  /** The manager's own words, such as "failed (exit-code)". */
  says: string;
}

/** Why a service cannot be installed here, and the next step instead. */
export interface Obstacle {
  why: string;
  next: string;
}

/** A program that starts others at login: systemd on Linux, launchd on macOS. */
export interface ServiceManager {
  name: "systemd" | "launchd";
  /** The file that defines the service. */
  file: string;
  render(program: Program): string;
  /** Null when this user can have services. */
  obstacle(): Promise<Obstacle | null>;
  state(): Promise<ServiceState>;
  /** Starts the service now and at each login. @throws CliError */
  activate(): Promise<void>;
  /** Stops the service and its start at login. @throws CliError */
  deactivate(): Promise<void>;
  /** Called after the file was removed. */
  forget(): Promise<void>;
  /** The command that shows the log of the service; null when the manager keeps none. */
  journal(options: JournalOptions): Promise<string[] | null>;
}

export interface JournalOptions {
  lines: number;
  follow: boolean;
  json: boolean;
}

/** The mark in files that gate wrote. gate changes no other file. */
export const MARK = "Written by `gate service install`; changes in here are lost.";
