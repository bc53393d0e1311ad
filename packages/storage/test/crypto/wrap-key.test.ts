import { describe, expect, test } from "bun:test";
import crypto from "node:crypto";
import nacl from "tweetnacl";
import { nativeNaCl } from "../../src/crypto/nacl/nacl-native.ts";
import { portableNaCl } from "../../src/crypto/nacl/nacl-portable.ts";
import { assertEphemeral, unwrapContentKey, wrapContentKey } from "../../src/crypto/wrap-key.ts";
import { fails } from "../format/fails.ts";
import { lowOrderPoints, notCanonical } from "./low-order.ts";

/** A key pair for every number. */
function pair(n: number): nacl.BoxKeyPair {
  return nacl.box.keyPair.fromSecretKey(new Uint8Array(32).fill(n & 255).with(1, n >> 8));
}

const contentKey = Uint8Array.from({ length: 32 }, (_, i) => 3 * i);
const ephemeralPair = pair(77);
const [alice, bob, eve] = [pair(1), pair(2), pair(3)];

/** N_i of the format. */
function nonceFor(publicKey: Uint8Array): Uint8Array {
  const hash = crypto.createHash("sha256").update("idk/v1/wrap");
  return hash.update(ephemeralPair.publicKey).update(publicKey).digest().subarray(0, 24);
}

describe.each([nativeNaCl, portableNaCl])("wrapping with the $name library", (naCl) => {
  const wrap = (publicKeys: readonly Uint8Array[]) =>
    wrapContentKey(naCl, contentKey, ephemeralPair.secretKey, publicKeys);

  test("makes a slot that nacl.box.open opens with the nonce of the format", () => {
    const { ephemeral, slots } = wrap([alice.publicKey, bob.publicKey]);
    expect(ephemeral).toEqual(ephemeralPair.publicKey);
    for (const [i, { publicKey, secretKey }] of [alice, bob].entries()) {
      const opened = nacl.box.open(slots[i]!, nonceFor(publicKey), ephemeral, secretKey);
      expect(opened).toEqual(contentKey);
    }
  });

  test("opens a slot that nacl.box made", () => {
    const nonce = nonceFor(alice.publicKey);
    const slot = nacl.box(contentKey, nonce, alice.publicKey, ephemeralPair.secretKey);
    expect(unwrapContentKey(naCl, ephemeralPair.publicKey, [slot], [alice])).toEqual(contentKey);
  });

  test.each([1, 2, 1024])("grants the first and the last of %d recipients access", (count) => {
    const last = pair(count + 100);
    // Generating 1024 real keys would take most of the time, so these are random bytes.
    const others = Array.from({ length: count - 1 }, (_, i): Uint8Array =>
      new Uint8Array(32)
        .fill(9)
        .with(0, i & 255)
        .with(1, i >> 8),
    );
    if (count > 1) others[0] = alice.publicKey;
    const { ephemeral, slots } = wrap([...others, last.publicKey]);
    expect(slots).toHaveLength(count);
    expect(slots.every((slot) => slot.length === 48)).toBe(true);
    expect(unwrapContentKey(naCl, ephemeral, slots, [last])).toEqual(contentKey);
    if (count > 1) expect(unwrapContentKey(naCl, ephemeral, slots, [alice])).toEqual(contentKey);
    expect(unwrapContentKey(naCl, ephemeral, slots, [eve])).toBeUndefined();
  });

  test("opens with any of several identities", () => {
    const { ephemeral, slots } = wrap([alice.publicKey, bob.publicKey]);
    expect(unwrapContentKey(naCl, ephemeral, slots, [eve, bob])).toEqual(contentKey);
    expect(unwrapContentKey(naCl, ephemeral, slots, [bob, eve])).toEqual(contentKey);
  });

  test("finds nothing without slots or identities", () => {
    const { ephemeral, slots } = wrap([alice.publicKey]);
    expect(unwrapContentKey(naCl, ephemeral, [], [alice])).toBeUndefined();
    expect(unwrapContentKey(naCl, ephemeral, slots, [])).toBeUndefined();
  });

  test("uses the first slot that opens, whatever key it contains", () => {
    const other = wrapContentKey(naCl, contentKey.toReversed(), ephemeralPair.secretKey, [
      alice.publicKey,
    ]);
    const { ephemeral, slots } = wrap([alice.publicKey]);
    const both = [...other.slots, ...slots];
    expect(unwrapContentKey(naCl, ephemeral, both, [alice])).toEqual(contentKey.toReversed());
  });

  test("opens no slot of another root, nor one with a flipped bit", () => {
    const { slots } = wrap([alice.publicKey]);
    const slot = slots[0]!;
    expect(unwrapContentKey(naCl, eve.publicKey, slots, [alice])).toBeUndefined();
    for (let bit = 0; bit < 8 * 48; bit += 5) {
      const flipped = slot.with(bit >> 3, slot[bit >> 3]! ^ (1 << (bit & 7)));
      const opened = unwrapContentKey(naCl, ephemeralPair.publicKey, [flipped], [alice]);
      expect(opened).toBeUndefined();
    }
  });

  test.each(Object.entries(lowOrderPoints))(
    "refuses the point %s on both sides",
    (_name, point) => {
      fails(() => wrap([alice.publicKey, point]), "key", "low order");
      for (const identities of [[alice], [eve, bob], []]) {
        const unwrap = () => unwrapContentKey(naCl, point, [new Uint8Array(48)], identities);
        fails(unwrap, "format", "low order");
      }
      fails(() => assertEphemeral(point), "format", "low order");
    },
  );

  test.each(Object.entries(notCanonical))("rejects %s as an ephemeral key", (_name, point) => {
    for (const identities of [[alice], []]) {
      const unwrap = () => unwrapContentKey(naCl, point, [new Uint8Array(48)], identities);
      fails(unwrap, "format", "not canonical");
    }
    fails(() => assertEphemeral(point), "format", "not canonical");
  });

  test("accepts any other ephemeral key", () => {
    for (const { publicKey } of [alice, bob, eve]) {
      expect(() => assertEphemeral(publicKey)).not.toThrow();
    }
  });
});
