import { createStore, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { backendConformance } from "@idk/storage/testing";
import { expect, test } from "bun:test";
import { counting } from "../../src/harness/counting.ts";

const open = async () => {
  const { backend } = counting(memory());
  return { backend, reopen: async () => backend };
};
for (const { name, run } of backendConformance({ open })) test(name, run);

test("counts one request for a small put or get, and the bytes of the root", async () => {
  const { backend, counts } = counting(memory());
  const alice = await generateIdentity();
  const store = createStore({ backend, recipients: [alice.recipient], identities: [alice] });
  const address = await store.put("hello");
  const [listed] = await Array.fromAsync(store.list());
  const { size } = listed!;
  expect(counts()).toEqual({ requests: 2, bytesSent: size, bytesReceived: 0 });
  await store.get(address);
  expect(counts()).toEqual({ requests: 3, bytesSent: size, bytesReceived: size });
});

test("adds no optional methods", () => {
  const { backend } = counting(memory());
  expect(backend.capabilities).toBeUndefined();
  expect(backend.listAfter).toBeUndefined();
  expect(backend.local).toBe(true);
});
