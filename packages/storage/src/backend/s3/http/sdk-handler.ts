import { Readable } from "node:stream";
import type { HttpHandler } from "@smithy/core/protocols";
import { sendShort } from "./short-response.ts";

type Handler = HttpHandler<object>;
type Query = NonNullable<Parameters<Handler["handle"]>[0]["query"]>;

/**
 * Sends the requests of the SDK's clients: those of the bucket's settings, and those for credentials
 * to other services. Addresses of the machine itself, such as the metadata service of a cloud, are
 * none of them: the SDK sends those by itself.
 */
export function sdkHandler(queryStringOf: (query: Query) => string): Handler {
  return {
    metadata: { handlerProtocol: "http/1.1" },
    async handle({ protocol, hostname, port, path, query, method, headers, body }, options = {}) {
      const text = query === undefined ? "" : queryStringOf(query);
      const at = port === undefined ? hostname : `${hostname}:${port}`;
      const { status, statusText, ...response } = await sendShort({
        url: `${protocol}//${at}${path}${text && `?${text}`}`,
        method,
        headers,
        // Bytes, because `fetch` adds a content type to a string, which the signature does not cover.
        body: typeof body === "string" ? Buffer.from(body) : (body as Uint8Array | undefined),
        signal: options.abortSignal as AbortSignal | undefined,
      });
      const stream = Readable.from(response.body.length === 0 ? [] : [response.body]);
      return {
        response: { statusCode: status, reason: statusText, ...response, body: stream },
      };
    },
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  };
}
