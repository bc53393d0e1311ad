import { afterAll, beforeAll, expect, jest, test } from "bun:test";

type Listener = (event: object) => void;

const listeners = new Map<string, Listener>();
const scope: Record<string, unknown> = {
  registration: { scope: "https://example.com/open/", active: null },
  clients: { get: async () => ({}) },
  addEventListener: (type: string, listener: Listener) => listeners.set(type, listener),
};
let skipped = 0;
scope["skipWaiting"] = async () => void (skipped += 1);
const replaced = new Map<string, PropertyDescriptor | undefined>();

beforeAll(async () => {
  for (const [key, value] of Object.entries(scope)) {
    replaced.set(key, Object.getOwnPropertyDescriptor(globalThis, key));
    Object.defineProperty(globalThis, key, { value, configurable: true, writable: true });
  }
  await import("../../page/service-worker.ts");
});
afterAll(() => {
  for (const [key, descriptor] of replaced) {
    if (descriptor === undefined) Reflect.deleteProperty(globalThis, key);
    else Object.defineProperty(globalThis, key, descriptor);
  }
});

/** Sends a message to the worker, and returns its answer; undefined if there is none. */
async function send(data: unknown, port?: MessagePort): Promise<unknown> {
  const channel = new MessageChannel();
  const answer = new Promise((resolve) => {
    channel.port1.addEventListener("message", (event) => resolve(event.data));
    channel.port1.start();
    setTimeout(resolve, 200, undefined);
  });
  listeners.get("message")!({ data, ports: [port ?? channel.port2], source: { id: "page" } });
  return answer.finally(() => channel.port1.close());
}

/** @returns the port of the page */
function offer(id: string): MessagePort {
  const { port1, port2 } = new MessageChannel();
  const data = { kind: "offer", id, name: "a.txt", size: 3 };
  listeners.get("message")!({ data, ports: [port2], source: { id: "page" } });
  return port1;
}

async function request(id: string): Promise<Response> {
  let response: Response | undefined;
  listeners.get("fetch")!({
    request: { url: `https://example.com/open/save/${id}` },
    respondWith: (given: Response) => (response = given),
  });
  return response!;
}

const isBusy = async (): Promise<unknown> => send({ kind: "busy" });

test("an offer is answered once", async () => {
  const port = offer("once");
  expect(await send({ kind: "ping", id: "once" })).toBe(true);
  const response = await request("once");
  expect(response.headers.get("content-disposition")).toContain('filename="a.txt"');
  expect(await isBusy()).toBe(true);
  expect((await request("once")).status).toBe(404);
  await response.body!.cancel();
  expect(await isBusy()).toBe(false);
  port.close();
});

test("an offer that the page withdraws is not answered", async () => {
  const port = offer("withdrawn");
  port.postMessage("fail");
  await Bun.sleep(100);
  expect((await request("withdrawn")).status).toBe(404);
  port.close();
});

test("an offer is forgotten if no request comes", async () => {
  jest.useFakeTimers();
  try {
    offer("late").close();
    jest.advanceTimersByTime(30_000);
  } finally {
    jest.useRealTimers();
  }
  expect((await request("late")).status).toBe(404);
});

test.each([
  ["nothing", undefined],
  ["an unknown kind", { kind: "later", id: "odd", size: 3 }],
  ["an offer without a size", { kind: "offer", id: "odd" }],
])("%s is ignored", async (_, data) => {
  expect(await send(data)).toBeUndefined();
  expect((await request("odd")).status).toBe(404);
});

test("a new worker replaces one without downloads, and no other", async () => {
  const install = async (active: object | null): Promise<void> => {
    scope["registration"] = Object.assign(scope["registration"]!, { active });
    let done: Promise<unknown> | undefined;
    listeners.get("install")!({ waitUntil: (given: Promise<unknown>) => (done = given) });
    await done;
  };
  const worker = (busy: boolean): object => ({
    postMessage: (_: unknown, [port]: [MessagePort]) => port.postMessage(busy),
  });
  await install(null);
  expect(skipped).toBe(1);
  await install(worker(true));
  expect(skipped).toBe(1);
  await install(worker(false));
  expect(skipped).toBe(2);
});
