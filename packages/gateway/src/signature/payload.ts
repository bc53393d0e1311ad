import type { ChunkSignatures } from "./chunk-signatures.ts";
import { S3Error } from "../errors.ts";

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

/** A payload whose chain of signatures has no beginning yet: that takes the request's signature. */
export type PayloadForm =
  | Exclude<Payload, { readonly form: "signed-chunks" }>
  | { readonly form: "signed-chunks"; readonly hasTrailer: boolean };

const FORMS: ReadonlyMap<string, PayloadForm> = new Map<string, PayloadForm>([
  ["UNSIGNED-PAYLOAD", { form: "unsigned" }],
  ["STREAMING-UNSIGNED-PAYLOAD-TRAILER", { form: "unsigned-chunks" }],
  ["STREAMING-AWS4-HMAC-SHA256-PAYLOAD", { form: "signed-chunks", hasTrailer: false }],
  ["STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", { form: "signed-chunks", hasTrailer: true }],
]);

/** @throws S3Error `InvalidRequest` if there is no value, `InvalidArgument` if it has no meaning */
export function parsePayload(value: string | undefined): PayloadForm {
  if (value === undefined) {
    throw new S3Error(
      "InvalidRequest",
      "Missing required header for this request: x-amz-content-sha256",
    );
  }
  const form = FORMS.get(value);
  if (form !== undefined) return form;
  if (/^[0-9a-fA-F]{64}$/u.test(value)) return { form: "hash", sha256: value.toLowerCase() };
  throw new S3Error(
    "InvalidArgument",
    `x-amz-content-sha256 must be ${[...FORMS.keys()].join(", ")} or a valid sha256 value.`,
    { details: { ArgumentName: "x-amz-content-sha256", ArgumentValue: value } },
  );
}
