import { parseRecipient, readRecipientsFile, type Recipient, StorageError } from "@idk/storage";
import { Failure, usage } from "../errors/failures.ts";
import { looksLikeIdentity } from "../output/text.ts";
import { readKeyFile } from "./key-files.ts";
import { recipientSource, type RecipientSource } from "./recipient-source.ts";

/** Reads all recipients. */
export async function loadRecipients(sources: readonly RecipientSource[]): Promise<Recipient[]> {
  if (sources.length === 0) {
    throw usage(
      "no recipients: name them with -r RECIPIENT, -R FILE or IDK_RECIPIENTS " +
        "(`idk recipient -i FILE` prints your own)",
    );
  }
  const recipients: Recipient[] = [];
  for (const source of sources) recipients.push(...(await load(source)));
  return recipients;
}

async function load(source: RecipientSource): Promise<Recipient[]> {
  let bytes: Uint8Array | undefined;
  const where = source.kind === "file" ? `recipients file ${source.path}` : "recipient";
  try {
    if (source.kind === "file") {
      bytes = await readKeyFile(source.path, "recipients file");
      return readRecipientsFile(bytes);
    }
    if (looksLikeIdentity(source.text)) {
      throw usage("this is an identity, which is secret; print its recipient with `idk recipient`");
    }
    return [parseRecipient(source.text)];
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const held = bytes && (await import("./key-kinds.ts")).secretIn(bytes);
    if (held !== undefined) {
      const remedy =
        held === "an identity" ? "its public key, which `idk recipient -i FILE` prints" : "idk1…";
      throw new Failure(
        error.code,
        `${where}: this is ${held}, which is secret; give ${remedy}`,
        error,
      );
    }
    const mayBeFile = source.kind === "recipient" && recipientSource(source.text).kind === "file";
    const hint = mayBeFile ? "; -R takes a file" : "";
    throw new Failure(error.code, `${where}: ${error.message}${hint}`, error);
  }
}
