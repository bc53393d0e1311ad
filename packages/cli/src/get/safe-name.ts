import filenamify from "filenamify";

/** With room for a mark within the 255 bytes that file systems take. */
const BYTES_MAX = 200;
/** No name is so long, and no expression is to work through one that is. */
const LOOKED_AT = 1000;
const EXTENSION_MAX = 16;

/** Ends the names of files that are not whole yet; see part-file.ts. */
const PART_SUFFIX = /\.idk-part$/iu;

/**
 * The name of a file or folder, one that every system takes and that stands for itself alone:
 * neither `..` nor a device, without separators, controls and what shows nothing. Whoever wrote it,
 * joined to a folder it names something in that folder.
 */
export function safeName(name: string): string {
  const safe = cleaned(cut(name.slice(0, LOOKED_AT).toWellFormed()));
  // Cutting and cleaning both may call for the other; what they leave only gets shorter.
  const short = byteLength(safe) > BYTES_MAX ? cleaned(cut(safe)) : safe;
  if (foldedName(short) === "") return "_";
  return PART_SUFFIX.test(short) ? `${short}_` : short;
}

/** Names that some file system takes for the same have the same of these. */
export function foldedName(name: string): string {
  return name
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .normalize("NFKC")
    .toUpperCase()
    .toLowerCase()
    .normalize("NFKC");
}

/** The name with a mark that tells it from others, in front of its extension. */
export function marked(name: string, mark: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 && name.length - dot <= EXTENSION_MAX
    ? `${name.slice(0, dot)}~${mark}${name.slice(dot)}`
    : `${name}~${mark}`;
}

function cleaned(name: string): string {
  return filenamify(name, { replacement: "_", maxLength: LOOKED_AT });
}

/** Whole characters, with a short extension kept, and room for two more. */
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
