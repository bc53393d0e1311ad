import { Crc32cJs, Crc64NvmeJs } from "@aws-sdk/checksums/crc";
import { Xxh3_128, Xxh3_64, Xxh64 } from "@aws-sdk/checksums/xxh";
import type { DigestName } from "./algorithms.ts";
import { crc32 } from "node:zlib";
import { createHash } from "node:crypto";

/** Digests in progress over the bytes of one body. */
export interface Digester {
  /** Adds bytes, which the caller may reuse once it is done. */
  update(bytes: Uint8Array): Promise<void> | void;
  /** Ends it. */
  digest(): Promise<ReadonlyMap<DigestName, Uint8Array>>;
  /** Ends it without a result. Does nothing after `digest`. */
  abandon(): void;
}

interface Hash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array | Promise<Uint8Array>;
}

/** A digester that computes in the caller's thread. */
export function createDigester(names: readonly DigestName[]): Digester {
  const hashes = [...new Set(names)].map((name) => [name, CREATE[name]()] as const);
  return {
    update(bytes) {
      for (const [, hash] of hashes) hash.update(bytes);
    },
    async digest() {
      const digests = new Map<DigestName, Uint8Array>();
      for (const [name, hash] of hashes) digests.set(name, await hash.digest());
      return digests;
    },
    abandon() {},
  };
}

const CREATE: Readonly<Record<DigestName, () => Hash>> = {
  md5: () => createHash("md5"),
  sha1: () => createHash("sha1"),
  sha256: () => createHash("sha256"),
  crc32: createCrc32,
  crc32c: () => new Crc32cJs(),
  crc64nvme: () => new Crc64NvmeJs(),
  sha512: () => createHash("sha512"),
  xxhash128: () => new Xxh3_128(),
  xxhash3: () => new Xxh3_64(),
  xxhash64: () => new Xxh64(),
};

function createCrc32(): Hash {
  let value = 0;
  return {
    update(bytes) {
      value = crc32(bytes, value);
    },
    digest() {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes;
    },
  };
}
