import { imageDimensionsFromData } from "image-dimensions";

/** Up to this many bytes, content is fetched for a preview without being asked for. */
export const PREVIEW_MAX: number = 2 ** 20;

/** Pictures up to this many bytes can be shown. */
export const PICTURE_MAX: number = 32 * 2 ** 20;

/** Pictures of more pixels are not decoded: each takes four bytes, however few the file has. */
const PIXELS_MAX = 50_000_000;

/** What can be shown of a file. */
export type Preview =
  | { readonly kind: "picture"; readonly type: string; readonly size: PictureSize }
  | { readonly kind: "text"; readonly text: string };

/** In pixels. */
export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

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

/**
 * Decides by the bytes alone what content is, whatever type its writer gave it.
 *
 * @returns undefined for what is neither text nor a picture with a width and a height in its head
 */
export function recognize(bytes: Uint8Array): Preview | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  const picture = PICTURES.find(([, pattern]) => pattern.test(start));
  if (picture !== undefined) return recognizePicture(bytes, picture[0]);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text === "" || BINARY.test(text) ? undefined : { kind: "text", text };
  } catch {
    return undefined;
  }
}

function recognizePicture(bytes: Uint8Array, type: string): Preview | undefined {
  const head = imageDimensionsFromData(bytes);
  if (head === undefined || `image/${head.type}` !== type) return undefined;
  const { width, height } = head;
  return width * height === 0 ? undefined : { kind: "picture", type, size: { width, height } };
}

/** Whether a picture has too many pixels to be decoded for a preview. */
export function isTooLarge({ width, height }: PictureSize): boolean {
  return width * height > PIXELS_MAX;
}

/** Whether a file that is too long to fetch unasked is said to be a picture. */
export function isCalledPicture(name: string | undefined, type: string | undefined): boolean {
  return (
    /^image\/(?:png|jpeg|gif|webp|avif)$/iu.test(type ?? "") ||
    /\.(?:png|jpe?g|gif|webp|avif)$/iu.test(name ?? "")
  );
}

/**
 * Makes the element of a preview: a picture from memory, or text as it is, never markup. A picture that
 * is too large becomes a sentence.
 *
 * @throws if the browser cannot decode the picture
 */
export async function previewElement(
  bytes: Uint8Array<ArrayBuffer>,
  preview: Preview,
  name: string | undefined,
): Promise<HTMLElement> {
  if (preview.kind === "picture") return pictureElement(bytes, preview, name);
  const text = document.createElement("pre");
  text.dir = "auto";
  // Scrolls, so it has to be reached by keyboard.
  text.tabIndex = 0;
  text.textContent = preview.text;
  return text;
}

async function pictureElement(
  bytes: Uint8Array<ArrayBuffer>,
  { type, size }: Extract<Preview, { kind: "picture" }>,
  name: string | undefined,
): Promise<HTMLElement> {
  if (isTooLarge(size)) return tooLarge(size);
  const image = document.createElement("img");
  image.alt = name === undefined ? "Preview of the picture" : `Preview of ${name}`;
  image.src = URL.createObjectURL(new Blob([bytes], { type }));
  try {
    await loaded(image);
    // The browser may read another size than the one above from a file that was made for that. It has
    // read the head now, and decodes the pixels when they are needed.
    const read = { width: image.naturalWidth, height: image.naturalHeight };
    if (isTooLarge(read)) return tooLarge(read);
    await image.decode();
  } finally {
    URL.revokeObjectURL(image.src);
  }
  return image;
}

function loaded(image: HTMLImageElement): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(new DOMException("not a picture", "EncodingError"));
    image.addEventListener("load", resolve);
    image.addEventListener("error", fail);
  });
}

function tooLarge({ width, height }: PictureSize): HTMLElement {
  const sentence = document.createElement("p");
  const pixels = [width, height].map((length) => length.toLocaleString("en")).join(" × ");
  sentence.textContent = `This picture is too large to show here: ${pixels} pixels. It can be saved.`;
  return sentence;
}
