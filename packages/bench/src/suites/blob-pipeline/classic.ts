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

/** @returns the time of each stage and the number of bytes written */
export async function storeClassic(
  source: string,
  target: string,
  iterations: number,
): Promise<{ times: StageTimes; written: number }> {
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
  const envelope: Envelope = {
    version: 1,
    iterations,
    salt: salt.toString("base64"),
    iv: iv.toString("base64"),
    tag: tag.toString("base64"),
    data: data.toString("base64"),
  };
  const json = JSON.stringify(envelope);
  lap("encode");
  await writeFile(target, json);
  lap("write");
  return { times: times(), written: json.length };
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
