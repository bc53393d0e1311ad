import { nearest } from "@idk/storage/url";
import { Command as CommanderCommand, CommanderError } from "commander";
import { usage } from "../errors/failures.ts";
import type { Environment } from "../invocation.ts";
import { withoutNotes } from "../output/output.ts";
import { quotedWord } from "../output/secrets.ts";
import { displayFor } from "../progress/display.ts";
import { createProgress } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import { versionLine } from "../version.ts";
import type { ActionOf, Group, StartSession } from "./actions.ts";
import { CONTENT_COMMANDS } from "./content.ts";
import { EXAMPLES } from "./examples.ts";
import { addGatewayCommands, addServeCommands } from "./gateway.ts";
import { addHelpCommand } from "./help.ts";
import { addLinkCommand } from "./link.ts";
import { OVERVIEW } from "./overview.ts";
import { addKeyCommands, addSetupCommands } from "./setup.ts";
import { addRecorderCommands } from "./recorder.ts";
import { addBlobCommands, addStoreCommands } from "./store.ts";
import { addRepositoryCommands, SNAPSHOT_COMMANDS } from "./snapshots.ts";
import { addBenchCommand, addCompletionCommand, addDoctorCommand } from "./tools.ts";

/** Parses the command line and runs the command it names. */
export async function runProgram(
  args: readonly string[],
  env: Environment,
  session: StartSession,
): Promise<void> {
  let help = "";
  const takeHelp = (text: string) => {
    help += text;
  };
  const program = createProgram(env, session, takeHelp, args[0]);
  if (args[0] === "complete" && args[1] === "--") {
    const { complete } = await import("../completion/complete.ts");
    return session.out.text(await complete(program, args.slice(2), env));
  }
  if (args.length === 0) {
    program.outputHelp();
    await session.out.block(help);
    throw usage("no command given");
  }
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // `idk store`: a group without a command.
    if (error.code === "commander.help") {
      const [group = ""] = program.args;
      throw usage(`no command given: run \`${`idk ${group}`.trim()} --help\` for a list`);
    }
    if (error.exitCode !== 0) throw usage(inOneLine(error.message));
    checkCommands(program);
  }
  // The output of `--help`, `--version` and `help`.
  if (help !== "") await session.out.text(help);
}

/** All commands, in the order of the help, and the functions that add them. */
export const GROUPS: readonly Group[] = [
  [["init", "config"], addSetupCommands],
  [["keygen", "recipient"], addKeyCommands],
  ...SNAPSHOT_COMMANDS,
  [["repo"], addRepositoryCommands],
  ...CONTENT_COMMANDS,
  [["link"], addLinkCommand],
  [["ls", "inspect", "verify", "copy", "merge-reports", "rm"], addBlobCommands],
  [["store"], addStoreCommands],
  [["serve"], addServeCommands],
  [["gateway"], addGatewayCommands],
  [["recorder"], addRecorderCommands],
  [["bench"], addBenchCommand],
  [["doctor"], addDoctorCommand],
  [["completion"], addCompletionCommand],
];

/**
 * The whole program, for a command line, for completions and for the manual.
 *
 * @param first the first word of a command line. If it is a command, the other groups are omitted,
 *   because creating all commands takes longer than running most of them
 */
export function createProgram(
  env: Environment,
  session: StartSession,
  writeOut: (text: string) => void,
  first?: string,
): CommanderCommand {
  const program = new CommanderCommand("idk")
    .description("Content-addressed, end-to-end encrypted storage")
    .option("-V, --version", "print the version")
    .option("--store <url>", "the store: NAME, DIR, s3://, minio:// or b2:// (IDK_STORE)")
    .option(
      "--config <file>",
      "the configuration file (IDK_CONFIG; default: ~/.config/idk/config.toml)",
    )
    .option("--json", "print results and errors as JSON")
    .option("-q, --quiet", "print only results and errors")
    .option("--progress", "print progress even if stderr is not a terminal")
    .option("--no-progress", "do not print progress")
    .helpOption("-h, --help", "print help")
    .configureHelp({ showGlobalOptions: true })
    // Errors come back as exceptions and are reported in one place.
    .configureOutput({ writeOut, writeErr: () => {}, outputError: () => {} })
    .exitOverride();

  const actionOf: ActionOf = (load) =>
    async function action(this: CommanderCommand): Promise<void> {
      const operands = this.registeredArguments.map((argument, index) => [
        argument.name(),
        this.processedArgs[index] as unknown,
      ]);
      const raw = { ...this.optsWithGlobals(), ...Object.fromEntries(operands) };
      const run = await load();
      await run({ options: raw, env }, sessionOf(session, this.optsWithGlobals(), env));
    };

  const group = GROUPS.filter(([names]) => first !== undefined && names.includes(first));
  for (const [, add] of group.length > 0 ? group : GROUPS) add(program, actionOf, session);
  for (const parent of [program, ...program.commands.filter(isGroup)]) addHelpCommand(parent);
  program.helpInformation = () => OVERVIEW;
  // Not `version`, which takes the text, because looking for NaCl takes time.
  program.on("option:version", () => {
    writeOut(`${versionLine()}\n`);
    throw new CommanderError(0, "commander.version", "");
  });
  addExamples(program, "");
  return program;
}

/** With `--help`, commander ignores unknown commands. */
function checkCommands(program: CommanderCommand): void {
  for (const { args, commands } of [program, ...program.commands.filter(isGroup)]) {
    const [word = "-"] = args;
    const names = commands.map((command) => command.name());
    if (word.startsWith("-") || names.includes(word)) continue;
    const near = nearest(word, names);
    throw usage(
      `unknown command ${quotedWord(word)}${near === undefined ? "" : ` (did you mean ${near}?)`}`,
    );
  }
}

function isGroup({ commands }: CommanderCommand): boolean {
  return commands.length > 0;
}

function addExamples(parent: CommanderCommand, path: string): void {
  for (const command of parent.commands) {
    const name = `${path}${command.name()}`;
    const examples = EXAMPLES[name];
    if (examples) command.addHelpText("after", ["\nExamples:", ...examples].join("\n  "));
    addExamples(command, `${name} `);
  }
}

function sessionOf(
  { out, signal, screen, onHangup, keepRunning }: StartSession,
  options: { readonly quiet?: boolean; readonly progress?: boolean },
  env: Environment,
): Session {
  const { quiet = false, progress } = options;
  const display = displayFor({ quiet, progress }, out, screen, env);
  return {
    out: quiet ? withoutNotes(out) : out,
    signal,
    onHangup,
    keepRunning,
    progress: createProgress(display, signal),
  };
}

/**
 * Shortens commander's messages, such as `error: unknown command 'gett'` followed by a line
 * `(Did you mean get?)`, or `error: too many arguments for 'ls'. Expected 0 arguments but got 1:
 * extra.`
 */
function inOneLine(message: string): string {
  return message
    .replace(/^error: /u, "")
    .replaceAll(/'([^']*)'/gu, (_, word: string) => quotedWord(word))
    .replace(/\s*\n\s*\(Did/u, " (did")
    .replace(
      /(?<=^too many arguments for '\w+')\. Expected (?<n>\d+) arguments?.*$/su,
      ": it takes $<n>",
    );
}
