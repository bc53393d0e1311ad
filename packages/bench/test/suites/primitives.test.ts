import { loadNaCl } from "@idk/storage";
import { expect, test } from "bun:test";
import { runTiny } from "./run-tiny.ts";

test("measures headers, keys and wrapping, each with a bound of the same run", async () => {
  const { measurements, targets } = await runTiny("primitives");
  const bounds = measurements.filter(({ name }) => /^(?:libsodium|node:crypto|JSON): /u.test(name));
  expect(measurements.length - bounds.length).toBe(targets.length);
  expect(targets.map(({ name, unit }) => `${name}: ${unit}`)).toEqual([
    "encode a header, to JSON: write a header: ratio",
    "decode a header, to JSON: read a header: ratio",
    "generate an identity, to libsodium: public key: ratio",
    "X25519, native, to libsodium: X25519: ratio",
    "X25519, portable, to node:crypto: X25519: ratio",
    "recipient of a public key, to JSON: write a header: ratio",
    "parse a recipient, to JSON: read a header: ratio",
    "wrap, recipients: 1, to libsodium: boxes, recipients: 1: ratio",
    "wrap, recipients: 16, to libsodium: boxes, recipients: 16: ratio",
    "wrap, recipients: 256, to libsodium: boxes, recipients: 256: ratio",
  ]);
  expect(targets.every(({ kind }) => kind === "cpu")).toBe(true);
});

test("finds a wrong key agreement", async () => {
  const native = await loadNaCl("native");
  const { x25519 } = native;
  Object.assign(native, {
    x25519: (...keys: Parameters<typeof x25519>) => x25519(...keys).map((byte) => byte ^ 1),
  });
  try {
    expect(await runTiny("primitives").catch(String)).toContain("wrong bytes came back");
  } finally {
    Object.assign(native, { x25519 });
  }
});
