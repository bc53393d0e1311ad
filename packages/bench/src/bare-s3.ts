/** S3 with nothing around it: a signature and `fetch`. What any client can reach at best. */
import { createHash, createHmac } from "node:crypto";

export interface BareS3 {
  put(key: string, bytes: Uint8Array<ArrayBuffer>, sha256: string): Promise<void>;
  get(key: string, buffer: Uint8Array): Promise<number>;
}

const EMPTY = createHash("sha256").digest("hex");

export function bareS3(
  endpoint: string,
  bucket: string,
  accessKey: string,
  secretKey: string,
  checksums: boolean,
): BareS3 {
  const { host } = new URL(endpoint);
  const hmac = (key: string | Uint8Array, text: string) =>
    createHmac("sha256", key).update(text).digest();

  /** Signature version 4, for a path without characters that need encoding, and no query. */
  const headersFor = (method: string, path: string, payload: string): Record<string, string> => {
    const now = new Date().toISOString().replaceAll(/[-:]|\.\d+/gu, "");
    const day = now.slice(0, 8);
    // Others have the store keep a checksum, for which it hashes a second time.
    const checksum: Record<string, string> =
      checksums && method === "PUT"
        ? { "x-amz-checksum-sha256": Buffer.from(payload, "hex").toString("base64") }
        : {};
    const headers = { "x-amz-content-sha256": payload, "x-amz-date": now };
    const signed = Object.entries({ host, ...checksum, ...headers });
    const names = signed.map(([name]) => name).join(";");
    const values = signed.map(([name, value]) => `${name}:${value}\n`).join("");
    const request = [method, path, "", values, names, payload].join("\n");
    const digest = createHash("sha256").update(request).digest("hex");
    const scope = `${day}/us-east-1/s3/aws4_request`;
    const key = ["us-east-1", "s3", "aws4_request"].reduce<Uint8Array>(
      hmac,
      hmac(`AWS4${secretKey}`, day),
    );
    const signature = createHmac("sha256", key)
      .update(["AWS4-HMAC-SHA256", now, scope, digest].join("\n"))
      .digest("hex");
    return {
      ...checksum,
      ...headers,
      authorization: `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
    };
  };

  return {
    async put(key, body, sha256) {
      const path = `/${bucket}/${key}`;
      const headers = headersFor("PUT", path, sha256);
      const answer = await fetch(endpoint + path, { method: "PUT", headers, body });
      if (!answer.ok) throw new Error(await answer.text());
      await answer.arrayBuffer();
    },
    async get(key, buffer) {
      const path = `/${bucket}/${key}`;
      const answer = await fetch(endpoint + path, { headers: headersFor("GET", path, EMPTY) });
      if (!answer.ok) throw new Error(await answer.text());
      let length = 0;
      for await (const piece of answer.body ?? []) {
        buffer.set(piece, length);
        length += piece.length;
      }
      return length;
    },
  };
}
