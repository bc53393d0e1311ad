import type { BodyPlan } from "./plan.ts";
import type { ChecksumAlgorithm, DigestName } from "./algorithms.ts";
import { type Digester, createDigester } from "./digester.ts";
import type { DigestThreads } from "./threads.ts";
import { S3Error } from "../errors.ts";
import { decodeChunks } from "./chunks.ts";
import { parseDigest } from "./algorithms.ts";

/** Of a body that has ended and passed every check. */
export interface BodyDigests {
  /** 16 bytes. */
  readonly md5: Uint8Array;
  /** The plan's algorithm and its value in base64. */
  readonly checksums?:
    | { readonly type: "FULL_OBJECT"; readonly values: Readonly<Record<string, string>> }
    | undefined;
}

/** A body that is checked as it is read. */
export interface CheckedBody {
  /**
   * The content, once. Throws S3Error before it reports its end if a length, digest, checksum or
   * signature is wrong. Pieces are views of what the source gave. Reads nothing ahead.
   */
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly length: number;
  /** Once `bytes` has ended. */
  digests(): Promise<BodyDigests>;
}

/** What reading uses. */
export interface ReadBodyOptions {
  /** For digests of large bodies; without them, all is computed by the caller's thread. */
  readonly threads?: DigestThreads | undefined;
}

/** For less, handing the bytes to a thread takes longer than it saves. */
const THREADS_MIN_LENGTH = 1024 * 1024;

/**
 * Decodes and checks a body.
 *
 * @param source the bytes on the wire, without the framing of HTTP; a piece must stay as it is until
 *   the next is pulled
 */
export function readBody(
  plan: BodyPlan,
  source: AsyncIterable<Uint8Array>,
  { threads }: ReadBodyOptions = {},
): CheckedBody {
  let outcome: BodyDigests | undefined;
  async function* bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    const names = digestNames(plan);
    const isLarge = plan.length >= THREADS_MIN_LENGTH;
    const digester = (isLarge ? threads : undefined)?.begin(names) ?? createDigester(names);
    try {
      const trailer = yield* digested(decode(plan, source), digester);
      outcome = check(plan, await digester.digest(), trailer);
    } finally {
      digester.abandon();
    }
  }
  return {
    bytes: bytes(),
    length: plan.length,
    digests() {
      if (outcome !== undefined) return Promise.resolve(outcome);
      return Promise.reject(new Error("the body has not ended"));
    },
  };
}

function digestNames({ algorithm, payload }: BodyPlan): readonly DigestName[] {
  const names: DigestName[] = ["md5"];
  if (algorithm !== undefined) names.push(algorithm);
  if (payload.form === "hash") names.push("sha256");
  return names;
}

type Content = AsyncGenerator<Uint8Array, string | undefined, undefined>;

/** @returns the value in the trailer */
async function* digested(content: Content, digester: Digester): Content {
  try {
    for (;;) {
      const next = await content.next();
      if (next.done === true) return next.value;
      const updating = digester.update(next.value);
      if (updating !== undefined) await updating;
      yield next.value;
    }
  } finally {
    await content.return(undefined);
  }
}

function decode(plan: BodyPlan, source: AsyncIterable<Uint8Array>): Content {
  const { payload, algorithm, isChecksumInTrailer, length, wireLength } = plan;
  if (payload.form === "hash" || payload.form === "unsigned") return exactly(source, length);
  const framing = {
    signatures: payload.form === "signed-chunks" ? payload.signatures : undefined,
    hasTrailer: payload.form === "unsigned-chunks" || payload.hasTrailer,
    trailerName: isChecksumInTrailer ? `x-amz-checksum-${algorithm}` : undefined,
    length,
  };
  return decodeChunks(wireLength === undefined ? source : exactly(source, wireLength), framing);
}

/** The source, which must have this many bytes. */
async function* exactly(source: AsyncIterable<Uint8Array>, length: number): Content {
  let left = length;
  for await (const piece of source) {
    left -= piece.length;
    if (left < 0) break;
    yield piece;
  }
  if (left !== 0) throw new S3Error("IncompleteBody");
  return undefined;
}

/** @param trailer the value of the checksum in it */
function check(
  plan: BodyPlan,
  digests: ReadonlyMap<DigestName, Uint8Array>,
  trailer: string | undefined,
): BodyDigests {
  const { payload, algorithm } = plan;
  const md5 = digests.get("md5");
  const sha256 = digests.get("sha256");
  if (md5 === undefined) throw new S3Error("InternalError");
  if (payload.form === "hash" && hex(sha256) !== payload.sha256) {
    throw new S3Error("XAmzContentSHA256Mismatch", undefined, {
      details: {
        ClientComputedContentSHA256: payload.sha256,
        S3ComputedContentSHA256: hex(sha256),
      },
    });
  }
  if (plan.md5 !== undefined && hex(plan.md5) !== hex(md5)) {
    throw new S3Error(
      "BadDigest",
      "The Content-MD5 you specified did not match what we received.",
      {
        details: { ExpectedDigest: hex(plan.md5), CalculatedDigest: base64(md5) },
      },
    );
  }
  if (algorithm === undefined) return { md5 };
  const stated = plan.checksum ?? trailingChecksum(plan, algorithm, trailer);
  const actual = digests.get(algorithm);
  if (actual === undefined) throw new S3Error("InternalError");
  if (stated !== undefined && hex(stated) !== hex(actual)) {
    throw new S3Error(
      "BadDigest",
      `The ${algorithm.toUpperCase()} you specified did not match the calculated checksum.`,
    );
  }
  return { md5, checksums: { type: "FULL_OBJECT", values: { [algorithm]: base64(actual) } } };
}

function trailingChecksum(
  { isChecksumInTrailer }: BodyPlan,
  algorithm: ChecksumAlgorithm,
  trailer: string | undefined,
): Uint8Array | undefined {
  if (!isChecksumInTrailer) return undefined;
  const value = parseDigest(algorithm, trailer ?? "");
  if (value !== undefined) return value;
  throw new S3Error(
    "InvalidRequest",
    `Value for x-amz-checksum-${algorithm} trailing header is invalid.`,
  );
}

function hex(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString("hex");
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
