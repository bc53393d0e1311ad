import type { DeviceEntry, LinkEntry, SpecialEntry } from "../../format/tree/entry.ts";
import type { Planned, RestoreContext } from "../context.ts";
import { FileReplaced, makeTemporary, removeOwn } from "./place.ts";
import { FileError } from "../../files/errors.ts";
import type { Folder } from "../../files/host.ts";
import { giveName } from "../contents/write-file.ts";

/** As many bits as Linux has for the numbers of a device. */
const MAJOR_MAX = 2 ** 12 - 1;
const MINOR_MAX = 2 ** 20 - 1;
/** Until its attributes are set. */
const PRIVATE = 0o600;

/** Makes a symbolic link, fifo, socket or device. */
export function makeSpecial(
  context: RestoreContext,
  planned: Planned,
  entry: LinkEntry | SpecialEntry | DeviceEntry,
): void {
  const { host, folders, attributes, report } = context;
  const { parent, name } = planned;
  const folder = folders.open(parent);
  const { temporary } = makeTemporary(host, folder, name, parent.hasTemporaryNames, (given) =>
    make(context, folder, given, entry),
  );
  const own = host.stat(folder, temporary);
  // What has no content is whole when it is made; a file would be another's.
  if (own?.type !== entry.type) throw new FileReplaced();
  try {
    const warn = (message: string) => report.warning(planned, message);
    attributes.setNamed(folder, temporary, entry.type === "link", planned.attributes, warn);
    giveName(context, folder, temporary, own, name);
  } catch (error) {
    removeOwn(host, folder, temporary, own);
    throw error;
  }
}

function make(
  { host }: RestoreContext,
  folder: Folder,
  name: Uint8Array,
  entry: LinkEntry | SpecialEntry | DeviceEntry,
): void {
  if (entry.type === "link") {
    host.makeLink(folder, name, entry.target);
    return;
  }
  const [major, minor] = "major" in entry ? [entry.major, entry.minor] : [0, 0];
  if (major > MAJOR_MAX || minor > MINOR_MAX) throw new FileError("EINVAL", "mknod");
  host.makeSpecial(folder, name, entry.type, PRIVATE, major, minor);
}
