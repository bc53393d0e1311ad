import { alice, aliceStore, bob, outcome, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";

describe("recipients", () => {
  test("all of them read, and nobody else", async () => {
    const store = aliceStore({ recipients: [alice.recipient, bob.recipient] });
    const address = await store.put("for two");
    for (const identity of [alice, bob]) {
      const blob = await store.get(address, { identities: [identity] });
      expect(await blob.text()).toBe("for two");
    }
    const forAlice = await store.put("for one", { recipients: [alice.recipient] });
    expect(await outcome(store.get(forAlice, { identities: [bob] }))).toBe("no-match");
  });

  test("named twice count once, in any order", async () => {
    const dedupSecret = random(32);
    const store = aliceStore({ dedupSecret });
    const once = await store.put("x", { recipients: [alice.recipient, bob.recipient] });
    const twice = await store.put("x", {
      recipients: [bob.recipient, alice.recipient, bob.recipient],
    });
    expect(twice).toBe(once);
    expect((await store.stat(once)).recipients).toBe(2);
  });

  test("a writer needs no identity", async () => {
    const backend = memory();
    const writer = aliceStore({ backend, identities: undefined });
    const address = await writer.put("dropped off");
    expect(await outcome(writer.get(address))).toBe("usage");
    expect(await (await aliceStore({ backend }).get(address)).text()).toBe("dropped off");
  });

  test("none is refused, and so is one that is malformed", async () => {
    expect(await outcome(aliceStore({ recipients: undefined }).put("x"))).toBe("usage");
    expect(await outcome(aliceStore().put("x", { recipients: [] }))).toBe("usage");
    expect(await outcome(aliceStore().put("x", { recipients: ["idk1nonsense"] }))).toBe("key");
  });
});
