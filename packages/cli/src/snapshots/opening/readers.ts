import type { Identity } from "@idk/storage";
import type { RecipientSource } from "../../keys/recipient-source.ts";
import { loadRecipients } from "../../keys/recipients.ts";

/** Who can read what the owner signs: the configured recipients, and the owner's own identities. */
export async function readersOf(
  sources: readonly RecipientSource[],
  identities: readonly Identity[],
): Promise<readonly string[]> {
  const named = sources.length === 0 ? [] : await loadRecipients(sources);
  return [...new Set<string>([...named, ...identities.map(({ recipient }) => recipient)])];
}
