/** UTF-8 bytes; most file systems allow 255, and browsers add a number or an ending of their own. */
const NAME_MAX = 200;

/** Controls, characters that reorder text, lone surrogates, and what Windows does not allow in names. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}"*/:<>?\\|]+/gu;

/** Names that Windows takes for devices, whatever ending they have. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/iu;

/**
 * A name for a file, from any text: one part of a path, not hidden, at most 200 bytes of UTF-8.
 *
 * @returns `download` if nothing is left
 */
export function safeFileName(text: string | undefined): string {
  const name = (text ?? "")
    .replaceAll(UNSAFE, "_")
    .replaceAll(/^[\s.]+|[\s.]+$/gu, "")
    .replace(DEVICE, "_$&");
  return name === "" ? "download" : shortened(name);
}

/** Keeps the ending. */
function shortened(name: string): string {
  const length = (text: string): number => new TextEncoder().encode(text).length;
  if (length(name) <= NAME_MAX) return name;
  const ending = /\.[^.]{1,16}$/u.exec(name)?.[0] ?? "";
  const stem = Array.from(name.slice(0, name.length - ending.length));
  while (length(stem.join("")) + length(ending) > NAME_MAX) stem.pop();
  return stem.join("") + ending;
}

/** A Content-Disposition that saves under a safe name (RFC 6266, with `filename*` of RFC 8187). */
export function contentDisposition(name: string | undefined): string {
  const safe = safeFileName(name);
  const ascii = safe.replaceAll(/[^\x20-\x7e]|%/gu, "_");
  // encodeURIComponent leaves these, which are not characters of an extended value.
  const escape = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  const extended = encodeURIComponent(safe).replaceAll(/['()*]/gu, escape);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${extended}`;
}
