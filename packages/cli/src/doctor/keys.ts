import { isProtectedIdentityFile } from "@idk/storage";
import { stat } from "node:fs/promises";
import { loadIdentities } from "../keys/identities.ts";
import { describeSource, type IdentitySource } from "../keys/identity-source.ts";
import { readKeyFile } from "../keys/key-files.ts";
import { loadRecipients, type RecipientSource } from "../keys/recipients.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { type Check, failedBy, warning, well } from "./check.ts";

/** What is known of keys; recipients of identities that can be opened without asking. */
export interface KeyChecks {
  readonly checks: readonly Check[];
  readonly own: readonly string[];
  /** Whether there are identities of which that is not known. */
  readonly locked: boolean;
}

/** Looks at each identity. What a passphrase protects is not opened, and nothing is asked. */
export async function checkIdentities(
  sources: readonly IdentitySource[],
  passphrase: string | undefined,
  session: Session,
): Promise<KeyChecks> {
  if (sources.length === 0) {
    const remedy =
      "`idk init` makes one, -i FILE or IDK_IDENTITY names one; who only writes needs none";
    return {
      checks: [warning("identity", "none: nothing can be opened", remedy)],
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
          const how = isProtected ? ", protected by its passphrase alone" : "";
          checks.push(
            warning("identity", `${name}: others may read it${how}`, `chmod 600 ${source.path}`),
          );
        }
        if (isProtected && passphrase === undefined) {
          locked = true;
          if (!open)
            checks.push(well("identity", `${name}: protected by a passphrase, not opened`));
          continue;
        }
        if (open) {
          own.push(...(await recipientsOf(source, passphrase, session)));
          continue;
        }
      }
      const found = await recipientsOf(source, passphrase, session);
      own.push(...found);
      checks.push(well("identity", `${name}: ${found.join(", ")}`));
    } catch (error) {
      checks.push(
        failedBy("identity", error, "name the right one, or take it from where you backed it up"),
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
  // Modes have been told of.
  const quiet = { ...session, out: { ...session.out, note: async () => {} } };
  const identities = await loadIdentities({ identity: [source], passphrase }, quiet);
  return identities.map(({ recipient }) => recipient);
}

/** Who will read what is put. */
export async function checkRecipients(
  sources: readonly RecipientSource[],
  { own, locked }: Pick<KeyChecks, "own" | "locked">,
): Promise<Check> {
  if (sources.length === 0) {
    const remedy = "`idk init` sets them, -r or -R or IDK_RECIPIENTS names them";
    return warning("recipients", "none: put has to be told each time who can read it", remedy);
  }
  try {
    const recipients: readonly string[] = await loadRecipients(sources);
    const number = count(recipients.length, "recipient");
    if (recipients.some((recipient) => own.includes(recipient))) {
      return well("recipients", `${number}, you among them`);
    }
    if (locked || own.length === 0) return well("recipients", number);
    const remedy = "add your own, which `idk recipient` prints, unless that is what you want";
    return warning("recipients", `${number}: you will not be able to read what you put`, remedy);
  } catch (error) {
    return failedBy("recipients", error, "have it sent again: all of it, idk1 and 58 letters");
  }
}

async function isOpenToOthers(path: string): Promise<boolean> {
  if (process.platform === "win32") return false;
  const stats = await stat(path).catch(() => undefined);
  return stats?.isFile() === true && (stats.mode & 0o077) !== 0;
}
