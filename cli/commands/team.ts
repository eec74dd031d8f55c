import { Command, Option } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import type { Member, WaitingList } from "../../server/team/schema.ts";
import { connect } from "../daemon/connect.ts";
import { showLink } from "../daemon/dashboard_link.ts";
import { CliError, EXIT } from "../errors.ts";
import type { Io } from "../io.ts";
import { examples } from "../options.ts";
import { createMemberLink, findMember } from "../proof/member_link.ts";
import { AS, PASSPHRASE_STDIN } from "../proof/passphrases.ts";
import { openReview } from "../proof/prover.ts";
import { count, paint, print, printJson, say, table } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate team`: the people who may approve. */
export function createCommand(io: Io) {
  const team = new Command("team")
    .description("List or change the people who may approve. They are kept in team.json.")
    .addHelpText("after", HELP);
  addLooking(team, io);
  addChanging(team, io);
  addLink(team, io);
  addAccept(team, io);
  return team;
}

function addLooking(team: Command, io: Io): void {
  team.command("list")
    .description("List the members with their roles.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate team list"))
    .action(async ({ json }) => {
      const { api } = await connect(io, { scope: "viewer" });
      const { items } = await unwrap(api.team.members.$get());
      if (json) return printJson(io, items);
      const { problem } = await unwrap(api.team.$get());
      if (problem !== null) say(io, `gate: ${visibleLine(problem)}`);
      print(io, items.length > 0 ? memberTable(items) : NOBODY);
    });
  team.command("whoami")
    .description("Show the person as whom this terminal decides.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate team whoami"))
    .action(async ({ json }) => {
      const { api } = await connect(io, { scope: "reviewer" });
      const person = await unwrap(api.team.whoami.$get());
      if (json) return printJson(io, person);
      const since = person.is_member ? "" : ", the owner of this machine";
      print(io, `${visibleLine(person.id)}: ${visibleLine(person.name)}, ${person.role}${since}`);
    });
}

function addChanging(team: Command, io: Io): void {
  team.command("add")
    .description("Add a member and print a link with which they log in.")
    .argument("<name>", "the member's name")
    .option("--id <id>", "their id in commands and records (default: made of the name)")
    .addOption(roleOption().default("reviewer" as const))
    .option("--email <address>", "their e-mail address")
    .option(...AS)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON: the member and the link")
    .addHelpText("after", examples("gate team add 'Ann Miller' --role admin", "gate team add Ben"))
    .action(async (name, { id, role, email, as, json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin, as });
      const given = { name, role, ...id && { id }, ...email && { email } };
      const member = await unwrap(client.api.team.members.$post({ json: given }));
      const { url } = await createMemberLink(client, member);
      if (json) return printJson(io, { ...member, url });
      print(io, `${paint(io, "green", "✓")} added: ${describe(member)}`);
      say(io, LINK);
      print(io, url);
    });
  team.command("change")
    .description("Change a member's name, role or e-mail address.")
    .argument("<id>", MEMBER_ID)
    .option("--name <name>", "their new name")
    .addOption(roleOption())
    .option("--email <address>", "their new e-mail address; an empty one removes it")
    .option(...AS)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate team change ben --role viewer"))
    .action(async (id, { name, role, email, as, json, passphraseStdin }) => {
      if (name === undefined && role === undefined && email === undefined) {
        throw new CliError("Cannot change the member: give --name, --role or --email", {
          next: "gate team change --help",
          exit: EXIT.usage,
        });
      }
      const { client } = await openReview(io, { passphraseStdin, as });
      const changes = {
        ...name !== undefined && { name },
        ...role && { role },
        ...email !== undefined && { email: email === "" ? null : email },
      };
      const one = client.api.team.members[":id"];
      const member = await unwrap(one.$patch({ param: { id }, json: changes }));
      if (json) return printJson(io, member);
      print(io, `${paint(io, "green", "✓")} changed: ${describe(member)}`);
    });
  team.command("remove")
    .description("Remove a member. Their logins end at once; their decisions stay in the records.")
    .argument("<id>", MEMBER_ID)
    .option(...AS)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate team remove ben", "gate team remove ben --as ann"))
    .action(async (id, { as, json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin, as });
      const one = client.api.team.members[":id"];
      const member = await unwrap(one.$delete({ param: { id } }));
      if (json) return printJson(io, member);
      print(io, `${paint(io, "green", "✓")} removed: ${describe(member)}`);
    });
}

function addLink(team: Command, io: Io): void {
  team.command("link")
    .description("Create a link with which a member logs in and sets a passphrase of their own.")
    .argument("<id>", MEMBER_ID)
    .option("--no-open", "only print the link; it works once, within a minute")
    .option(...AS)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print the link as JSON; open no browser")
    .addHelpText("after", examples("gate team link ann", "gate team link ann --no-open"))
    .action(async (id, { open, as, json, passphraseStdin }) => {
      const { client } = await openReview(io, { passphraseStdin, as });
      const { url } = await createMemberLink(client, await findMember(client, id));
      if (json) return printJson(io, { url });
      await showLink(io, url, open);
    });
}

function addAccept(team: Command, io: Io): void {
  team.command("accept")
    .description(
      "Show what was changed by hand in team.json and approval_routes.json, and accept it.",
    )
    .option(...AS)
    .option(...PASSPHRASE_STDIN)
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate team accept"))
    .action(async ({ as, json, passphraseStdin }) => {
      const { client: { api } } = await openReview(io, { passphraseStdin, as });
      const ofTeam = waitingIn("team.json", await unwrap(api.team.$get()));
      const ofRoutes = waitingIn(
        "approval_routes.json",
        await unwrap(api["approval-routes"].$get()),
      );
      if (!json) {
        showWaiting(io, "team.json", ofTeam);
        showWaiting(io, "approval_routes.json", ofRoutes);
      }
      if (ofTeam) await unwrap(api.team.accept.$post({ json: versionOf(ofTeam) }));
      if (ofRoutes) {
        await unwrap(api["approval-routes"].accept.$post({ json: versionOf(ofRoutes) }));
      }
      const status = await unwrap(api.team.$get());
      if (json) return printJson(io, status);
      if (!ofTeam && !ofRoutes) return print(io, "Nothing waits: both files are in force.");
      print(io, `${paint(io, "green", "✓")} accepted: ${count(status.members, "member")}`);
    });
}

/** The change that a person can accept. @throws CliError if the file cannot be accepted as it is */
function waitingIn(
  file: string,
  { problem, waiting }: { problem: string | null; waiting: WaitingList | null },
): WaitingList | null {
  if (problem === null || waiting !== null) return waiting;
  throw new CliError(`Cannot accept ${file}: ${visibleLine(problem)}`, { next: "gate doctor" });
}

function versionOf({ items_sha256, number }: WaitingList) {
  return { items_sha256, number };
}

const MARKS = { added: ["green", "+"], removed: ["red", "-"], changed: ["yellow", "~"] } as const;

function showWaiting(io: Io, file: string, waiting: WaitingList | null): void {
  if (waiting === null) return;
  print(io, paint(io, "bold", file));
  if (waiting.differences.length === 0) print(io, "  the same entries, which nobody has signed");
  for (const { kind, id, text } of waiting.differences) {
    const [colour, mark] = MARKS[kind];
    const line = `${mark} ${visibleLine(id)}${text === "" ? "" : `: ${visibleLine(text)}`}`;
    print(io, `  ${paint(io, colour, line)}`);
  }
}

function roleOption() {
  return new Option("--role <role>", "viewer reads, reviewer approves, admin changes the team")
    .choices(["viewer", "reviewer", "admin"] as const);
}

function memberTable(members: Member[]): string {
  return table(members.map(({ id, name, role, email }) => [
    visibleLine(id),
    role,
    visibleLine(name),
    visibleLine(email ?? ""),
  ]));
}

function describe({ id, name, role }: Member): string {
  return `${visibleLine(name)} (${visibleLine(id)}), ${role}`;
}

const MEMBER_ID = "the member's id, as gate team list shows it";
const NOBODY = "The team is empty: you decide alone. Add a member: gate team add <name>";
const LINK =
  "They open this link in their browser, within a minute; it works once. There they set a " +
  "passphrase of their own, which their approvals need:";

const HELP = `
Examples:
  gate team add 'Ann Miller' --role admin
  gate team list
  gate team link ann-miller
`;
