import { Command as CommanderCommand, CommanderError } from "commander";
import type { Environment, Session } from "../session.ts";
import { createProgress } from "../progress/progress.ts";
import { displayFor } from "../progress/display.ts";
import type { Screen } from "../progress/screen.ts";
import { quieted } from "../output.ts";
import type { Command } from "../command.ts";
import { VERSION } from "../version.ts";
import { usage } from "../failures.ts";
import { withEnvironment } from "../environment.ts";
import { addBlobCommands } from "./blobs.ts";
import { addContentCommands } from "./content.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addKeyCommands } from "./keys.ts";
import { addSetupCommands } from "./setup.ts";
import { addStoreCommands } from "./store.ts";

/** Makes the action of a command. Commands load when they are run: none pays for what another needs. */
export type Does = (load: () => Promise<Command>) => (this: CommanderCommand) => Promise<void>;

const HELP = `
Environment:
  IDK_STORE       the store, instead of --store
  IDK_IDENTITY    identity files, instead of -i; IDK_IDENTITY_KEY the identity itself;
                  IDK_IDENTITY_COMMAND a command that prints it
  IDK_RECIPIENTS  recipients or recipients files, instead of -r and -R
  IDK_PASSPHRASE  the passphrase of protected identity files, instead of a prompt
  IDK_COMPRESS    how put compresses, instead of --compress
  IDK_WORKERS     threads of put, get and verify, instead of --workers

Stores:
  DIR or file:///DIR?durability=none                no wait for the disk: docs/backends.md
  s3://BUCKET[/PREFIX]?endpoint=URL&region=R        AWS_… variables, AWS_PROFILE, roles
  minio://HOST[:PORT]/BUCKET[/PREFIX]?tls=1         MINIO_ENDPOINT, MINIO_PORT, MINIO_USE_SSL,
                                                    MINIO_ACCESS_KEY, MINIO_SECRET_KEY,
                                                    MINIO_SESSION_TOKEN
  b2://BUCKET[/PREFIX]?region=R                     B2_ACCESS_KEY_ID, B2_SECRET_ACCESS_KEY,
                                                    B2_BUCKET, B2_ENDPOINT
  Encryption at rest, on top: sse=AES256, sse=aws:kms&kms-key=ID, or sse-c-key=FILE (IDK_SSE_C_KEY)
  IDK_RETRY_SECONDS  how long failing requests are tried again (default: 60)

Exit codes:
  0 done               3 not found                  6 store unavailable or refused
  1 unexpected error   4 no identity opens it     130 interrupted
  2 wrong usage        5 damaged or forged data

Example:
  export IDK_STORE=./blobs IDK_IDENTITY=me.key
  export IDK_RECIPIENTS=$(idk keygen -o me.key)
  address=$(idk put photo.jpg)
  idk get $address -o copy.jpg
`;

/** A session before it is known what the command line says of it. */
export interface Start extends Omit<Session, "progress"> {
  readonly screen: Screen;
}

/** Parses the command line and runs the command it names. */
export async function runProgram(
  args: readonly string[],
  env: Environment,
  session: Start,
): Promise<void> {
  let help = "";
  const program = createProgram(env, session, (text) => {
    help += text;
  });
  if (args.length === 0) {
    program.outputHelp();
    await session.out.block(help);
    throw usage("no command given");
  }
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // From `idk help` and `idk help COMMAND`, if there is no such command; and from `idk store`.
    if (error.code === "commander.help") {
      if (!args.includes("help")) throw usage("no command given: `idk store --help` names them");
      const name = args[args.indexOf("help") + 1];
      const known = program.commands.some((command) => command.name() === name);
      if (name !== undefined && !name.startsWith("-") && !known) {
        throw usage(`unknown command '${name}'`);
      }
    } else if (error.exitCode !== 0) throw usage(inOneLine(error.message));
    await session.out.text(help);
  }
}

function createProgram(
  env: Environment,
  session: Start,
  writeOut: (text: string) => void,
): CommanderCommand {
  const program = new CommanderCommand("idk")
    .description("Content-addressed, end-to-end encrypted storage")
    .version(`idk ${VERSION}`, "-V, --version", "print the version")
    .option("--store <url>", "the store: NAME, DIR, s3://, minio:// or b2:// (IDK_STORE)")
    .option("--config <file>", "the configuration (IDK_CONFIG; default: ~/.config/idk/config.toml)")
    .option("--json", "print results and errors as JSON")
    .option("-q, --quiet", "no progress and no remarks: results and errors alone")
    .option("--progress", "tell the progress also where no terminal shows it")
    .option("--no-progress", "do not tell the progress")
    .helpOption("-h, --help", "print help")
    .addHelpText("after", HELP)
    .configureHelp({ showGlobalOptions: true })
    // Errors come back as exceptions and are reported in one place.
    .configureOutput({ writeOut, writeErr: () => {}, outputError: () => {} })
    .exitOverride();

  const does: Does = (load) =>
    async function action(this: CommanderCommand): Promise<void> {
      const operands = this.registeredArguments.map((argument, index) => [
        argument.name(),
        this.processedArgs[index] as unknown,
      ]);
      const raw = { ...this.optsWithGlobals(), ...Object.fromEntries(operands) };
      const run = await load();
      await run(withEnvironment(raw, env), sessionOf(session, this.optsWithGlobals(), env));
    };

  addSetupCommands(program, does);
  addKeyCommands(program, does);
  addContentCommands(program, does);
  addBlobCommands(program, does);
  addStoreCommands(program, does);
  addDoctorCommand(program, does);
  return program;
}

function sessionOf(
  { out, signal, screen }: Start,
  options: { readonly quiet?: boolean; readonly progress?: boolean },
  env: Environment,
): Session {
  const { quiet = false, progress } = options;
  const display = displayFor({ quiet, progress }, out, screen, env);
  return { out: quiet ? quieted(out) : out, signal, progress: createProgress(display) };
}

/** From `error: unknown command 'gett'` and, on a line of its own, `(Did you mean get?)`. */
function inOneLine(message: string): string {
  return message.replace(/^error: /u, "").replace(/\s*\n\s*\(Did/u, " (did");
}
