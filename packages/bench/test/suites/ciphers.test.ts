import { describe, expect, test } from "bun:test";
import { allCiphers } from "../../src/suites/processor/ciphers.ts";
import { runTiny } from "./run-tiny.ts";
import { withWrongBytes } from "./wrong-bytes.ts";

test("seals and opens every size with each cipher, and compares the native NaCl with libsodium", async () => {
  const { measurements, targets } = await runTiny("ciphers", [500, 20_000]);
  const series = new Set(measurements.map((measurement) => measurement.series));
  expect(series.size).toBe(2 * 9);
  expect(measurements).toHaveLength(series.size * 2);
  expect(targets.map(({ name, kind, least, most }) => [name, kind, least, most])).toEqual(
    Object.entries({ "500 bytes": 6, "20 KB": 1 }).flatMap(([size, most]) =>
      ["seal", "open"].flatMap((way) => [
        [`${size}: ${way} by the native NaCl to libsodium`, "cpu", undefined, 1.25],
        [`${size}: ${way} by the portable NaCl to libsodium`, "cpu", 1, 25],
        [`${size}: ${way} by the portable NaCl to tweetnacl`, "cpu", undefined, most],
      ]),
    ),
  );
});

const all = Object.values(await allCiphers()).flat();

describe("ciphers", () => {
  test.each(all.map((cipher) => [cipher.name, cipher] as const))(
    "%s opens its own message, uses a new nonce for each, and opens no changed one",
    async (_, cipher) => {
      const content = new Uint8Array(100).fill(7);
      const { seal, open } = cipher.prepare(content.length);
      const sealed = (await seal(content)).map((part) => part.slice());
      expect(Uint8Array.from(await open(sealed))).toEqual(content);
      expect((await seal(content)).map((part) => part.slice())).not.toEqual(sealed);
      sealed.at(-1)![3]! ^= 1;
      const opened = Promise.resolve().then(() => open(sealed));
      expect(
        await opened.then(
          () => "opened",
          () => "refused",
        ),
      ).toBe("refused");
    },
  );
});

test("finds wrong bytes", async () => {
  const run = await withWrongBytes(() => runTiny("ciphers", [20_000]).catch(String));
  expect(run).toContain("20000 wrong bytes came back");
});
