import { planBody } from "./body/plan.ts";
import { readBody } from "./body/read-body.ts";
import { createDigestThreads, type DigestThreads } from "./body/threads.ts";
import { type Catalog, CatalogError } from "./catalog/catalog.ts";
import type { Bucket } from "./catalog/records.ts";
import type { Credentials } from "./credentials/credentials.ts";
import { allowsBucket, allowsObject, allowsWholeBucket } from "./credentials/permissions.ts";
import { S3Error } from "./errors.ts";
import { type AccessRecord, accessLine } from "./http/access-log.ts";
import { addressOf, hostBucketOf, levelOf } from "./http/address.ts";
import type { Exchange } from "./http/exchange.ts";
import { healthAnswer } from "./http/health.ts";
import { createMetrics, type Gauge, type Metrics } from "./http/metrics.ts";
import { type Answer, ClientGone } from "./http/outgoing.ts";
import { type HttpServer, listen, type ListenOptions } from "./http/server.ts";
import type { Objects } from "./objects/objects.ts";
import { findBucket } from "./operations/find.ts";
import { checkKey } from "./operations/keys.ts";
import { checkOwner } from "./operations/owner.ts";
import type { Operation, Request, Services } from "./operations/operation.ts";
import { route } from "./operations/route.ts";
import { type AuthenticatedRequest, authenticate } from "./signature/authenticate.ts";
import { parseRequest } from "./signature/request.ts";
import { errorDocument } from "./xml/error-document.ts";

/** What a gateway serves, and how. */
export interface GatewayOptions {
  readonly catalog: Catalog;
  readonly objects: Objects;
  /** The keys that count now: read for each request, so that they can be replaced. */
  readonly credentials: () => Credentials;
  readonly listen: ListenOptions;
  /** What buckets without a region of their own are in. By default `us-east-1`. */
  readonly region?: string | undefined;
  /** Buckets are also subdomains of it. */
  readonly domain?: string | undefined;
  /** True if clients may change nothing. */
  readonly isReadOnly?: boolean | undefined;
  /** Counts requests to the store, if given; shown with the gateway's own. */
  readonly metrics?: Metrics | undefined;
  /** Rejects if the store does not respond. Asked by `/readyz`. */
  readonly checkStore: () => Promise<void>;
  /** Threads for digests of large bodies; 0 for none. By default 1. */
  readonly digestThreads?: number | undefined;
  /** Takes a line of the access log: JSON, without a newline, without secrets. */
  readonly log?: ((line: string) => void) | undefined;
}

/** A gateway that serves. */
export interface Gateway {
  /** Such as `http://127.0.0.1:9000`. */
  readonly url: string;
  /**
   * Accepts no more requests, and lets those in progress end. The catalog and objects stay open.
   *
   * @param graceMs how long requests in progress may take; by default 30 s
   */
  close(graceMs?: number): Promise<void>;
}

const GRACE_MS = 30_000;

/** Serves S3 until it is closed. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { digestThreads = 1, log = () => {}, metrics = createMetrics() } = options;
  const threads = digestThreads === 0 ? undefined : createDigestThreads(digestThreads);
  const context: Context = { options, metrics, threads, log, server: () => server };
  const server: HttpServer = await listen(options.listen, async (exchange) =>
    serve(exchange, context),
  );
  return {
    url: server.url,
    async close(graceMs = GRACE_MS) {
      await server.close(graceMs);
      await threads?.close();
    },
  };
}

interface Context {
  readonly options: GatewayOptions;
  readonly metrics: Metrics;
  readonly threads: DigestThreads | undefined;
  readonly log: (line: string) => void;
  readonly server: () => HttpServer;
}

/** What is known of a request as it proceeds, for the log. */
type Progress = {
  -readonly [K in "accessKey" | "operation" | "code" | "fault" | "userAgent"]: AccessRecord[K];
};

/** Answers one request. Does not reject. */
async function serve(exchange: Exchange, context: Context): Promise<void> {
  const [time, start] = [Date.now(), performance.now()];
  const progress: Progress = {
    accessKey: undefined,
    operation: undefined,
    code: undefined,
    fault: undefined,
    userAgent: undefined,
  };
  let status: number | undefined;
  try {
    const answer = await answerTo(exchange, context, progress).catch((error: unknown) =>
      failure(error, exchange, progress),
    );
    if (answer === undefined) return;
    status = answer.status;
    await exchange.send(answer);
  } catch (error) {
    // The client is gone, or content was found to be damaged after the first bytes of it were sent.
    status = undefined;
    if (!(error instanceof ClientGone)) progress.fault ??= faultOf(error);
  }
  const durationMs = performance.now() - start;
  const [received, sent] = [exchange.incoming.count(), exchange.sent()];
  const operation = progress.operation ?? "refused";
  context.metrics.request({ operation, status, received, sent, durationMs });
  const { method, target } = exchange.raw;
  const { id, remote } = exchange;
  context.log(
    accessLine({
      ...progress,
      time,
      id,
      remote,
      method,
      target,
      status,
      received,
      sent,
      durationMs,
    }),
  );
}

/** @returns undefined if it was answered, and is not to be logged */
async function answerTo(
  exchange: Exchange,
  context: Context,
  progress: Progress,
): Promise<Answer | undefined> {
  const { options } = context;
  const { credentials, domain } = options;
  const raw = parseRequest(exchange.raw);
  progress.userAgent = raw.headers.get("user-agent");
  const hostBucket = hostBucketOf(raw.headers.get("host"), domain);
  if (hostBucket === undefined) {
    const health = await answerHealth(
      exchange,
      raw.headers.get("authorization"),
      context,
      progress,
    );
    if (health !== undefined) {
      // Only what is wrong is logged.
      if (progress.fault !== undefined) return health;
      await exchange.send(health);
      return undefined;
    }
  }
  const { keys } = credentials();
  const request = authenticate(raw, {
    findSecret: (id) => keys.get(id)?.secret,
    now: Date.now(),
    hostBucket,
  });
  progress.accessKey = request.accessKey;
  const address = addressOf(request, hostBucket);
  const operation = route({ level: levelOf(address), ...request });
  progress.operation = operation.name;
  checkKey(address.key);
  const accessKey = keys.get(request.accessKey);
  if (accessKey === undefined) throw new S3Error("InvalidAccessKeyId");
  const isReadOnly = options.isReadOnly ?? false;
  if (isReadOnly && operation.right === "write") {
    throw new S3Error("AccessDenied", "This gateway serves a snapshot, which cannot be changed.");
  }
  const full: Request = {
    ...servicesOf(options),
    ...bodyOf(request, exchange, context),
    ...address,
    ...bucketOf(options, request, address.bucketName),
    method: request.method,
    query: request.query,
    headers: request.headers,
    rawPath: request.rawPath,
    origin: originOf(request, options),
    accessKey,
    requestId: exchange.id,
    signal: exchange.signal,
  };
  authorize(operation, full);
  return operation.run(full);
}

function servicesOf({
  catalog,
  objects,
  region = "us-east-1",
  isReadOnly = false,
}: GatewayOptions): Services {
  return { catalog, objects, region, isReadOnly, now: Date.now };
}

function originOf({ headers }: AuthenticatedRequest, { listen: { tls } }: GatewayOptions): string {
  return `http${tls === undefined ? "" : "s"}://${headers.get("host") ?? ""}`;
}

function bodyOf(
  request: AuthenticatedRequest,
  { incoming }: Exchange,
  { threads }: Context,
): Pick<Request, "body"> {
  return {
    body: (expectations) => readBody(planBody(request, expectations), incoming.bytes, { threads }),
  };
}

function bucketOf(
  { catalog }: GatewayOptions,
  { headers }: AuthenticatedRequest,
  name: string,
): Pick<Request, "bucket"> {
  let found: Promise<Bucket> | undefined;
  const expected = headers.get("x-amz-expected-bucket-owner");
  const find = async (): Promise<Bucket> => checkOwner(await findBucket(catalog, name), expected);
  return { bucket: () => (found ??= find()) };
}

/** @throws S3Error `AccessDenied` */
function authorize(
  { level, right, scope }: Operation,
  { accessKey, bucketName, key }: Request,
): void {
  const isAllowed =
    scope === "object"
      ? allowsObject(accessKey, right, bucketName, key)
      : scope === "whole-bucket"
        ? allowsWholeBucket(accessKey, right, bucketName)
        : accessKey.rights.includes(right) &&
          (level === "service" || allowsBucket(accessKey, bucketName));
  if (!isAllowed) throw new S3Error("AccessDenied");
}

async function answerHealth(
  { raw: { method, target }, remote }: Exchange,
  authorization: string | undefined,
  context: Context,
  progress: Progress,
): Promise<Answer | undefined> {
  const { catalog, checkStore, credentials } = context.options;
  return healthAnswer(
    { method, target, authorization, remote },
    {
      ready: async () => {
        try {
          await Promise.all([catalog.ping(), checkStore()]);
        } catch (error) {
          progress.fault = faultOf(error);
          throw error;
        }
      },
      metrics: async () => context.metrics.text(await gauges(context)),
      metricsToken: () => credentials().metricsToken,
    },
  );
}

async function gauges({
  options: { catalog, objects },
  server,
}: Context): Promise<readonly Gauge[]> {
  const counts = await catalog.counts();
  const memory = objects.metrics();
  return [
    { name: "connections", help: "Open connections.", value: server().connections() },
    {
      name: "refused_connections_total",
      help: "Connections that were closed because there were too many.",
      value: server().refused(),
    },
    { name: "garbage_blobs", help: "Blobs to be deleted, at most 100000.", value: counts.garbage },
    {
      name: "pending_tombstones",
      help: "Deletions that are not yet in the store.",
      value: counts.tombstones,
    },
    { name: "uploads", help: "Multipart uploads in progress.", value: counts.uploads },
    { name: "writes", help: "Writes in progress.", value: counts.writes },
    { name: "buffer_bytes", help: "Memory for content.", value: memory.budgetBytes },
    { name: "buffer_used_bytes", help: "Memory for content in use.", value: memory.budgetUsed },
    {
      name: "buffer_waiting",
      help: "Requests that wait for memory.",
      value: memory.budgetWaiting,
    },
    {
      name: "buffer_preemptions_total",
      help: "Memory taken back from clients that stalled.",
      value: memory.preemptions,
    },
  ];
}

function failure(error: unknown, { id, raw }: Exchange, progress: Progress): Answer {
  const shown = s3ErrorOf(error);
  progress.code = shown.code;
  if (shown.status === 500 || shown.status === 503) progress.fault = faultOf(shown.cause ?? error);
  const [resource = ""] = raw.target.split("?", 1);
  return {
    status: shown.status,
    headers: {
      "content-type": "application/xml",
      ...(shown.code === "InvalidRange" &&
        shown.details["ActualObjectSize"] !== undefined && {
          "content-range": `bytes */${shown.details["ActualObjectSize"]}`,
        }),
      ...(shown.status === 503 && { "retry-after": "1" }),
      ...(shown.closesConnection && { connection: "close" }),
    },
    body: errorDocument(shown, { resource, requestId: id, hostId: id }),
  };
}

/** An error as the client sees it. What went wrong inside is for the log alone. */
function s3ErrorOf(error: unknown): S3Error {
  if (error instanceof S3Error) return error;
  const isPassing =
    (error instanceof CatalogError && error.code === "unavailable") ||
    (error instanceof Error && "code" in error && error.code === "unavailable");
  return new S3Error(isPassing ? "ServiceUnavailable" : "InternalError", undefined, {
    cause: error,
  });
}

/** One line for the log. */
function faultOf(error: unknown): string {
  const messages: string[] = [];
  for (let at = error; at instanceof Error && messages.length < 4; at = at.cause) {
    messages.push(`${at.name}: ${at.message}`);
  }
  return messages.length === 0 ? String(error) : messages.join("; ");
}
