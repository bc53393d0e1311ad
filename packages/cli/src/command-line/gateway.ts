import { type Command as CommanderCommand, Option } from "commander";
import type { ActionOf } from "./actions.ts";
import {
  identityOption,
  recipientOption,
  recipientsFileOption,
  repeatable,
  reportOption,
  shardOption,
} from "./options.ts";

function catalogOption(): Option {
  return new Option(
    "--catalog <place>",
    "a SQLite file, or postgres://… (IDK_CATALOG; default: a file in ~/.local/state/idk)",
  );
}

function macKeyOption(): Option {
  return new Option("--mac-key <file>", "the key that `idk gateway mac-key` wrote");
}

/** The commands that serve a store to clients of another protocol. */
export function addServeCommands(program: CommanderCommand, actionOf: ActionOf): void {
  const group = program
    .command("serve")
    .summary("serve a store as S3")
    .description("Serve a store to programs that know nothing of idk.");

  group
    .command("s3")
    .summary("serve a store, or a snapshot, as S3")
    .description(
      "Serve the store as S3 until it is stopped: what clients write is encrypted before it leaves this " +
        "machine. The catalog, which has the names of objects, their sizes and MD5s, is not encrypted. Without " +
        "--credentials, create an access key in a file, and print it at a terminal. SIGHUP reads the " +
        "credentials and the certificate again. Each request is one line of JSON on standard output. With " +
        "--snapshot, serve the files of a snapshot as a bucket that cannot be changed.",
    )
    .option("--listen <address>", "HOST:PORT (default: 127.0.0.1:9000)")
    .addOption(catalogOption())
    .option("--credentials <file>", "a file of access keys and their rights (IDK_CREDENTIALS)")
    .option("--domain <domain>", "serve buckets as BUCKET.DOMAIN, too")
    .option("--region <region>", "the only region of buckets and signatures (default: any)")
    .option("--tls-cert <file>", "the certificate with its chain, as PEM")
    .option("--tls-key <file>", "the key of the certificate, as PEM")
    .option("--insecure", "listen beyond this machine without TLS")
    .option("--max-connections <n>", "close idle connections beyond N (default: 1024)")
    .option("--memory <size>", "memory for content in flight (default: 80M; --snapshot: 160M)")
    .option("--digest-threads <n>", "threads for digests, up to 64 (default: cores - 1, 1 to 4)")
    .option("--stall-timeout <s>", "give up on a client that is silent for S seconds (default: 30)")
    .addOption(
      repeatable(
        "--trusted-proxy <address>",
        "trust what this proxy, or network, reports about its clients; repeatable",
      ),
    )
    .option("--no-presigned-v2", "refuse URLs that are signed with SHA-1")
    .option("--write-only", "run without an identity: clients can write and list, but not read")
    .addOption(macKeyOption())
    .option("--snapshot <snapshot>", "serve this snapshot: NAME, NAME~2, NAME@2026-11-20 or latest")
    .option("--no-access-log", "do not log requests")
    .addOption(recipientOption())
    .addOption(recipientsFileOption())
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/gateway/serve.ts")).serveS3));
}

/** The commands that look after what a gateway has stored. */
export function addGatewayCommands(program: CommanderCommand, actionOf: ActionOf): void {
  const group = program
    .command("gateway")
    .summary("check or repair what serve s3 stored")
    .description("Check, clean up, rebuild or export what `idk serve s3` stored.");

  group
    .command("check")
    .summary("check that every object is whole")
    .description(
      "Check that all blobs of every object in the catalog exist. With --deep, also fetch, decrypt and " +
        "verify them.",
    )
    .option("--deep", "also decrypt and verify all content")
    .addOption(catalogOption())
    .addOption(macKeyOption())
    .addOption(identityOption())
    .addOption(shardOption("check"))
    .addOption(reportOption())
    .action(actionOf(async () => (await import("../commands/gateway/maintain.ts")).gatewayCheck));

  group
    .command("gc")
    .summary("delete unneeded blobs")
    .description(
      "Delete the blobs of deleted and replaced objects, which a gateway also does by itself, and " +
        "unreferenced blobs that are older than a day. Refuse if the catalog may lack objects of the store.",
    )
    .option("-n, --dry-run", "delete nothing; print what would be deleted")
    .addOption(catalogOption())
    .addOption(macKeyOption())
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/gateway/maintain.ts")).gatewayGc));

  group
    .command("rebuild")
    .summary("rebuild a lost catalog from the store")
    .description(
      "Create a new catalog from the store alone: from its newest sealed snapshot of the catalog, if there is one, " +
        "and from the objects that were stored since. Objects that were not written by a gateway with these " +
        "keys are refused, and listed. The catalog must not exist.",
    )
    .option("--all", "read all objects, and no snapshot of the catalog")
    .option("--accept-faults", "skip blobs that cannot be read, which may be objects")
    .addOption(catalogOption())
    .addOption(macKeyOption())
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/gateway/maintain.ts")).gatewayRebuild));

  group
    .command("export")
    .summary("print the catalog as JSON")
    .description("Print all buckets, objects and uploads of the catalog, one as JSON on each line.")
    .addOption(catalogOption())
    .action(actionOf(async () => (await import("../commands/gateway/export.ts")).gatewayExport));

  group
    .command("mac-key")
    .summary("write the key that a write-only gateway needs")
    .description(
      "Write the key with which gateways authenticate what they store, for `idk serve s3 --write-only`. It follows " +
        "from the first identity and decrypts nothing, but anyone who has it can make objects that a rebuild accepts. " +
        "The file names the recipient of the identity; a gateway needs this recipient among its own.",
    )
    .requiredOption("-o, --output <file>", "the new file")
    .addOption(identityOption())
    .action(actionOf(async () => (await import("../commands/gateway/mac-key.ts")).gatewayMacKey));
}
