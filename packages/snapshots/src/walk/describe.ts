import type { Folder, Host, Stat } from "../files/host.ts";
import type { Extra } from "../format/tree/entry.ts";
import { codeOf } from "../files/errors.ts";

/** The name of an attribute and its value, as the kernel limits both. */
const ATTRIBUTES_MAX = 2 ** 16;

/**
 * What an entry has beyond its stat: the names of its owners and its extended attributes. This takes
 * calls of its own, so a backup asks for it only if the entry has changed.
 *
 * @param name undefined for the folder itself
 * @param report takes the attributes that are left out
 */
export function describe(
  host: Host,
  folder: Folder,
  name: Uint8Array | undefined,
  { uid, gid }: Stat,
  report: (problem: string) => void,
): Extra {
  const extra: { -readonly [Key in keyof Extra]: Extra[Key] } = {};
  const [user, group] = [host.userName(uid), host.groupName(gid)];
  if (user !== undefined) extra.user = user;
  if (group !== undefined) extra.group = group;
  const attributes = readAttributes(host, folder, name, report);
  if (attributes.size > 0) extra.attributes = attributes;
  return extra;
}

function readAttributes(
  host: Host,
  folder: Folder,
  name: Uint8Array | undefined,
  report: (problem: string) => void,
): ReadonlyMap<string, Uint8Array> {
  let attributes: Map<string, Uint8Array>;
  try {
    attributes = host.attributes(folder, name, report);
  } catch (error) {
    report(`its extended attributes cannot be read: ${codeOf(error) ?? "EIO"}`);
    return new Map();
  }
  // All of a file's together, because they are in its entry, which has to fit a node.
  let total = 0;
  for (const [attribute, value] of attributes) {
    total += attribute.length + value.length;
    if (total <= ATTRIBUTES_MAX) continue;
    total -= attribute.length + value.length;
    attributes.delete(attribute);
    report(`the extended attribute ${JSON.stringify(attribute)} is left out: it is too long`);
  }
  return attributes;
}
