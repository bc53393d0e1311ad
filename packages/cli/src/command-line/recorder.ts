import type { Command as CommanderCommand } from "commander";
import type { ActionOf } from "./actions.ts";
import { identityOption } from "./options.ts";

function addTimes(command: CommanderCommand): CommanderCommand {
  return command
    .option(
      "--since <time>",
      "from this time on, in UTC: 2026-11-20, 2026-11-20T12:30, or a period before now: 2h",
    )
    .option("--until <time>", "before this time, in the same form")
    .addOption(identityOption());
}

function addFilters(command: CommanderCommand): CommanderCommand {
  return addTimes(
    command
      .option(
        "--status <status>",
        "only responses with this status: 404, 5xx, or 404,5xx; 0 for none",
      )
      .option("--route <pattern>", "only this route, or path; * matches any text")
      .option("--id <id>", "only the exchange with this id")
      .option("--grep <text>", "only if TEXT is in the URL, a header or the text of a body"),
  );
}

/** The commands that read what @idk/recorder stored. */
export function addRecorderCommands(program: CommanderCommand, actionOf: ActionOf): void {
  const group = program
    .command("recorder")
    .summary("read recorded HTTP exchanges")
    .description(
      "Read the HTTP exchanges that @idk/recorder stored: list, print, export and check them. Exchanges " +
        "are printed in the order in which they began.",
    );

  addFilters(
    group
      .command("ls")
      .summary("list exchanges")
      .description(
        "Print time, status, duration, id, method and URL of each exchange. With --segments, list the " +
          "blobs that they are stored in.",
      ),
  )
    .option(
      "--segments",
      "list segments: address, times, number of exchanges, size, run and number",
    )
    .action(actionOf(async () => (await import("../commands/recorder/ls.ts")).ls));

  addFilters(
    group
      .command("cat")
      .summary("print exchanges as JSON")
      .description("Print exchanges with headers and bodies, as one JSON object on a line each."),
  ).action(actionOf(async () => (await import("../commands/recorder/cat.ts")).cat));

  addTimes(
    group
      .command("show")
      .summary("show one exchange")
      .description("Print the headers and bodies of one exchange for people.")
      .argument("<id>", "the id, as `idk recorder ls` prints it"),
  ).action(actionOf(async () => (await import("../commands/recorder/show.ts")).show));

  addFilters(
    group
      .command("export")
      .summary("export exchanges as HAR")
      .description(
        "Write exchanges to standard output as a HAR file, which the developer tools of browsers open.",
      )
      .option("--format <format>", "har (the default)"),
  ).action(actionOf(async () => (await import("../commands/recorder/export.ts")).exportArchive));

  addTimes(
    group
      .command("check")
      .summary("check the archive")
      .description(
        "Read all segments. Print each run of a recorder with what it dropped, and segments that are " +
          "damaged, replaced, or missing between others.",
      ),
  ).action(actionOf(async () => (await import("../commands/recorder/check.ts")).check));
}
