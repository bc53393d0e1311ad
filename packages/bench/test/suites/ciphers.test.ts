import { loadNaCl } from "@idk/storage";
import { expect, test } from "bun:test";
import { ageCipher, nodeCipher, secretbox } from "../../src/suites/ciphers/cipher.ts";
import { runTiny } from "./run-tiny.ts";

test("measures small and large files with each cipher, or notes why not", async () => {
  const { measurements, notes } = await runTiny("ciphers", [500, 150_000]);
  const series = new Set(measurements.map((measurement) => measurement.series));
  const absent = notes.filter((note) => note.startsWith("not measured: "));
  expect(series.size / 2 + absent.length).toBe(5);
  expect(series).toContain("XSalsa20-Poly1305, portable, seal");
  expect(series).toContain("age, open");
  expect(measurements).toHaveLength(series.size * 2);
});

test("no cipher opens a changed file", async () => {
  const ciphers = [
    secretbox("portable", await loadNaCl("portable")),
    nodeCipher("AES", "aes-256-gcm"),
    await ageCipher(),
  ];
  for (const cipher of ciphers) {
    if (typeof cipher === "string") throw new Error(cipher);
    const content = new Uint8Array(100).fill(7);
    const { seal, open } = cipher.prepare(content.length);
    const sealed = (await seal(content)).map((part) => part.slice());
    expect(Uint8Array.from(await open(sealed))).toEqual(content);
    sealed.at(-1)![3]! ^= 1;
    const opened = Promise.resolve().then(() => open(sealed));
    expect(
      await opened.then(
        () => "opened",
        () => "refused",
      ),
    ).toBe("refused");
  }
});
