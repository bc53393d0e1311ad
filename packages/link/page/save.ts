import { type Answer, type FromWorker, SAVE_PATH, type ToWorker, ask } from "./worker-messages.ts";
import { PageError, formatSize } from "./sentences.ts";
import { LinkError } from "../src/errors.ts";
import { safeFileName } from "./file-name.ts";

/** Without a service worker, a file has to fit into memory: up to this many bytes. */
const MEMORY_MAX = 256 * 1000 ** 2;
/**
 * How long the browser may take to ask for the download. Some browsers, such as web views, have service
 * workers and ignore a frame that is a download; what fits into memory does not wait long for them.
 */
const START_MS = 20_000;
const START_SMALL_MS = 5000;
/** Browsers end idle service workers after half a minute. */
const PING_MS = 5000;
/**
 * How many pings in a row a worker may leave unanswered. One is no sign of a fault: when the machine
 * wakes from sleep, the time for an answer is over before the answer can come.
 */
const UNANSWERED_MAX = 3;
const NOT_STARTED = new PageError(
  "The browser did not start the download. Allow downloads for this page and try again.",
);

/** A file to save. */
export interface Savable {
  readonly name: string | undefined;
  readonly size: number;
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** A save that runs. */
export interface SaveOptions {
  /** Where the browser requests the download. */
  readonly frame: HTMLIFrameElement;
  readonly signal: AbortSignal;
  /** @param bytes how many the browser has */
  readonly onProgress: (bytes: number) => void;
}

/**
 * Saves a file as a download of the browser, in bounded memory.
 *
 * @throws LinkError, PageError
 */
export async function save(file: Savable, options: SaveOptions): Promise<void> {
  const registration = await registerWorker();
  const isSmall = file.size <= MEMORY_MAX;
  if (registration !== undefined) {
    try {
      return await saveByWorker(file, options, registration);
    } catch (error) {
      if (error !== NOT_STARTED || !isSmall) throw error;
    }
  } else if (!isSmall) {
    const limit = formatSize(MEMORY_MAX);
    throw new PageError(
      `This browser window can save files up to ${limit} only. Open the link in a window that is not private, or in a current version of Chrome, Edge, Firefox or Safari.`,
    );
  }
  return saveFromMemory(file, options);
}

/** @returns undefined if there are no service workers, as in some private windows */
export async function registerWorker(): Promise<ServiceWorkerRegistration | undefined> {
  try {
    await navigator.serviceWorker.register("service-worker.js");
    return await navigator.serviceWorker.ready;
  } catch {
    return undefined;
  }
}

/** The worker answers the request of a frame with bytes that it asks this page for, one piece at a time. */
async function saveByWorker(
  file: Savable,
  { frame, signal, onProgress }: SaveOptions,
  { active, scope }: ServiceWorkerRegistration,
): Promise<void> {
  const worker = active!;
  const startMs = file.size <= MEMORY_MAX ? START_SMALL_MS : START_MS;
  const id = crypto.randomUUID();
  const { port1: port, port2: workerPort } = new MessageChannel();
  const reader = file.stream().getReader();
  let sent = 0;
  const answerPull = async (): Promise<void> => {
    const { done, value } = await reader.read();
    if (done) return answer(port, "end");
    sent += value.length;
    answer(port, value);
    onProgress(sent);
  };
  const ended = new AbortController();
  const ends = { signal: ended.signal };
  let start: ReturnType<typeof setTimeout> | undefined;
  let pings: ReturnType<typeof setInterval> | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (sentence: string): void => reject(new PageError(sentence));
      const stop = (): void => reject(new LinkError("aborted", "the save was cancelled"));
      if (signal.aborted) return stop();
      const onMessage: Readonly<Record<FromWorker, () => void>> = {
        ready: () => (frame.src = new URL(SAVE_PATH + id, scope).href),
        started: () => clearTimeout(start),
        pull: () => void answerPull().catch(reject),
        cancel: () => fail("The download was cancelled in the browser."),
        done: resolve,
      };
      port.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => onMessage[data]());
      port.start();
      start = setTimeout(reject, startMs, NOT_STARTED);
      let unanswered = 0;
      const ping = async (): Promise<void> => {
        const isThere = await ask(worker, { kind: "ping", id });
        unanswered = isThere === undefined ? unanswered + 1 : 0;
        if (isThere === false || unanswered === UNANSWERED_MAX)
          fail("The browser stopped the download. Try again.");
      };
      pings = setInterval(() => void ping(), PING_MS);
      signal.addEventListener("abort", stop, ends);
      // The browser must see that the download failed, not that it ended.
      addEventListener("pagehide", () => answer(port, "fail"), ends);
      const offer: ToWorker = { kind: "offer", id, name: file.name, size: file.size };
      worker.postMessage(offer, [workerPort]);
    });
  } catch (error) {
    // Also withdraws the offer.
    answer(port, "fail");
    if (error === NOT_STARTED) frame.removeAttribute("src");
    throw error;
  } finally {
    clearTimeout(start);
    clearInterval(pings);
    ended.abort();
    await reader.cancel().catch(() => {});
  }
}

/** Bytes are given away. */
function answer(port: MessagePort, message: Answer): void {
  port.postMessage(message, typeof message === "string" ? [] : [message.buffer as ArrayBuffer]);
}

async function saveFromMemory(file: Savable, { signal, onProgress }: SaveOptions): Promise<void> {
  const reader = file.stream().getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let received = 0;
  try {
    for (;;) {
      if (signal.aborted) throw new LinkError("aborted", "the save was cancelled");
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
      received += value.length;
      onProgress(received);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
  const anchor = document.createElement("a");
  // Not the type that the sender gave: nothing of the file runs here.
  anchor.href = URL.createObjectURL(new Blob(pieces, { type: "application/octet-stream" }));
  anchor.download = safeFileName(file.name);
  anchor.click();
  // The browser reads the file after this.
  setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000);
}
