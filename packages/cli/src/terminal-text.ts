/** Anything a terminal would act on: all controls but tab and line ends. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/u;

/** Makes a check of consecutive pieces: whether the content so far is text fit for a terminal. */
export function createTextCheck(): (piece: Uint8Array) => boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  return (piece) => {
    try {
      return !CONTROL.test(decoder.decode(piece, { stream: true }));
    } catch {
      return false;
    }
  };
}
