import type { ChunkSignatures } from "./chunk-signatures.ts";

/**
 * How the body is sent and what of it is signed, from `x-amz-content-sha256`:
 * - `hash`             the body's SHA-256 is signed
 * - `unsigned`         nothing is: `UNSIGNED-PAYLOAD`, and presigned requests that say nothing
 * - `signed-chunks`    `STREAMING-AWS4-HMAC-SHA256-PAYLOAD`, with a signature for each chunk, and for
 *                      the trailer if there is one (`-TRAILER`)
 * - `unsigned-chunks`  `STREAMING-UNSIGNED-PAYLOAD-TRAILER`
 */
export type Payload =
  | {
      readonly form: "hash";
      /** 64 lowercase hex digits. */
      readonly sha256: string;
    }
  | { readonly form: "unsigned" }
  | {
      readonly form: "signed-chunks";
      readonly hasTrailer: boolean;
      /** For one reading of the body, because each signature depends on the one before. */
      readonly signatures: ChunkSignatures;
    }
  | { readonly form: "unsigned-chunks" };
