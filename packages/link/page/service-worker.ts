/*
 * Answers requests for `save/ID` with what a page decrypts, as the browser asks for it, so that downloads
 * of any size take little memory. Everything else passes by. The worker never sees a key.
 */
import { type Answer, type FromWorker, SAVE_PATH, type ToWorker, ask } from "./worker-messages.ts";
import { contentDisposition } from "./file-name.ts";

/** The parts used here of a scope whose types exclude those of pages. */
interface WorkerScope {
  readonly registration: Pick<ServiceWorkerRegistration, "scope" | "active">;
  readonly clients: { get(id: string): Promise<unknown> };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install", listener: (event: ExtendableEvent) => void): void;
  addEventListener(type: "message", listener: (event: OfferEvent) => void): void;
  addEventListener(type: "fetch", listener: (event: RequestEvent) => void): void;
}
interface ExtendableEvent extends Event {
  waitUntil(promise: Promise<unknown>): void;
}
interface OfferEvent extends ExtendableEvent {
  /** Another version of the page may have sent it. */
  readonly data: Partial<ToWorker> | undefined;
  readonly ports: readonly MessagePort[];
  readonly source: { readonly id: string };
}
interface RequestEvent extends ExtendableEvent {
  readonly request: Request;
  respondWith(response: Response): void;
}

type Offer = Extract<ToWorker, { kind: "offer" }>;

interface Download {
  readonly name: string | undefined;
  readonly size: number;
  readonly port: MessagePort;
  /** The page. */
  readonly client: string;
}

/** How often to look whether the page is still there, while it owes bytes. */
const CLIENT_CHECK_MS = 1000;
/** How long an offer waits for its request: more than the page waits. */
const OFFER_MS = 30_000;

const scope = globalThis as unknown as WorkerScope;
/** Until the browser requests them. */
const offered = new Map<string, Download>();
const running = new Set<string>();

// A new page should not meet an old worker. The page itself needs no controller: its messages go to the
// active worker, and the request of a frame is answered by its address. But a worker that has downloads
// would lose them; then the new one waits until all pages are closed.
scope.addEventListener("install", (event) => event.waitUntil(replaceIdle()));

async function replaceIdle(): Promise<void> {
  const { active } = scope.registration;
  if (active !== null && (await ask(active, { kind: "busy" }))) return;
  await scope.skipWaiting();
}

scope.addEventListener("message", ({ data, ports, source }) => {
  const [port] = ports;
  if (port === undefined) return;
  if (data?.kind === "busy") port.postMessage(offered.size + running.size > 0);
  if (data?.kind === "ping") port.postMessage(offered.has(data.id!) || running.has(data.id!));
  if (data?.kind === "offer") offer(data, port, source.id);
});

function offer({ id, name, size }: Partial<Offer>, port: MessagePort, client: string): void {
  if (typeof id !== "string" || typeof name === "object" || !Number.isSafeInteger(size)) return;
  offered.set(id, { name, size: size!, port, client });
  setTimeout(() => offered.delete(id), OFFER_MS);
  // The page withdraws it.
  port.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
    if (data === "fail") offered.delete(id);
  });
  port.start();
  post(port, "ready");
}

scope.addEventListener("fetch", (event) => {
  const { href, origin, pathname } = new URL(event.request.url);
  const saves = new URL(SAVE_PATH, scope.registration.scope).href;
  // Without query and fragment.
  if (href !== origin + pathname || !href.startsWith(saves)) return;
  const id = href.slice(saves.length);
  const download = offered.get(id);
  offered.delete(id);
  event.respondWith(
    download === undefined
      ? new Response("There is no such download. Open the link again.", { status: 404 })
      : responseTo(id, download),
  );
});

function responseTo(id: string, download: Download): Response {
  running.add(id);
  post(download.port, "started");
  return new Response(
    streamOf(download, () => running.delete(id)),
    {
      headers: {
        "content-disposition": contentDisposition(download.name),
        "content-length": String(download.size),
        "cache-control": "no-store",
        // Never runs here, even if a browser shows it instead of saving it.
        "content-type": "application/octet-stream",
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
      },
    },
  );
}

/** Asks the page for each piece when the browser asks for it. If one does not come, the stream fails. */
function streamOf({ port, client }: Download, ended: () => void): ReadableStream<Uint8Array> {
  let answered = (): void => {};
  const end = (): void => {
    clearInterval(watch);
    port.close();
    ended();
    answered();
  };
  let fail = end;
  // A page that crashed does not say so.
  const check = async (): Promise<void> => {
    if ((await scope.clients.get(client)) === undefined) fail();
  };
  const watch = setInterval(() => void check(), CLIENT_CHECK_MS);
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        fail = () => {
          end();
          controller.error(new Error("the page stopped the download"));
        };
        const onAnswer = ({ data }: MessageEvent<Answer>): void => {
          if (data === "fail") return fail();
          if (data === "end") {
            controller.close();
            post(port, "done");
            return end();
          }
          controller.enqueue(data);
          answered();
        };
        port.addEventListener("message", onAnswer);
      },
      async pull() {
        const answer = new Promise<void>((resolve) => (answered = resolve));
        post(port, "pull");
        await answer;
      },
      cancel() {
        post(port, "cancel");
        end();
      },
    },
    { highWaterMark: 0 },
  );
}

function post(port: MessagePort, message: FromWorker): void {
  port.postMessage(message);
}
