import { alice, aliceStore, bob, outcome, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";

describe("recipients", () => {
  test("can all read, and no one else can", async () => {
    const store = aliceStore({ recipients: [alice.recipient, bob.recipient] });
    const address = await store.put("for two");
    for (const identity of [alice, bob]) {
      const blob = await store.get(address, { identities: [identity] });
      expect(await blob.text()).toBe("for two");
    }
    const forAlice = await store.put("for one", { recipients: [alice.recipient] });
    expect(await outcome(store.get(forAlice, { identities: [bob] }))).toBe("no-match");
  });

  test("count once if repeated, in any order", async () => {
    const dedupSecret = random(32);
    const store = aliceStore({ dedupSecret });
    const once = await store.put("x", { recipients: [alice.recipient, bob.recipient] });
    const twice = await store.put("x", {
      recipients: [bob.recipient, alice.recipient, bob.recipient],
    });
    expect(twice).toBe(once);
    expect((await store.stat(once)).recipients).toBe(2);
  });

  test("are enough to write: no identity is needed", async () => {
    const backend = memory();
    const writer = aliceStore({ backend, identities: undefined });
    const address = await writer.put("dropped off");
    expect(await outcome(writer.get(address))).toBe("usage");
    expect(await (await aliceStore({ backend }).get(address)).text()).toBe("dropped off");
  });

  test("must be given and well-formed", async () => {
    expect(await outcome(aliceStore({ recipients: undefined }).put("x"))).toBe("usage");
    expect(await outcome(aliceStore().put("x", { recipients: [] }))).toBe("usage");
    expect(await outcome(aliceStore().put("x", { recipients: ["idk1nonsense"] }))).toBe("key");
  });
});
