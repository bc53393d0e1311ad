// Usage: bun|node long-lived-signal.mjs [ROUNDS]. Makes thousands of calls under one signal, and prints what they
// leave behind in it, and how many connections ten requests for headers open.
import { createStore, generateIdentity, replicate, withLimit, withRetry } from "@idk/storage";
import { createServer } from "node:http";
import { memory } from "@idk/storage/memory";
import { s3 } from "@idk/storage/s3";

/** Counts the listeners of a signal. */
function counted(signal) {
  const listeners = new Set();
  const { addEventListener: add, removeEventListener: remove } = signal;
  signal.addEventListener = function addEventListener(type, listener, ...rest) {
    listeners.add(listener);
    return add.call(signal, type, listener, ...rest);
  };
  signal.removeEventListener = function removeEventListener(type, listener, ...rest) {
    listeners.delete(listener);
    return remove.call(signal, type, listener, ...rest);
  };
  return listeners;
}

let derived = 0;
const { any } = AbortSignal;
AbortSignal.any = (signals) => {
  if (signals.includes(signal)) derived += 1;
  return any.call(AbortSignal, signals);
};
const { signal } = new AbortController();
const listeners = counted(signal);

const identity = await generateIdentity();
const keys = { recipients: [identity.recipient], identities: [identity], threads: 0 };
const limited = (backend) => withRetry(withLimit(backend, 4));

const local = createStore({ ...keys, backend: limited(memory()) });
const small = await local.put("small");
const zeros = new Uint8Array(2 ** 20 + 1);
const tree = await local.put(zeros, { chunkSize: 2 ** 18 });
const packed = await local.put(new Uint8Array(1000), { compression: "lz4" });

async function drain(stream) {
  for await (const _ of stream);
}

/** Each kind of call of a store, to its end and left early. */
const calls = {
  put: () => local.put("small", { signal }),
  putTree: () => local.put(zeros, { chunkSize: 2 ** 18, signal }),
  bytes: async () => (await local.get(small, { signal })).bytes(),
  treeBytes: async () => (await local.get(tree, { signal })).bytes(),
  packed: async () => (await local.get(packed, { signal })).bytes(),
  text: async () => (await local.get(small, { signal })).text(),
  stream: async () => drain((await local.get(tree, { signal })).stream()),
  unread: async () => (await local.get(tree, { signal })).stream(),
  cancelled: async () => {
    const reader = (await local.get(tree, { signal })).stream().getReader();
    await reader.read();
    await reader.cancel();
  },
  left: async () => {
    for await (const _ of (await local.get(tree, { signal })).chunks()) break;
  },
  prefix: async () => (await local.get(tree, { signal })).matchingPrefix(async () => 0),
  stat: () => local.stat(small, { signal }),
  verify: () => local.verify(tree, { signal, deep: true }),
  list: () => drain(local.list({ signal })),
  many: () => drain(local.getMany([small], { signal })),
  copy: () => replicate(memory(), memory(), { signal }),
};

const server = createServer((request, response) => {
  request.resume();
  const isListing = request.url.includes("list-type");
  const body = isListing ? "<a><IsTruncated>false</IsTruncated></a>" : "content";
  response.setHeader("etag", '"0"');
  // Also in response to HEAD.
  response.setHeader("content-length", body.length);
  response.end(body);
});
let connections = 0;
server.on("connection", () => {
  connections += 1;
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const remote = limited(
  s3({
    bucket: "bucket",
    endpoint: `http://127.0.0.1:${server.address().port}`,
    region: "us-east-1",
    credentials: { accessKeyId: "access-key", secretAccessKey: "secret-key" },
  }),
);
const name = "ab".repeat(32);
const buffer = new Uint8Array(100);
const remoteCalls = {
  put: () => remote.put(name, buffer, { signal }),
  get: () => remote.get(name, buffer, { signal }),
  list: () => drain(remote.list("", { signal })),
  head: () => remote.head(name, { signal }),
};

const kept = {};
for (const [call, run] of Object.entries(calls)) {
  for (let i = 0; i < 5; i++) await run();
  kept[call] = listeners.size;
}
for (const [call, run] of Object.entries(remoteCalls)) {
  for (let i = 0; i < 5; i++) await run();
  kept[`remote ${call}`] = listeners.size;
}
const before = connections;
for (let i = 0; i < 10; i++) await remoteCalls.head();
const opened = connections - before;

/** What a signal keeps for each signal derived from it, if the runtime shows it. */
function dependants() {
  const symbol = Object.getOwnPropertySymbols(signal).find(
    ({ description }) => description === "kDependantSignals",
  );
  return symbol === undefined ? 0 : (signal[symbol]?.size ?? 0);
}

const rounds = Number(process.argv[2] ?? 1000);
for (let i = 0; i < rounds; i++) {
  await calls.text();
  await calls.put();
  if (i % 100 === 0) {
    await calls.list();
    for (const run of Object.values(remoteCalls)) await run();
  }
}
console.log(
  JSON.stringify({ kept, opened, derived, listeners: listeners.size, dependants: dependants() }),
);
await remote.close();
await local.close();
server.close();
process.exit();
