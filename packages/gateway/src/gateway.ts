import { availableParallelism } from "node:os";
import { setTimeout } from "node:timers/promises";
import { planBody } from "./body/plan.ts";
import { readBody } from "./body/read-body.ts";
import { createDigestThreads, type DigestThreads } from "./body/threads.ts";
import type { Catalog } from "./catalog/catalog.ts";
import type { Bucket } from "./catalog/records.ts";
import type { Credentials } from "./credentials/credentials.ts";
import { allowsBucket, allowsObject, allowsWholeBucket } from "./credentials/permissions.ts";
import { S3Error } from "./errors.ts";
import { faultOf, s3ErrorOf } from "./faults.ts";
import { gaugesOf } from "./gauges.ts";
import { type AccessRecord, accessLine } from "./http/access-log.ts";
import { addressOf, hostBucketOf, levelOf } from "./http/address.ts";
import type { Exchange } from "./http/connection/exchange.ts";
import { type IsTrusted, type Origin, originOf, trustedProxies } from "./http/forwarded.ts";
import { healthAnswer, type HealthRequest, isLoopback } from "./http/health.ts";
import { createMetrics, type Metrics } from "./http/metrics.ts";
import { type Answer, ClientGone } from "./http/connection/outgoing.ts";
import { limitedWait } from "./http/connection/overload.ts";
import {
  type HttpServer,
  listen,
  type ListenOptions,
  type Refusal,
  type TlsFiles,
} from "./http/server.ts";
import { shared } from "./http/shared.ts";
import { type Budget, createBudget } from "./objects/memory/budget.ts";
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
  /**
   * The region of all buckets, and the only one that signatures may be for. Without it, new buckets are in
   * `us-east-1` unless they name another, and signatures may be for any region.
   */
  readonly region?: string | undefined;
  /** Addresses and networks of proxies whose word about their clients counts. By default none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Whether URLs that are presigned by V2 are accepted, as boto3 makes them. By default true. */
  readonly presignedV2?: boolean | undefined;
  /** Buckets are also subdomains of it. */
  readonly domain?: string | undefined;
  /** True if clients may change nothing. */
  readonly isReadOnly?: boolean | undefined;
  /** Counts requests to the store, if given; shown with the gateway's own. */
  readonly metrics?: Metrics | undefined;
  /** Rejects if the store does not respond. Asked by `/readyz`. */
  readonly checkStore: () => Promise<void>;
  /** What there is to do before clients can be served, as they are told; undefined once it is done. */
  readonly starting?: (() => string | undefined) | undefined;
  /** Threads for digests of large bodies; 0 for none. By default one less than cores, from 1 to 4. */
  readonly digestThreads?: number | undefined;
  /** Takes a line of the access log: JSON, without a newline, without secrets. */
  readonly log?: ((line: string) => void) | undefined;
}

/** A gateway that serves. */
export interface Gateway {
  /** Such as `http://127.0.0.1:9000`. */
  readonly url: string;
  /**
   * Uses another certificate for new connections.
   *
   * @throws Error if it is not one, does not belong to its key, or there was none; the old one stays
   */
  setCertificate(files: TlsFiles): void;
  /**
   * Accepts no more requests, and lets those in progress end. The catalog and objects stay open.
   *
   * @param graceMs how long requests in progress may take; by default 30 s
   */
  close(graceMs?: number): Promise<void>;
}

const GRACE_MS = 30_000;
/** Memory for bodies of XML. */
const DOCUMENTS_BYTES = 16 * 2 ** 20;
/** How long the outcome of a check is kept, in ms, because anybody may ask for it. */
const READY_TIMES = { ok: 1500, failed: 5000 };
/** How long a check may take, in ms. */
const READY_MS = 5000;
const METRICS_TIMES = { ok: 1000, failed: 1000 };

/** Serves S3 until it is closed. Throws Error for a proxy that is no address. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { log = () => {}, metrics = createMetrics() } = options;
  const { catalog, objects, checkStore, digestThreads = defaultThreads() } = options;
  const isTrusted = trustedProxies(options.trustedProxies ?? []);
  const threads = digestThreads === 0 ? undefined : createDigestThreads(digestThreads);
  const documents = createBudget(DOCUMENTS_BYTES);
  const context: Context = {
    options,
    metrics,
    threads,
    documents,
    isTrusted,
    log,
    ready: shared(async () => {
      const starting = options.starting?.();
      if (starting !== undefined) throw new Error(starting);
      await Promise.race([Promise.all([catalog.ping(), checkStore()]), tooLate()]);
    }, READY_TIMES),
    metricsText: shared(
      async () => metrics.text(await gaugesOf({ catalog, objects, server, threads, documents })),
      METRICS_TIMES,
    ),
  };
  const server: HttpServer = await listen(
    options.listen,
    async (exchange) => serve(exchange, context),
    refusalLog(context),
  );
  return {
    url: server.url,
    setCertificate: server.setCertificate,
    async close(graceMs = GRACE_MS) {
      await server.close(graceMs);
      await threads?.close();
    },
  };
}

/** Rejects when a check has taken too long: a health check has an answer even if a database stalls. */
async function tooLate(): Promise<never> {
  await setTimeout(READY_MS, undefined, { ref: false });
  throw new Error("the catalog or the store does not respond");
}

function defaultThreads(): number {
  return Math.max(1, Math.min(4, availableParallelism() - 1));
}

interface Context {
  readonly options: GatewayOptions;
  readonly metrics: Metrics;
  readonly threads: DigestThreads | undefined;
  readonly documents: Budget;
  readonly isTrusted: IsTrusted;
  readonly log: (line: string) => void;
  /** Rejects if the catalog or the store does not respond. */
  readonly ready: () => Promise<void>;
  readonly metricsText: () => Promise<string>;
}

/** Lines a second for what never became a request: anybody may cause as many as they like. */
const REFUSALS_PER_SECOND = 10;

function refusalLog({ metrics, log }: Context): (refusal: Refusal) => void {
  let [second, lines] = [0, 0];
  return ({ id, remote, status }) => {
    const time = Date.now();
    metrics.request({ operation: "malformed", status, received: 0, sent: 0, durationMs: 0 });
    const now = Math.floor(time / 1000);
    lines = now === second ? lines + 1 : 1;
    second = now;
    if (lines > REFUSALS_PER_SECOND) return;
    log(
      accessLine({
        ...unknownProgress(),
        time,
        id,
        remote,
        method: "",
        target: "",
        status,
        received: 0,
        sent: 0,
        durationMs: 0,
      }),
    );
  };
}

/** What is known of a request as it proceeds, for the log. */
type Progress = {
  -readonly [
    K in "accessKey" | "operation" | "code" | "fault" | "userAgent" | "client"
  ]: AccessRecord[K];
};

function unknownProgress(): Progress {
  return {
    accessKey: undefined,
    operation: undefined,
    code: undefined,
    fault: undefined,
    userAgent: undefined,
    client: undefined,
  };
}

/** Answers one request. Does not reject. */
async function serve(exchange: Exchange, context: Context): Promise<void> {
  const [time, start] = [Date.now(), performance.now()];
  const progress = unknownProgress();
  let status: number | undefined;
  try {
    const answer = await answerTo(exchange, context, progress).catch((error: unknown) => {
      // Whatever failed did so because the client left, which is no fault of the gateway.
      if (exchange.isGone()) throw new ClientGone("the client is gone");
      return failure(error, exchange, progress);
    });
    if (answer === undefined) return;
    status = answer.status;
    await exchange.send(answer);
  } catch (error) {
    // The client is gone, or content was found to be damaged after the first bytes of it were sent.
    status = undefined;
    if (!(error instanceof ClientGone)) progress.fault ??= faultOf(error);
  }
  if (exchange.signal.aborted) status = undefined;
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
  const { credentials, domain, region, presignedV2 } = options;
  const raw = parseRequest(exchange.raw);
  progress.userAgent = raw.headers.get("user-agent");
  const origin = originOf(exchange.remote, raw.headers, context.isTrusted);
  if (origin.client !== exchange.remote) progress.client = origin.client;
  const hostBucket = hostBucketOf(raw.headers.get("host"), domain);
  if (hostBucket === undefined) {
    const authorization = raw.headers.get("authorization");
    const isLocal = isLoopback(origin.client) && !origin.isForwarded;
    const health = await answerHealth(
      { ...exchange.raw, authorization, isLocal },
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
    region,
    presignedV2,
  });
  exchange.authenticated();
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
  const wait = limitedWait(exchange, operation.name, () => options.objects.metrics());
  const full: Request = {
    ...servicesOf(options, context),
    ...bodyOf(request, exchange, context),
    ...address,
    ...bucketOf(options, request, address.bucketName),
    method: request.method,
    query: request.query,
    headers: request.headers,
    rawPath: request.rawPath,
    origin: urlOrigin(request, options, origin),
    accessKey,
    requestId: exchange.id,
    signal: wait.signal,
    report: (error) => {
      const shown = s3ErrorOf(error);
      recordError(shown, progress);
      return shown;
    },
  };
  try {
    authorize(operation, full);
    const starting = options.starting?.();
    if (starting !== undefined) throw new S3Error("ServiceUnavailable", starting);
    return await operation.run(full);
  } finally {
    wait.end();
  }
}

function servicesOf(
  { catalog, objects, region, isReadOnly = false }: GatewayOptions,
  { documents }: Context,
): Services {
  return {
    catalog,
    objects,
    documents,
    region: region ?? "us-east-1",
    hasOneRegion: region !== undefined,
    isReadOnly,
    now: Date.now,
  };
}

/** Scheme and host, as the client sees them. */
function urlOrigin(
  { headers }: AuthenticatedRequest,
  { listen: { tls } }: GatewayOptions,
  { scheme = tls === undefined ? "http" : "https" }: Origin,
): string {
  return `${scheme}://${headers.get("host") ?? ""}`;
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
  request: HealthRequest,
  { ready, metricsText, options: { credentials } }: Context,
  progress: Progress,
): Promise<Answer | undefined> {
  return healthAnswer(request, {
    ready: async () => {
      try {
        await ready();
      } catch (error) {
        progress.fault = faultOf(error);
        throw error;
      }
    },
    metrics: metricsText,
    metricsToken: () => credentials().metricsToken,
  });
}

/** What the log has of an error that the client is told. */
function recordError(shown: S3Error, progress: Progress): void {
  progress.code = shown.code;
  if (shown.status === 500 || shown.status === 503) progress.fault = faultOf(shown.cause ?? shown);
}

function failure(error: unknown, { id, raw }: Exchange, progress: Progress): Answer {
  const shown = s3ErrorOf(error);
  recordError(shown, progress);
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
