import { Option } from "commander";

export function workersOption(): Option {
  return new Option(
    "--workers <n>",
    "threads for files over 32 MiB; 0 for none (IDK_WORKERS; default: one a core)",
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
    "who can read it: idk1…, repeatable (IDK_RECIPIENTS)",
  );
}

/** Of `idk share`, where variables do not count. */
export function shareRecipientOption(): Option {
  return repeatable("-r, --recipient <recipient>", "who is to read it: idk1…, repeatable");
}

export function recipientsFileOption(): Option {
  return repeatable("-R, --recipients-file <file>", "a file of recipients, repeatable");
}

function repeatable(flags: string, description: string): Option {
  return new Option(flags, description).argParser(
    (value: string, previous: readonly string[] | undefined) => [...(previous ?? []), value],
  );
}
