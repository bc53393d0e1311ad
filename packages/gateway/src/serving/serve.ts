import { planBody } from "../body/plan.ts";
import { readBody } from "../body/read-body.ts";
import type { Bucket } from "../catalog/records.ts";
import { allowsBucket, allowsObject, allowsWholeBucket } from "../credentials/permissions.ts";
import { S3Error } from "../errors.ts";
import { faultOf, reasonOf, s3ErrorOf } from "../faults.ts";
import { accessLine } from "../http/access-log.ts";
import { addressOf, hostBucketOf, levelOf } from "../http/address.ts";
import type { Exchange } from "../http/connection/exchange.ts";
import { type Answer, ClientGone } from "../http/connection/outgoing.ts";
import { type Origin, originOf } from "../http/forwarded.ts";
import { healthAnswer, type HealthRequest, isLoopback } from "../http/health.ts";
import { findBucket } from "../operations/find.ts";
import { checkKey } from "../operations/keys.ts";
import type { Operation, Request, Services } from "../operations/operation.ts";
import { checkOwner } from "../operations/owner.ts";
import { route } from "../operations/route.ts";
import { type AuthenticatedRequest, authenticate } from "../signature/authenticate.ts";
import { parseRequest } from "../signature/request.ts";
import { errorDocument } from "../xml/error-document.ts";
import { type Progress, recordError, unknownProgress } from "./log.ts";
import type { Context, GatewayOptions } from "./options.ts";

/** Answers one request. Does not reject. */
export async function serve(exchange: Exchange, context: Context): Promise<void> {
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
    if (!(reasonOf(error) instanceof ClientGone)) progress.fault ??= faultOf(error);
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
    signal: exchange.signal,
    report: (error) => {
      const shown = s3ErrorOf(error);
      recordError(shown, progress);
      return shown;
    },
  };
  authorize(operation, full);
  const starting = options.starting?.();
  if (starting !== undefined) throw new S3Error("ServiceUnavailable", starting);
  return await operation.run(full);
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
