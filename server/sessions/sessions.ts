import type { Caller } from "../auth/schema.ts";
import { GateError } from "../errors.ts";
import type {
  Session,
  SessionInput,
  SessionList,
  SessionQuery,
  SessionStatusView,
} from "./schema.ts";

/** The connections of agents to one project. */
export class Sessions {
  open(_input: SessionInput, _caller: Caller): Promise<Session> {
    throw new GateError("internal", "not built yet");
  }
  end(_id: string, _caller: Caller): Promise<Session> {
    throw new GateError("internal", "not built yet");
  }
  get(_id: string): Promise<Session> {
    throw new GateError("internal", "not built yet");
  }
  status(_id: string): Promise<SessionStatusView> {
    throw new GateError("internal", "not built yet");
  }
  list(_query: SessionQuery): Promise<SessionList> {
    throw new GateError("internal", "not built yet");
  }
}
