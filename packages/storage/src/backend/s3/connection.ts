import { throwIfAborted, untilAborted } from "../../abort.ts";
import type { S3Client } from "@aws-sdk/client-s3";
import { usage } from "../../errors.ts";
import { deadline } from "./deadline.ts";
import { failure, refusal, sdkRefusal } from "./errors.ts";
import type { Place } from "./place.ts";
import { requirePrintable, requirePrintableKeys } from "./printable.ts";
import { type Reach, reachOf } from "./reach.ts";
import { type ServerClock, serverClock } from "./server-clock.ts";

export type Sdk = typeof import("@aws-sdk/client-s3");

/** A request for an object, or for the bucket where the key is undefined. */
export interface Target {
  readonly method: "PUT" | "GET" | "HEAD" | "DELETE";
  readonly key: string | undefined;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Signed {
  readonly url: string;
  readonly headers: Record<string, string>;
}

/**
 * What the SDK is used for: finding credentials, region and endpoint, signing, and calls that are
 * rare. Uploads and downloads go through `fetch`, which is about twice as fast.
 */
export interface Connection {
  readonly sdk: Sdk;
  /** Whether the SDK's variables or files name an endpoint where the place names none. */
  readonly elsewhere: boolean;
  readonly reach: Reach;
  /** What answers said of the time where the store is. */
  readonly clock: ServerClock;
  /** @throws the SDK's own error where credentials cannot be had */
  sign(target: Target): Promise<Signed>;
  /**
   * Runs a rare call through the SDK, within the time the place allows. Nobody waits any longer
   * where the work takes no notice of the signal, as finding credentials does.
   */
  call<T>(
    doing: string,
    signal: AbortSignal | undefined,
    run: (client: S3Client, options: { abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T>;
  close(): void;
}

/** The SDK is loaded here and not before: who keeps blobs elsewhere does not pay for it. */
export async function connect(place: Place): Promise<Connection> {
  const [sdk, { getEndpointFromInstructions }] = await Promise.all([
    import("@aws-sdk/client-s3"),
    import("@smithy/core/endpoints"),
  ]);
  const client = new sdk.S3Client({
    ...(place.endpoint === undefined ? {} : { endpoint: place.endpoint }),
    ...(place.region === undefined ? {} : { region: place.region }),
    ...(place.credentials === undefined ? {} : { credentials: place.credentials as never }),
    forcePathStyle: place.pathStyle,
    // Retrying is a decorator's business.
    maxAttempts: 1,
    // By default it adds checksums that other providers refuse.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  const { config } = client;
  // The SDK would correct its clock by the first refusal, and that of all calls that follow; what
  // works would depend on what was called before. A clock that is wrong is told of, each time.
  Object.defineProperty(config, "systemClockOffset", { get: () => 0, set() {} });
  const { url, properties } = await getEndpointFromInstructions(
    { Bucket: place.bucket },
    sdk.HeadBucketCommand,
    config,
  );
  if (place.encryption?.type === "SSE-C" && url.protocol === "http:") {
    throw usage("SSE-C sends its key with every request, so it needs an https:// endpoint");
  }
  const [scheme] = (properties?.["authSchemes"] ?? []) as { signingRegion?: string }[];
  const region = scheme?.signingRegion ?? (await config.region());
  const signer = await config.signer({
    name: "sigv4",
    signingName: "s3",
    signingRegion: region,
    properties: {},
  });
  const reach = reachOf(url, place.timeouts.connect);
  const base = url.pathname.replace(/\/$/u, "");

  return {
    sdk,
    reach,
    clock: serverClock(),
    elsewhere: place.endpoint === undefined && config.isCustomEndpoint === true,
    async sign({ method, key, query = {}, headers }) {
      // They are kept until they expire.
      requirePrintableKeys(await config.credentials());
      const path = key === undefined ? base || "/" : `${base}/${encodePath(key)}`;
      const signed = await signer.sign(
        {
          method,
          protocol: url.protocol,
          hostname: url.hostname,
          path,
          query,
          headers: { ...headers, host: url.host },
        },
        { signingDate: new Date() },
      );
      for (const [name, value] of Object.entries(signed.headers)) {
        requirePrintable(`the header ${name}`, value);
      }
      // `fetch` sets it from the URL, and some refuse it from the caller.
      const { host: _, ...rest } = signed.headers;
      return { url: `${url.origin}${path}${queryOf(query)}`, headers: rest };
    },
    async call(doing, signal, run) {
      throwIfAborted(signal);
      const { firstByte, stall } = place.timeouts;
      const timer = deadline(signal, firstByte + stall, doing);
      const unwatch = reach.watch(timer, doing);
      try {
        const work = config.credentials().then((keys) => {
          requirePrintableKeys(keys);
          return run(client, { abortSignal: timer.signal });
        });
        const result = await untilAborted(work, timer.signal);
        reach.answered();
        return result;
      } catch (error) {
        if (timer.late !== undefined) {
          reach.failed();
          throw timer.late;
        }
        const answer = signal?.aborted ? undefined : sdkRefusal(error);
        if (answer === undefined) reach.failed();
        else reach.answered();
        throw answer ? refusal(answer, doing, place.bucket) : failure(error, doing, signal);
      } finally {
        unwatch();
        timer.end();
      }
    },
    close() {
      reach.close();
      client.destroy();
    },
  };
}

function queryOf(query: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function encodePath(key: string): string {
  return key.split("/").map(encode).join("/");
}

/** RFC 3986, as the signature demands; the language's own leaves five characters more. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/gu,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
