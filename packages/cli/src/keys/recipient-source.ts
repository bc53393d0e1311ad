/** One recipient, or a file of them. */
export type RecipientSource =
  | { readonly kind: "recipient"; readonly text: string }
  | { readonly kind: "file"; readonly path: string };

/** The beginnings of recipients, and of keys and names that users of other tools try in their place. */
const RECIPIENT =
  /^(?:idk1|age1[02-9ac-hj-np-z]{20}|(?:ssh-(?:ed25519|rsa|dss)|ecdsa-sha2-\S+|sk-(?:ssh|ecdsa)-\S+)(?:\s|$)|-----BEGIN |github:|https:\/\/)/u;

/** An item of a list of recipients and of files of them: a file, unless it begins like a recipient. */
export function recipientSource(
  item: string,
  pathOf: (item: string) => string = (path) => path,
): RecipientSource {
  // White space around it was copied with it. The name of a file may have some.
  const text = item.trim();
  if (RECIPIENT.test(text)) return { kind: "recipient", text };
  return { kind: "file", path: pathOf(item) };
}
