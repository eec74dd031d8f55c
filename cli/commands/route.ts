import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { ApprovalRoute, RouteTestResult } from "../../server/approval_routes/schema.ts";
import { unwrap } from "../../server/client.ts";
import { connect } from "../daemon/connect.ts";
import { CliError, EXIT } from "../errors.ts";
import type { Io } from "../io.ts";
import { countBetween, examples, parseSpan } from "../options.ts";
import { openProject } from "../project.ts";
import { AS, PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { paint, print, printJson, say } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate route`: who approves which held actions. */
export function createCommand(io: Io) {
  const route = new Command("route")
    .description(
      "List or change the approval routes: who approves which held actions, and how many people. " +
        "They are kept in approval_routes.json.",
    )
    .addHelpText("after", HELP);
  addList(route, io);
  addAdd(route, io);
  addChange(route, io);
  addRemove(route, io);
  addTest(route, io);
  return route;
}

function addList(route: Command, io: Io): void {
  route.command("list")
    .description("List the approval routes.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate route list"))
    .action(async ({ json }) => {
      const { api } = await connect(io, { scope: "viewer" });
      const { items, problem } = await unwrap(api["approval-routes"].$get());
      if (json) return printJson(io, items);
      if (problem !== null) say(io, `gate: ${visibleLine(problem)}`);
      print(io, items.length > 0 ? items.map((one) => describe(io, one)).join("\n") : NONE);
    });
}

function addAdd(route: Command, io: Io): void {
  withFields(
    route.command("add")
      .description("Add an approval route.")
      .argument("<name>", "the route's name"),
  )
    .option("--id <id>", "its id in commands (default: made of the name)")
    .addHelpText(
      "after",
      examples(
        "gate route add Production --path 'deploy/**' --role reviewer --quorum 2",
        "gate route add Databases --command 'psql' --member ann ben --expires-after 1h",
      ),
    )
    .action(async (name, { id, ...options }) => {
      const { client } = await openReview(io, options);
      const json = {
        name,
        ...id !== undefined && { id },
        ...fieldsOf(options),
        approvers: approversIn(options) ?? {},
      };
      const added = await unwrap(client.api["approval-routes"].$post({ json }));
      show(io, "added", added, options.json);
    });
}

function addChange(route: Command, io: Io): void {
  withFields(
    route.command("change")
      .description("Change an approval route. A list that is given replaces the old one.")
      .argument("<id>", ROUTE_ID),
  )
    .option("--name <name>", "its new name")
    .addHelpText("after", examples("gate route change production --quorum 3"))
    .action(async (id, { name, ...options }) => {
      const approvers = approversIn(options);
      const json = {
        ...fieldsOf(options),
        ...name !== undefined && { name },
        ...approvers && { approvers },
      };
      if (Object.keys(json).length === 0) {
        throw new CliError("Cannot change the route: give at least one option", {
          next: "gate route change --help",
          exit: EXIT.usage,
        });
      }
      const { client } = await openReview(io, options);
      const one = client.api["approval-routes"][":id"];
      show(io, "changed", await unwrap(one.$patch({ param: { id }, json })), options.json);
    });
}

function addRemove(route: Command, io: Io): void {
  route.command("remove")
    .description("Remove an approval route. One person then approves what it matched.")
    .argument("<id>", ROUTE_ID)
    .option(...AS)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate route remove production"))
    .action(async (id, { as, json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin, as });
      const one = client.api["approval-routes"][":id"];
      show(io, "removed", await unwrap(one.$delete({ param: { id } })), json);
    });
}

function addTest(route: Command, io: Io): void {
  route.command("test")
    .description("Show which route an action would take, and why. Nothing is recorded.")
    .option("--path <path>", "a file that the action writes, or reads or deletes with --action")
    .option("--action <kind>", "write, read, delete, command or a tool's name")
    .option("--command <command>", "a command that the action runs")
    .option("--agent <name>", "the agent's name")
    .option("--host <platform>", "the platform of the agent's host")
    .addOption(riskOption("--risk <level>", "the risk of the action (default: low)"))
    .option("--project <id>", "the project (default: the project of this folder)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      examples("gate route test --path deploy/prod.yaml", "gate route test --command 'psql -l'"),
    )
    .action(async ({ project, json, ...question }) => {
      if (question.path === undefined && question.command === undefined && !question.action) {
        throw new CliError("Cannot test the routes: no command or path is given", {
          next: "gate route test --help",
          exit: EXIT.usage,
        });
      }
      const client = await openProject(io, project);
      const result = await unwrap(client.api["approval-routes"].test.$post({ json: question }));
      if (json) return printJson(io, result);
      print(io, explain(io, result));
    });
}

type Route = Command<[string]>;

function withFields<C extends Route>(command: C) {
  return command
    .option("--path <pattern...>", "match actions on these paths, as in the policy")
    .option("--command <pattern...>", "match these commands, as in the policy")
    .option("--tool <pattern...>", "match these tools, as in the policy")
    .option("--agent <pattern...>", "match only these agents")
    .option("--host <pattern...>", "match only agents in these hosts")
    .option("--in-project <id...>", "match only actions of these projects")
    .addOption(riskOption("--min-risk <level>", "match only actions of this risk or a higher one"))
    .option("--member <id...>", "ask these members")
    .addOption(
      new Option("--role <role>", "ask everybody with this role")
        .choices(["reviewer", "admin"] as const),
    )
    .option("--quorum <count>", "how many of them must approve", countBetween(1, 100))
    .option("--ordered", "ask the members one after the other")
    .option("--edit-needs-other", "an edit needs the approval of another person")
    .option(
      "--remind-at <part...>",
      "remind after these parts of the time (default: 0.5 0.9)",
      parseParts,
    )
    .option("--escalate-after <time>", "ask more members after this time, such as 15m", parseSpan)
    .option("--escalate-to <id...>", "the members who are asked then")
    .option("--expires-after <time>", "expire after this time, such as 1h", parseSpan)
    .option(...AS)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON");
}

interface Fields {
  path?: string[];
  command?: string[];
  tool?: string[];
  agent?: string[];
  host?: string[];
  inProject?: string[];
  minRisk?: "low" | "medium" | "high" | "critical";
  member?: string[];
  role?: "reviewer" | "admin";
  quorum?: number;
  ordered?: true;
  editNeedsOther?: true;
  remindAt?: number[];
  escalateAfter?: number;
  escalateTo?: string[];
  expiresAfter?: number;
}

function fieldsOf(options: Fields) {
  const { path, command, tool, agent, host, inProject, minRisk } = options;
  const match = {
    ...path && { paths: path },
    ...command && { commands: command },
    ...tool && { tools: tool },
    ...agent && { agents: agent },
    ...host && { hosts: host },
    ...inProject && { projects: inProject },
    ...minRisk && { min_risk: minRisk },
  };
  const { quorum, ordered, editNeedsOther, remindAt, escalateAfter, escalateTo } = options;
  return {
    ...Object.keys(match).length > 0 && { match },
    ...quorum !== undefined && { quorum },
    ...ordered && { ordered },
    ...editNeedsOther && { edit_needs_other: true },
    ...remindAt && { remind_at: remindAt },
    ...escalateAfter !== undefined && { escalate_after_seconds: escalateAfter },
    ...escalateTo && { escalate_to: escalateTo },
    ...options.expiresAfter !== undefined && { expires_after_seconds: options.expiresAfter },
  };
}

function approversIn({ member, role }: Fields) {
  if (!member && !role) return null;
  return { ...member && { members: member }, ...role && { role } };
}

function parseParts(text: string, before: number[] = []): number[] {
  const value = Number(text);
  if (value > 0 && value < 1) return [...before, value];
  throw new InvalidArgumentError("It takes parts between 0 and 1, such as 0.5.");
}

function riskOption<Flags extends string>(flags: Flags, text: string) {
  return new Option(flags, text).choices(["low", "medium", "high", "critical"] as const);
}

function show(io: Io, verb: string, route: ApprovalRoute, json: true | undefined): void {
  if (json) return printJson(io, route);
  print(io, `${paint(io, "green", "✓")} ${verb}: ${describe(io, route)}`);
}

/** The route in two lines: what it matches, and who approves. */
function describe(io: Io, { id, name, match, approvers, quorum, ordered }: ApprovalRoute): string {
  const parts = Object.entries(match).flatMap(([key, value]) =>
    value === null || (Array.isArray(value) && value.length === 0)
      ? []
      : [`${key.replace("_", " ")} ${[value].flat().join(" ")}`]
  );
  const who = [...approvers.members, ...approvers.role === null ? [] : [`every ${approvers.role}`]];
  const order = ordered ? ", in this order" : "";
  return `${paint(io, "bold", visibleLine(id))}  ${visibleLine(name)}\n` +
    `  matches: ${visibleLine(parts.join("; ") || "every held action")}\n` +
    `  asks: ${quorum} of ${visibleLine(who.join(", "))}${order}`;
}

function explain(io: Io, { route, why, effect, need, asked, considered }: RouteTestResult): string {
  const head = route
    ? `${paint(io, "bold", visibleLine(route.id))}: ${visibleLine(why)}\n` +
      `  asks: ${need} of ${visibleLine(asked.join(", "))}`
    : `No route: ${visibleLine(why)}; one reviewer approves`;
  const rest = considered.filter(({ id }) => id !== route?.id)
    .map((one) => `  not ${visibleLine(one.id)}: ${visibleLine(one.matches ? LESS : one.why)}`);
  const policy = effect === "ask" ? [] : [`  The policy says ${effect}, so nobody is asked.`];
  return [head, ...rest, ...policy].join("\n");
}

const LESS = "another route that matches asks more people";
const ROUTE_ID = "the route's id, as gate route list shows it";
const NONE = "There is no approval route: one reviewer approves each held action.";

const HELP = `
Of several routes that match, an action takes the one with the highest quorum. At its deadline an
action expires; time never approves it.

Examples:
  gate route add Production --path 'deploy/**' --role reviewer --quorum 2 --expires-after 4h
  gate route test --path deploy/prod.yaml
  gate route list
`;
