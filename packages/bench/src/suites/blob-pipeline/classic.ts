/*
 * A common way to encrypt files with a password: PBKDF2 derives a key for each file from its own salt,
 * and the result is a JSON document with base64 fields.
 */
import { createCipheriv, createDecipheriv, pbkdf2, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { compressFrame, decompressFrame } from "lz4-napi";
import { type StageTimes, stopwatch } from "./stages.ts";

/** Recommended by OWASP for SHA-256 (Password Storage Cheat Sheet) and used by password managers. */
export const ITERATIONS = 600_000;

/** Recommended before 2021 and still common in code. */
export const ITERATIONS_OLD = 100_000;

const PASSWORD = "correct horse battery staple";
const derive = promisify(pbkdf2);
const keyOf = (salt: Uint8Array, iterations: number) =>
  derive(PASSWORD, salt, iterations, 32, "sha256");

/** The document of a file; strings are base64. */
interface Envelope {
  readonly version: 1;
  readonly iterations: number;
  readonly salt: string;
  readonly iv: string;
  readonly tag: string;
  readonly data: string;
}

/** @returns the time of each stage */
export async function storeClassic(
  source: string,
  target: string,
  iterations: number,
): Promise<StageTimes> {
  const { lap, times } = stopwatch();
  const content = await readFile(source);
  lap("read");
  const compressed = await compressFrame(content);
  lap("compress");
  const salt = randomBytes(16);
  const key = await keyOf(salt, iterations);
  lap("key");
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  const data = Buffer.concat([cipher.update(compressed), cipher.final()]);
  const tag = cipher.getAuthTag();
  lap("encrypt");
  const [salt64, iv64, tag64, data64] = [salt, iv, tag, data].map((part) =>
    part.toString("base64"),
  ) as [string, string, string, string];
  lap("base64");
  const fields = { salt: salt64, iv: iv64, tag: tag64, data: data64 };
  const json = JSON.stringify({ version: 1, iterations, ...fields } satisfies Envelope);
  lap("json");
  await writeFile(target, json);
  lap("write");
  return times();
}

/** @throws Error if the document was changed */
export async function loadClassic(path: string): Promise<Uint8Array> {
  const envelope = JSON.parse(await readFile(path, "utf8")) as Envelope;
  const part = (name: "salt" | "iv" | "tag" | "data") => Buffer.from(envelope[name], "base64");
  const key = await keyOf(part("salt"), envelope.iterations);
  const decipher = createDecipheriv("aes-256-gcm", key, part("iv"));
  decipher.setAuthTag(part("tag"));
  return decompressFrame(Buffer.concat([decipher.update(part("data")), decipher.final()]));
}
