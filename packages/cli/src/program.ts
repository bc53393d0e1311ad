import { Command as CommanderCommand, CommanderError, Option } from "commander";
import type { Environment, Session } from "./session.ts";
import type { Command } from "./command.ts";
import { VERSION } from "./version.ts";
import { usage } from "./failures.ts";
import { withEnvironment } from "./environment.ts";

const HELP = `
Environment:
  IDK_STORE       the store, instead of --store
  IDK_IDENTITY    identity files, instead of -i
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

/** When an interrupted command is continued by itself; see resume.ts. */
const OVER = "over 64 MiB";

/** Parses the command line and runs the command it names. */
export async function runProgram(
  args: readonly string[],
  env: Environment,
  session: Session,
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
  session: Session,
  writeOut: (text: string) => void,
): CommanderCommand {
  const program = new CommanderCommand("idk")
    .description("Content-addressed, end-to-end encrypted storage")
    .version(`idk ${VERSION}`, "-V, --version", "print the version")
    .option("--store <url>", "the store: DIR, s3://, minio:// or b2:// (IDK_STORE)")
    .option("--json", "print results and errors as JSON")
    .helpOption("-h, --help", "print help")
    .addHelpText("after", HELP)
    .configureHelp({ showGlobalOptions: true })
    // Errors come back as exceptions and are reported in one place.
    .configureOutput({ writeOut, writeErr: () => {}, outputError: () => {} })
    .exitOverride();

  /** Commands load when they are run: none pays for what another needs. */
  const does = (load: () => Promise<Command>) =>
    async function action(this: CommanderCommand): Promise<void> {
      const operands = this.registeredArguments.map((argument, index) => [
        argument.name(),
        this.processedArgs[index] as unknown,
      ]);
      const raw = { ...this.optsWithGlobals(), ...Object.fromEntries(operands) };
      const run = await load();
      await run(withEnvironment(raw, env), session);
    };

  program
    .command("keygen")
    .summary("make an identity")
    .description("Write a new identity to a file and print its recipient.")
    .requiredOption("-o, --output <file>", "where to write it; must not exist")
    .option("--passphrase", "protect it with a passphrase (IDK_PASSPHRASE, or asked for)")
    .action(does(async () => (await import("./commands/keygen.ts")).keygen));

  program
    .command("recipient")
    .summary("print the recipient of an identity")
    .description("Print the recipient of each identity in the files.")
    .addOption(identityOption())
    .action(does(async () => (await import("./commands/recipient.ts")).recipient));

  program
    .command("put")
    .summary("store files and print their addresses")
    .description(
      "Encrypt a file or standard input, store it, and print its address. Of several files, each " +
        "gets a line with its address and its path, and one that fails does not stop the others.",
    )
    .argument("[file...]", "the file, or - for standard input")
    .option("--from-file <list>", "also the files of this list, one a line; - for standard input")
    .option("-0, --null", "what ends a path in the list is a zero byte, as from find -print0")
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .option("--name <name>", "a name to keep, encrypted, with the content")
    .option("--type <type>", "a media type to keep, encrypted, with the content")
    .option("--chunk-size <size>", "a power of two from 256K to 16M (default: 4M)")
    .option("--no-padding", "let the store see the exact length")
    .option(
      "--compress <how>",
      "zstd, lz4, auto (where it pays) or none (IDK_COMPRESS; default: none)",
    )
    .option("--dedup-secret <file>", "32 bytes, or 64 hexadecimal digits, shared to deduplicate")
    .addOption(workersOption())
    .option("--resume", `continue an interrupted put of this file (default: ${OVER})`)
    .option("--no-resume", "start at the beginning, and keep no journal")
    .action(does(async () => (await import("./commands/put.ts")).put));

  program
    .command("get")
    .summary("fetch, verify and decrypt content")
    .description(
      "Fetch content, verify it, and write it to a file or to standard output; or several, each " +
        "to a file of a folder that has its address as its name.",
    )
    .argument("[address...]", "what `idk put` printed")
    .option("-o, --output <file>", "write to this file, or - for standard output (default: -)")
    .option("--output-dir <dir>", "write each address to a file in this folder")
    .option("--from-file <list>", "also the addresses of this list, such as the output of idk put")
    .addOption(identityOption())
    .option("--range <start-end>", "these bytes alone; END is not included, either may be empty")
    .option("--force", "replace an existing file")
    .addOption(workersOption())
    .option("--resume", `with -o: continue an interrupted get (default: ${OVER})`)
    .option("--no-resume", "start at the beginning, and keep nothing if interrupted")
    .action(does(async () => (await import("./commands/get.ts")).get));

  program
    .command("stat")
    .summary("say what an address holds")
    .description("Open an address and print its size, metadata and layout.")
    .argument("<address>", "what `idk put` printed")
    .addOption(identityOption())
    .action(does(async () => (await import("./commands/stat.ts")).stat));

  program
    .command("verify")
    .summary("check blobs, or the whole store")
    .description(
      "Check that blobs match their addresses, which takes no key; by default all of the store. " +
        "With --deep also decrypt and check all content that the identities open.",
    )
    .argument("[address...]", "what to check")
    .option("--deep", "check the content below each address as well")
    .option(
      "--attested",
      "download nothing where the store kept a SHA-256 at upload: finds no bit rot",
    )
    .addOption(identityOption())
    .addOption(workersOption())
    .action(does(async () => (await import("./commands/verify.ts")).verify));

  program
    .command("ls")
    .summary("list the addresses of the store")
    .description("Print the address of every blob: roots, which `idk put` printed, and chunks.")
    .action(does(async () => (await import("./commands/ls.ts")).ls));

  program
    .command("rm")
    .summary("remove a blob, or all of a tree")
    .description(
      "Remove one blob. With --tree also remove the chunks below it: unsafe where they are " +
        "shared, by `idk rewrap` or a dedup secret.",
    )
    .argument("<address>", "what to remove")
    .option("--tree", "remove the chunks below it as well")
    .option("--force", "with --tree: even though a dedup secret is set")
    .option("--dedup-secret <file>", "the secret the content was stored with")
    .addOption(identityOption())
    .action(does(async () => (await import("./commands/rm.ts")).rm));

  program
    .command("rewrap")
    .summary("change who can read an address")
    .description(
      "Write a new root for exactly these recipients over the same content, and print its " +
        "address. The old root stays until it is removed.",
    )
    .argument("<address>", "what `idk put` printed")
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .action(does(async () => (await import("./commands/rewrap.ts")).rewrap));

  program
    .command("copy")
    .summary("copy blobs from one store to another")
    .description(
      "Copy blobs as they are, which takes no key, and check each on its way. What the other " +
        "store has already is left out, so that a copy can be broken off and begun again. By " +
        "default all blobs; with --tree the given addresses and all content below them.",
    )
    .argument("[address...]", "what to copy")
    .requiredOption("--from <url>", "the store to read")
    .requiredOption("--to <url>", "the store to write")
    .option("--tree", "with each address also the chunks below it, which takes an identity")
    .option("--trust-size", "take a blob of the right size at the target for copied, unread")
    .addOption(identityOption())
    .action(does(async () => (await import("./commands/copy.ts")).copy));

  addStoreCommands(program, does);
  return program;
}

/** What is done to a store as a place, whatever it holds. */
function addStoreCommands(
  program: CommanderCommand,
  does: (load: () => Promise<Command>) => (this: CommanderCommand) => Promise<void>,
): void {
  const group = program
    .command("store")
    .summary("make a store, or find out what it can do")
    .description("Make the place where a store will be, or find out what it can do.");

  group
    .command("init")
    .summary("make the bucket or folder of a store")
    .description("Make the bucket, or the folder, unless it is there, and set what is asked for.")
    .argument("[url]", "the store (default: IDK_STORE)")
    .option("--versioning", "keep what is overwritten or deleted as old versions")
    .option("--object-lock", "let versions be locked against deletion; for new buckets only")
    .option("--lifecycle-days <days>", "remove old versions after so many days")
    .option("--default-sse <type>", "how the bucket encrypts new blobs at rest: AES256 or aws:kms")
    .option("--kms-key <id>", "the key for --default-sse aws:kms (default: the provider's)")
    .action(does(async () => (await import("./commands/store-init.ts")).storeInit));

  group
    .command("check")
    .summary("find out what a store can do")
    .description(
      "Write, read, list and remove one small blob, and say what the store can do, and what to " +
        "do about what it cannot.",
    )
    .argument("[url]", "the store (default: IDK_STORE)")
    .action(does(async () => (await import("./commands/store-check.ts")).storeCheck));
}

function workersOption(): Option {
  return new Option(
    "--workers <n>",
    "threads for files over 32 MiB; 0 for none (IDK_WORKERS; default: one a core)",
  );
}

function identityOption(): Option {
  return repeatable("-i, --identity <file>", "an identity file, repeatable (IDK_IDENTITY)");
}

function recipientOption(): Option {
  return repeatable(
    "-r, --recipient <recipient>",
    "who can read it: idk1…, repeatable (IDK_RECIPIENTS)",
  );
}

function recipientsFileOption(): Option {
  return repeatable("-R, --recipients-file <file>", "a file of recipients, repeatable");
}

function repeatable(flags: string, description: string): Option {
  return new Option(flags, description).argParser(
    (value: string, previous: readonly string[] | undefined) => [...(previous ?? []), value],
  );
}

/** From `error: unknown command 'gett'` and, on a line of its own, `(Did you mean get?)`. */
function inOneLine(message: string): string {
  return message.replace(/^error: /u, "").replace(/\s*\n\s*\(Did/u, " (did");
}
