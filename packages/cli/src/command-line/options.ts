import { Option } from "commander";

/** @param more what else they are used for */
export function workersOption(more = ""): Option {
  return new Option(
    "--workers <n>",
    `use N threads for files over 32 MiB${more}; 0 for none (IDK_WORKERS; default: one per core, up to 8)`,
  );
}

export function memoryOption(): Option {
  return new Option(
    "--memory <size>",
    "memory that idk may take: 512M, 1G; more is faster far away (default: 256M)",
  );
}

export function identityOption(): Option {
  return repeatable(
    "-i, --identity <file>",
    "an identity file, or keychain:NAME; repeatable (IDK_IDENTITY)",
  );
}

export function recipientOption(): Option {
  return repeatable(
    "-r, --recipient <recipient>",
    "a recipient, idk1…, who can read it; repeatable (IDK_RECIPIENTS)",
  );
}

/** `idk share` ignores IDK_RECIPIENTS. */
export function shareRecipientOption(): Option {
  return repeatable(
    "-r, --recipient <recipient>",
    "a recipient, idk1…, to grant access; repeatable",
  );
}

export function recipientsFileOption(): Option {
  return repeatable("-R, --recipients-file <file>", "a file of recipients; repeatable");
}

export function fromFileOption(verb: string): Option {
  return new Option(
    "--from-file <list>",
    `also ${verb} the addresses in LIST, the output of any command; - for standard input`,
  );
}

/** @param verb what the command does with the blobs */
export function shardOption(verb: string): Option {
  return new Option(
    "--shard <i/n>",
    `${verb} only part I of N, by the first digits of the addresses; needs --report`,
  );
}

export function reportOption(): Option {
  return new Option(
    "--report <file>",
    "with --shard: record the progress and the result; the same command again continues",
  );
}

/** An option that makes a list. */
export function repeatable(flags: string, description: string): Option {
  return new Option(flags, description).argParser(
    (value: string, previous: readonly string[] | undefined) => [...(previous ?? []), value],
  );
}
