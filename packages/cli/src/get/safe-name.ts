import filenamify from "filenamify";

/** Leaves room for a suffix within the usual limit of 255 bytes. */
const BYTES_MAX = 200;
/** Bounds the work for an overlong name. */
const INPUT_MAX = 1000;
const EXTENSION_MAX = 16;

/** The suffix of partial files; see part-file.ts. */
const PART_SUFFIX = /\.idk-part$/iu;

/**
 * Turns an untrusted name into one that every system accepts and that, joined to a folder, names
 * something in that folder: not `..` or a device, without separators, controls and invisible
 * characters.
 */
export function safeName(name: string): string {
  const safe = cleaned(cut(name.slice(0, INPUT_MAX).toWellFormed()));
  // Cleaning may lengthen the name again. The second pass only shortens it.
  const short = byteLength(safe) > BYTES_MAX ? cleaned(cut(safe)) : safe;
  if (foldedName(short) === "") return "_";
  return PART_SUFFIX.test(short) ? `${short}_` : short;
}

/** Equal for names that some file system considers equal. */
export function foldedName(name: string): string {
  return name
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .normalize("NFKC")
    .toUpperCase()
    .toLowerCase()
    .normalize("NFKC");
}

/** Inserts a mark before the extension. */
export function marked(name: string, mark: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 && name.length - dot <= EXTENSION_MAX
    ? `${name.slice(0, dot)}~${mark}${name.slice(dot)}`
    : `${name}~${mark}`;
}

function cleaned(name: string): string {
  return filenamify(name, { replacement: "_", maxLength: INPUT_MAX });
}

/** Truncates between characters, keeps a short extension, and leaves room for two bytes. */
function cut(name: string): string {
  if (byteLength(name) <= BYTES_MAX) return name;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && byteLength(name.slice(dot)) <= EXTENSION_MAX ? name.slice(dot) : "";
  let [base, room] = ["", BYTES_MAX - 2 - byteLength(extension)];
  for (const { segment } of new Intl.Segmenter().segment(
    name.slice(0, dot > 0 && extension ? dot : undefined),
  )) {
    room -= byteLength(segment);
    if (room < 0) break;
    base += segment;
  }
  return (base === "" ? "_" : base) + extension;
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}
