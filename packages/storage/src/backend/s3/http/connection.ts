import { untilAborted } from "../../../abort.ts";
import { StorageError, usage } from "../../../errors.ts";
import {
  type BucketConfig,
  type Credentials,
  requirePrintable,
  requirePrintableKeys,
} from "../bucket-config.ts";
import { type BucketAccess, knownAccess } from "./access.ts";
import { type ConnectProbe, connectProbe } from "./probes/connect-probe.ts";
import { type ProtocolProbe, protocolProbe } from "./probes/protocol-probe.ts";
import { serverAddress } from "./probes/server-address.ts";
import { createPresigner, createSigner, encodePath, queryString } from "./sign.ts";

/** What a signature covers, apart from the host and the date. */
export interface UnsignedRequest {
  readonly method: "PUT" | "GET" | "HEAD" | "DELETE";
  /** The object's key; empty for the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The SHA-256 of the body. */
  readonly sha256: string;
}

export interface SignedRequest {
  readonly url: string;
  /** Belongs to the caller. */
  readonly headers: Record<string, string>;
}

export interface PresignedUrls {
  readonly expires: Date;
  /** Whether the credentials have a session token, with which the URLs expire. */
  readonly temporary: boolean;
  urlOf(key: string): string;
}

/** How to send requests to a bucket. They go through `fetch`, which is about twice as fast as the SDK. */
export interface Connection {
  /** Whether the endpoint comes from the SDK's variables or files rather than from the options. */
  readonly endpointFromEnvironment: boolean;
  /** The URL of the bucket at an endpoint that is not Amazon's default; undefined there. */
  readonly ownBucketUrl: string | undefined;
  /** `HOST:PORT` of the server, for messages. */
  readonly server: string;
  readonly probe: ConnectProbe;
  readonly protocol: ProtocolProbe;
  /** The server's clock, according to its responses. */
  readonly clock: ServerClock;
  /**
   * @param signal ends a wait for credentials
   * @throws the SDK's own error if it finds no credentials; StorageError `aborted`, `usage`
   */
  sign(request: UnsignedRequest, signal?: AbortSignal): Promise<SignedRequest>;
  /**
   * Prepares URLs of objects, by their keys, all with the same credentials and time.
   *
   * @param seconds for how long they are valid, unless the credentials expire before
   * @param signal ends a wait for credentials
   */
  presign(seconds: number, signal: AbortSignal): Promise<PresignedUrls>;
  close(): void;
}

/**
 * Loads the SDK only if it has to find something, which takes longer than a small request.
 *
 * @throws `usage` if it is not installed
 */
export async function connect(config: BucketConfig): Promise<Connection> {
  const access = knownAccess(config) ?? (await (await import("./sdk.ts")).openSdk(config)).access;
  return connectTo(access, config);
}

/** @throws StorageError `usage` */
export function connectTo(access: BucketAccess, config: BucketConfig): Connection {
  const { url, region, isCustomEndpoint } = access;
  if (config.encryption?.type === "SSE-C" && url.protocol === "http:") {
    throw usage("SSE-C sends its key with every request, so it needs an https:// endpoint");
  }
  const sign = createSigner(region);
  const probe = connectProbe(url, config.timeouts.connect);
  // Read once: each of them, read from a URL, takes as long as a part of a signature.
  const { origin, host } = url;
  const base = url.pathname.replace(/\/$/u, "");

  const currentCredentials = async (signal?: AbortSignal): Promise<Credentials> => {
    const { credentials: known } = access;
    const credentials = typeof known === "function" ? await untilAborted(known(), signal) : known;
    requirePrintableKeys(credentials);
    return credentials;
  };

  return {
    ownBucketUrl: isCustomEndpoint ? `${origin}${base}/` : undefined,
    server: serverAddress(url).text,
    probe,
    protocol: protocolProbe(url, config),
    clock: serverClock(),
    endpointFromEnvironment: config.endpoint === undefined && isCustomEndpoint,
    async sign({ method, key, query = {}, headers: given, sha256 }, signal) {
      const credentials = await currentCredentials(signal);
      const path = `${base}/${encodePath(key)}`;
      const search = queryString(query);
      // This machine's clock. The SDK's own date is corrected after a clock skew error, which would
      // make the outcome of a call depend on the calls before it.
      const headers = sign(
        { method, path, query: search, host, headers: given, sha256 },
        credentials,
        new Date(),
      );
      for (const name in headers) requirePrintable(`the header ${name}`, headers[name]);
      return { url: `${origin}${path}${search && `?${search}`}`, headers };
    },
    async presign(seconds, signal) {
      const credentials = await currentCredentials(signal);
      // In whole seconds, as the URLs have it.
      const now = Math.floor(Date.now() / 1000) * 1000;
      const sessionEnd = credentials.expiration?.getTime() ?? Infinity;
      const expiresIn = Math.min(seconds, Math.floor((sessionEnd - now) / 1000));
      if (expiresIn < 1) {
        throw new StorageError(
          "permission",
          `the credentials of the store expired at ${new Date(sessionEnd).toISOString()}; sign in ` +
            "again, or use an access key that does not expire",
        );
      }
      const time = new Date(now);
      const queryOf = createPresigner({ region, credentials, host, time, expiresIn });
      return {
        expires: new Date(now + expiresIn * 1000),
        temporary: Boolean(credentials.sessionToken),
        urlOf(key) {
          const path = `${base}/${encodePath(key)}`;
          return `${origin}${path}?${queryOf(path)}`;
        },
      };
    },
    close() {
      probe.close();
      access.close();
    },
  };
}

/** Compares this machine's clock with the server's. */
export interface ServerClock {
  /** Records the `Date` header of a response that has just arrived; ignores an invalid one. */
  observe(date: string | null): void;
  /** How many milliseconds this machine was ahead at the last response, to the second. */
  readonly aheadMs: number | undefined;
  /**
   * The server's time, in milliseconds since 1970, to the second; undefined if the last response with
   * a date was more than a minute ago.
   */
  time(): number | undefined;
}

/**
 * How long the server's time is counted on from a response, in milliseconds. Short, because a machine
 * that sleeps may not count that time.
 */
const FRESH_MS = 60_000;

/** The header omits the fraction of its second: half a second on average. */
const HALF_SECOND = 500;

/**
 * @param now milliseconds since 1970 on this machine
 * @param elapsed milliseconds by a clock that nobody sets
 */
export function serverClock(
  now: () => number = Date.now,
  elapsed: () => number = () => performance.now(),
): ServerClock {
  let last: { aheadMs: number; server: number; at: number } | undefined;
  return {
    observe(date) {
      const server = Date.parse(date ?? "") + HALF_SECOND;
      if (!Number.isNaN(server)) last = { aheadMs: now() - server, server, at: elapsed() };
    },
    get aheadMs() {
      return last?.aheadMs;
    },
    time() {
      const age = last === undefined ? Infinity : elapsed() - last.at;
      return age <= FRESH_MS ? last!.server + age : undefined;
    },
  };
}
