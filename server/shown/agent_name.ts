/**
 * An agent's name among the names of persons and of gate. An agent chooses its own name, so one that
 * reads like a person, like gate or like this mark is quoted and says that it is an agent's.
 */
export function agentName(name: string): string {
  return TAKEN.test(name.normalize("NFKC")) ? `agent "${name}"` : name;
}

/** A person's name in a column of agents' names. `agentName` leaves no agent's name beginning so. */
export function personName(name: string): string {
  return `person ${name}`;
}

const TAKEN =
  /^[^\p{L}]*(?:(?:a|an|the|your?)[^\p{L}]+)*(?:person|people|human|user|agent|reviewer|approver|admin|viewer|member|owner|policy|gate|system|you|me)(?!\p{L})|^[^\p{L}\p{N}]/iu;
