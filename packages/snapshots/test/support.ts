import { expect } from "bun:test";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { type ErrorCode, StorageError } from "@idk/storage";

/** Hexadecimal digits. */
type Hex = string;

interface PackAnswer {
  readonly sid: Hex;
  readonly S: Hex;
  readonly random: Hex;
  readonly plaintext: Hex;
  readonly plaintextLength: number;
  readonly salt: Hex;
  readonly contentKey: Hex;
  readonly address: Hex;
  readonly row: Hex;
}

interface RecordAnswer {
  readonly content: Hex;
  readonly address: Hex;
}

/** The parts of the known answers that tests read. */
interface Answers {
  readonly identity: { readonly identity: string; readonly recipient: string };
  readonly owner: {
    readonly seed: Hex;
    readonly publicKey: Hex;
    readonly writer: string;
    readonly writerSecret: string;
  };
  readonly writerFile: {
    readonly seed: Hex;
    readonly passphrase: string;
    readonly salt: Hex;
    readonly logN: number;
    readonly hex: Hex;
  };
  readonly chains: {
    readonly r: Hex;
    readonly of: readonly { readonly name: string; readonly chain: Hex }[];
  };
  readonly signatures: readonly {
    readonly why: string;
    readonly publicKey: Hex;
    readonly message: Hex;
    readonly signature: Hex;
    readonly valid: boolean;
  }[];
  readonly patterns: readonly {
    readonly pattern: string;
    readonly name: string;
    readonly matches: boolean;
  }[];
  readonly cutAfter: { readonly names: readonly string[] };
  readonly dataPack: PackAnswer;
  readonly metadataPack: PackAnswer & {
    readonly frameHolds: readonly {
      readonly what: string;
      readonly offset: number;
      readonly length: number;
      readonly hex: Hex;
    }[];
  };
  readonly treeIds: Readonly<Record<"/" | "/sub" | "/empty" | "arrayHashedForSub", Hex>>;
  readonly snapshot: readonly RecordAnswer[];
  readonly reach: readonly (RecordAnswer & { readonly packs?: readonly Hex[] })[];
  readonly head: readonly (RecordAnswer & {
    readonly payload: Hex;
    readonly signed: Hex;
    readonly signature: Hex;
    readonly marker: string;
    readonly inO: Hex;
  })[];
  readonly repository: {
    readonly blobs: Readonly<Record<Hex, string>>;
    readonly markers: readonly string[];
    readonly snapshotOf: string;
    readonly tree: readonly {
      readonly path: Hex;
      readonly type: number;
      readonly mode: number;
      readonly mtime: readonly [number, number];
      readonly size: number;
      readonly sha256: Hex | null;
    }[];
  };
}

/** The known answers that come with the design. */
export const answers: Answers = JSON.parse(
  readFileSync(join(import.meta.dir, "../../../testdata/snapshots/known-answers.json"), "utf8"),
) as Answers;

export function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, "hex"));
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Expects a call to throw a StorageError of this code, and returns it. */
export function fails(call: () => unknown, code: ErrorCode, part = ""): StorageError {
  let error: unknown = new Error(`the call succeeded, where ${code} was expected`);
  try {
    call();
  } catch (thrown) {
    error = thrown;
  }
  if (!(error instanceof StorageError)) throw error;
  expect(error.code).toBe(code);
  expect(error.message).toContain(part);
  return error;
}

/**
 * Expects a decoder to accept bytes only if encoding the result gives the same bytes, and otherwise to
 * throw a StorageError of this code.
 *
 * @returns whether they were accepted
 */
export function acceptsOnlyCanonical<T>(
  bytes: Uint8Array,
  decode: (bytes: Uint8Array) => T,
  encode: (value: T) => Uint8Array,
  code: ErrorCode,
): boolean {
  let value: T;
  try {
    value = decode(bytes);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    expect(error.code).toBe(code);
    return false;
  }
  expect(toHex(encode(value))).toBe(toHex(bytes));
  return true;
}
