import { isProtectedIdentityFile } from "@idk/storage";
import { stat } from "node:fs/promises";
import { loadIdentities } from "../keys/identities.ts";
import { describeSource, type IdentitySource } from "../keys/identity-source.ts";
import { readKeyFile } from "../keys/key-files.ts";
import type { RecipientSource } from "../keys/recipient-source.ts";
import { loadRecipients } from "../keys/recipients.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { type Check, failedWith, warning, passed } from "./check.ts";

/** The checks of identities, and the recipients of those opened without a prompt. */
export interface KeyChecks {
  readonly checks: readonly Check[];
  readonly own: readonly string[];
  /** Whether there are identities that were not opened. */
  readonly locked: boolean;
}

/** Checks each identity. Does not prompt, and so does not open protected ones. */
export async function checkIdentities(
  sources: readonly IdentitySource[],
  passphrase: string | undefined,
  session: Session,
): Promise<KeyChecks> {
  if (sources.length === 0) {
    const remedy =
      "create one with `idk init`, or name one with -i FILE or IDK_IDENTITY; storing files needs none";
    return {
      checks: [warning("identity", "none: no content can be decrypted", remedy)],
      own: [],
      locked: false,
    };
  }
  const checks: Check[] = [];
  const own: string[] = [];
  let locked = false;
  for (const source of sources) {
    const name = describeSource(source).replace(/^identity /u, "");
    try {
      if (source.kind === "file") {
        const open = await isOpenToOthers(source.path);
        const isProtected = isProtectedIdentityFile(
          await readKeyFile(source.path, "identity file"),
        );
        if (open) {
          const how = isProtected ? ", only its passphrase protects it" : "";
          checks.push(
            warning(
              "identity",
              `${name}: other users can read it${how}`,
              `chmod 600 ${source.path}`,
            ),
          );
        }
        if (isProtected && passphrase === undefined) {
          locked = true;
          if (!open)
            checks.push(passed("identity", `${name}: protected by a passphrase, not opened`));
          continue;
        }
        if (open) {
          own.push(...(await recipientsOf(source, passphrase, session)));
          continue;
        }
      }
      const found = await recipientsOf(source, passphrase, session);
      own.push(...found);
      checks.push(passed("identity", `${name}: ${found.join(", ")}`));
    } catch (error) {
      checks.push(
        failedWith(
          "identity",
          error,
          "name another identity, or restore this one from your backup",
        ),
      );
    }
  }
  return { checks, own, locked };
}

async function recipientsOf(
  source: IdentitySource,
  passphrase: string | undefined,
  session: Session,
): Promise<string[]> {
  // File modes were checked already.
  const quiet = { ...session, out: { ...session.out, note: async () => {} } };
  const identities = await loadIdentities({ identity: [source], passphrase }, quiet);
  return identities.map(({ recipient }) => recipient);
}

/** Checks the recipients of new content. */
export async function checkRecipients(
  sources: readonly RecipientSource[],
  { own, locked }: Pick<KeyChecks, "own" | "locked">,
): Promise<Check> {
  if (sources.length === 0) {
    const remedy = "set them with `idk init`, or name them with -r, -R or IDK_RECIPIENTS";
    return warning("recipients", "none: each put has to name its recipients", remedy);
  }
  try {
    const recipients: readonly string[] = await loadRecipients(sources);
    const number = count(recipients.length, "recipient");
    if (recipients.some((recipient) => own.includes(recipient))) {
      return passed("recipients", `${number}, including you`);
    }
    if (locked || own.length === 0) return passed("recipients", number);
    const remedy = "add your own recipient, which `idk recipient` prints, unless this is intended";
    return warning("recipients", `${number}: you will not be able to read what you store`, remedy);
  } catch (error) {
    return failedWith("recipients", error, "get the complete recipient: idk1 and 58 characters");
  }
}

async function isOpenToOthers(path: string): Promise<boolean> {
  if (process.platform === "win32") return false;
  const stats = await stat(path).catch(() => undefined);
  return stats?.isFile() === true && (stats.mode & 0o077) !== 0;
}
