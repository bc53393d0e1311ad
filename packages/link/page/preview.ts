/** Up to this many bytes, content is fetched for a preview without being asked for. */
export const PREVIEW_MAX: number = 2 ** 20;

/** Pictures up to this many bytes can be shown. */
export const PICTURE_MAX: number = 32 * 2 ** 20;

/** What can be shown of a file. */
export type Preview =
  | { readonly kind: "picture"; readonly type: string }
  | { readonly kind: "text"; readonly text: string };

/** The first bytes of pictures that browsers show and that contain no script; `.` is any byte. */
const PICTURES: readonly (readonly [type: string, start: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n/u],
  ["image/jpeg", /^\xff\xd8\xff/u],
  ["image/gif", /^GIF8[79]a/u],
  ["image/webp", /^RIFF.{4}WEBP/su],
  ["image/avif", /^.{4}ftypavi[fs]/su],
];

/** Controls that are not in text for people. */
const BINARY = /(?![\t\n\f\r])\p{Cc}/u;

/** Decides by the bytes alone what content is, whatever type its writer gave it. */
export function recognize(bytes: Uint8Array): Preview | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  const picture = PICTURES.find(([, pattern]) => pattern.test(start));
  if (picture !== undefined) return { kind: "picture", type: picture[0] };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text === "" || BINARY.test(text) ? undefined : { kind: "text", text };
  } catch {
    return undefined;
  }
}

/** Whether a file that is too long to fetch unasked is said to be a picture. */
export function isCalledPicture(name: string | undefined, type: string | undefined): boolean {
  return (
    /^image\/(?:png|jpeg|gif|webp|avif)$/iu.test(type ?? "") ||
    /\.(?:png|jpe?g|gif|webp|avif)$/iu.test(name ?? "")
  );
}

/**
 * Makes the element of a preview: a picture from memory, or text as it is, never markup.
 *
 * @throws if the browser cannot decode the picture
 */
export async function previewElement(
  bytes: Uint8Array<ArrayBuffer>,
  preview: Preview,
  name: string | undefined,
): Promise<HTMLElement> {
  if (preview.kind === "text") {
    const text = document.createElement("pre");
    text.dir = "auto";
    // Scrolls, so it has to be reached by keyboard.
    text.tabIndex = 0;
    text.textContent = preview.text;
    return text;
  }
  const image = document.createElement("img");
  image.alt = name === undefined ? "Preview of the picture" : `Preview of ${name}`;
  image.src = URL.createObjectURL(new Blob([bytes], { type: preview.type }));
  try {
    await image.decode();
  } finally {
    URL.revokeObjectURL(image.src);
  }
  return image;
}
