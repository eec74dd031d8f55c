import type { Action, ActionList, ActionQuery } from "./actions/schema.ts";
import type { Environment } from "./context.ts";
import { GateError } from "./errors.ts";
import type { Bus } from "./events/bus.ts";
import type { Stream } from "./events/stream.ts";
import type { DaemonStatus } from "./global/schema.ts";
import type { Project } from "./projects/project.ts";
import type { HubProject } from "./projects/schema.ts";

/** Everything machine-wide: the registry of projects, their opening on demand, the event bus. */
export class Daemon {
  readonly home!: string;
  readonly port!: number;
  readonly bus!: Bus;
  readonly stream!: Stream;

  /** Opens the registry, and with `project` nothing but that one. */
  static open(
    _environment: Environment,
    _options: { port: number; project: string | null },
  ): Promise<Daemon> {
    throw new GateError("internal", "not built yet");
  }

  /** The project of that id, its ledger opened. @throws GateError `not_found` */
  project(_id: string): Promise<Project> {
    throw new GateError("internal", "not built yet");
  }
  /** The project that is meant when none is named. @throws GateError `project_required` */
  onlyProject(): Promise<Project> {
    throw new GateError("internal", "not built yet");
  }
  /** The project that an action belongs to. @throws GateError `not_found` */
  projectOfAction(_id: string): Promise<Project> {
    throw new GateError("internal", "not built yet");
  }
  listProjects(): Promise<HubProject[]> {
    throw new GateError("internal", "not built yet");
  }
  registerProject(_root: string): Promise<HubProject> {
    throw new GateError("internal", "not built yet");
  }
  listPending(): Promise<Action[]> {
    throw new GateError("internal", "not built yet");
  }
  listActions(_query: ActionQuery): Promise<ActionList> {
    throw new GateError("internal", "not built yet");
  }
  status(): Promise<DaemonStatus> {
    throw new GateError("internal", "not built yet");
  }
  close(): Promise<void> {
    throw new GateError("internal", "not built yet");
  }
}
