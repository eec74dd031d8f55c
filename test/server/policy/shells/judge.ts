import {
  compilePolicy,
  evaluate,
  type Evaluation,
  type Surroundings,
} from "../../../../server/policy/evaluate.ts";
import { policyTemplate, type TemplateName } from "../../../../server/policy/templates.ts";
import { listFolder, resolvePath } from "../../../../server/runtime/real_path.ts";
import type { Box } from "./box.ts";

export const TEMPLATES = ["strict", "balanced", "permissive"] as const;

/** Evaluates texts by the templates, in a box in which nothing runs. */
export class Judge {
  readonly #root: string;
  readonly #around: Surroundings;
  readonly #policies = TEMPLATES.map((name) => ({
    name,
    compiled: compilePolicy({ global: null, project: withCanary(name), override_global: false }),
  }));

  constructor(pristine: Box) {
    this.#root = pristine.root;
    this.#around = {
      roots: [pristine.root],
      user_home: pristine.home,
      gate_home: `${pristine.home}/.gate`,
      port: 47_000,
      resolve: resolvePath,
      list: listFolder,
    };
  }

  /** The templates that allow a text. */
  allowing(code: string): TemplateName[] {
    return TEMPLATES.filter((name) => this.evaluate(name, code).decision.effect === "allow");
  }

  evaluate(name: TemplateName, code: string): Evaluation {
    const { compiled } = this.#policies.find((one) => one.name === name)!;
    return evaluate(compiled, { kind: "command", command: code, cwd: this.#root }, this.#around);
  }
}

/** The template. Where it may allow what the canary stands for, that is blocked. */
function withCanary(name: TemplateName) {
  const template = policyTemplate(name);
  if (name === "strict") return template;
  return {
    ...template,
    blockedPaths: [...template.blockedPaths ?? [], "pwned"],
    ...(name === "permissive"
      ? { blockedCommands: [...template.blockedCommands ?? [], "canary", "rm -rf"] }
      : {}),
  };
}
