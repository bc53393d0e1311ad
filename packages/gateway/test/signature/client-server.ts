import type { AuthenticatedRequest } from "../../src/signature/authentication.ts";
import { authenticate } from "../../src/signature/authenticate.ts";
import { type RawRequest, parseRequest } from "../../src/signature/request.ts";
import { createServer } from "node:http";
import { findSecret } from "./support.ts";
import type { AddressInfo } from "node:net";
import type { BodyDigests } from "../../src/body/read-body.ts";
import { S3Error } from "../../src/errors.ts";
import { errorDocument } from "../../src/xml/error-document.ts";
import { planBody } from "../../src/body/plan.ts";
import { readBody } from "../../src/body/read-body.ts";

/** A request of a real client that passed every check, with its body. */
export interface Received {
  readonly raw: RawRequest;
  readonly request: AuthenticatedRequest;
  readonly content: Buffer;
  readonly digests: BodyDigests;
}

/** A server that checks requests of real clients, and answers all of them with success. */
export interface ClientServer extends AsyncDisposable {
  readonly port: number;
  /** What was received since the last call. */
  take(): readonly Received[];
}

export async function startClientServer(): Promise<ClientServer> {
  let received: Received[] = [];
  const server = createServer((incoming, response) => {
    const raw = {
      method: incoming.method ?? "",
      target: incoming.url ?? "",
      rawHeaders: incoming.rawHeaders,
    };
    const run = async (): Promise<void> => {
      const now = Date.now();
      const request = authenticate(parseRequest(raw), { findSecret, now });
      const plan = planBody(request, { maxLength: 2 ** 30, isOptional: true });
      const body = readBody(plan, incoming);
      const pieces: Buffer[] = [];
      for await (const piece of body.bytes) pieces.push(Buffer.from(piece));
      received.push({
        raw,
        request,
        content: Buffer.concat(pieces),
        digests: await body.digests(),
      });
    };
    run().then(
      () => response.writeHead(200, { etag: '"0"', "content-length": "0" }).end(),
      (error: unknown) => {
        if (!(error instanceof S3Error)) throw error;
        const context = { resource: raw.target, requestId: "1", hostId: "1" };
        response.writeHead(error.status).end(errorDocument(error, context));
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    take() {
      const taken = received;
      received = [];
      return taken;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
