/** What the page posts to its service worker, with a port. */
export type ToWorker =
  /** The page offers a download; everything else about it goes through the port. */
  | {
      readonly kind: "offer";
      readonly id: string;
      /** Any text. */
      readonly name: string | undefined;
      readonly size: number;
    }
  /**
   * Asks whether the worker still has the download, and keeps the worker running. The worker posts true
   * or false to the port.
   */
  | { readonly kind: "ping"; readonly id: string }
  /**
   * A new worker asks the active one whether it has any download. The answer is posted to the port like
   * that to a ping.
   */
  | { readonly kind: "busy" };

/** For how long a question to a worker stays open: a worker that was replaced never answers. */
const ANSWER_MS = 5000;

/** A worker, as pages and workers see it. */
interface Receiver {
  postMessage(message: ToWorker, ports: MessagePort[]): void;
}

/** Asks a worker a question. @returns undefined if it does not answer within five seconds */
export async function ask(worker: Receiver, question: ToWorker): Promise<boolean | undefined> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ANSWER_MS, undefined);
    port1.addEventListener("message", ({ data }: MessageEvent<boolean>) => {
      clearTimeout(timer);
      resolve(data);
    });
    port1.start();
    worker.postMessage(question, [port2]);
  }).then((answer) => {
    port1.close();
    return answer as boolean | undefined;
  });
}

/**
 * What the worker posts to the port of a download: it is ready to answer the request for it; the browser
 * made the request; the browser has room for more bytes; it wants no more; it was given everything.
 */
export type FromWorker = "ready" | "started" | "pull" | "cancel" | "done";

/** What the page answers to each `pull`. `fail` may also come unasked, even before `started`. */
export type Answer = Uint8Array | "end" | "fail";

/** Where the service worker answers downloads, below its scope: this and their ID. */
export const SAVE_PATH = "save/";
