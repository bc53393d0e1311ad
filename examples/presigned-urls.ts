import { AwsV4Signer } from "aws4fetch";
import { Hono } from "hono";

/** The longest blob: a chunk of 16 MiB, and what sealing adds. */
const BLOB_MAX = 2 ** 24 + 1024;

/** How long a URL can be used to start a request. */
const SECONDS = "60";

export interface SigningOptions {
  /** Where the blobs are, such as `https://BUCKET.s3.REGION.amazonaws.com/PREFIX`. */
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The signed-in user of a request; undefined if there is none. */
  readonly userOf: (request: Request) => Promise<string | undefined>;
  /** Whether the user may read this blob, or store it: the rules and quotas of the application. */
  readonly allow: (user: string, method: "GET" | "PUT", name: string, size: number) => boolean;
}

/**
 * Hands out presigned URLs to signed-in users, within a Hono application. `POST /sign` takes
 * `{ name, method, size }` and returns `{ url, headers }` for one request to the bucket, which the
 * user's browser makes itself: the service sees neither content nor keys.
 *
 * An upload is bound to its signature: the store rejects another length, other bytes than those whose
 * SHA-256 is the name, and a name that it has. So no one can replace a blob or fill the bucket.
 */
export function signingService(options: SigningOptions): Hono {
  const { bucket, region, accessKeyId, secretAccessKey, userOf, allow } = options;
  const cache = new Map<string, ArrayBuffer>();
  const app = new Hono();

  app.post("/sign", async (context) => {
    const user = await userOf(context.req.raw);
    if (user === undefined) return context.text("sign in\n", 401);
    const request: Partial<Record<string, unknown>> = (await context.req.json()) ?? {};
    const { name, method, size = 0 } = request;
    // Any other name could lead to another path.
    const isName = typeof name === "string" && /^[0-9a-f]{64}$/u.test(name);
    if (!isName || (method !== "GET" && method !== "PUT")) return context.text("wrong\n", 400);
    if (typeof size !== "number" || !(size >= 0 && size <= BLOB_MAX))
      return context.text("too long\n", 413);
    if (!allow(user, method, name, size)) return context.text("not allowed\n", 403);

    const headers: Record<string, string> = {};
    if (method === "PUT") {
      headers["if-none-match"] = "*";
      headers["x-amz-checksum-sha256"] = Buffer.from(name, "hex").toString("base64");
    }
    const signer = new AwsV4Signer({
      method,
      url: `${bucket}/${name}?X-Amz-Expires=${SECONDS}`,
      // Browsers set the length themselves: it is signed, but not returned.
      headers: method === "PUT" ? { ...headers, "content-length": String(size) } : headers,
      accessKeyId,
      secretAccessKey,
      service: "s3",
      region,
      cache,
      signQuery: true,
      allHeaders: true,
    });
    const { url } = await signer.sign();
    return context.json({ url, headers });
  });

  app.onError((error, context) => {
    if (error instanceof SyntaxError) return context.text("not JSON\n", 400);
    throw error;
  });
  return app;
}
