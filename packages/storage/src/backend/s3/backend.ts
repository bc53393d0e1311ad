import { throwIfAborted, untilAborted } from "../../abort.ts";
import { usage } from "../../errors.ts";
import {
  type Backend,
  type Capabilities,
  isBlobName,
  type ListMarkersOptions,
  MARKERS,
  requireLimit,
  requireMarkerName,
} from "../backend.ts";
import type { BucketConfig } from "./bucket-config.ts";
import { findCapabilities, trialBlob } from "./capabilities.ts";
import { connect, type Connection } from "./http/connection.ts";
import { exceptionError } from "./http/errors.ts";
import { currentTime } from "./objects/current-time.ts";
import { deleteBlob } from "./objects/delete.ts";
import { getBlob } from "./objects/download.ts";
import { headBlob } from "./objects/head.ts";
import { listBlobs, listMarkers } from "./objects/list.ts";
import { presign } from "./objects/presign.ts";
import { putBlob, putMarker } from "./objects/upload.ts";
import type { ServerFeatures, BucketContext } from "./bucket-context.ts";

type Signal = AbortSignal | undefined;

/**
 * Milliseconds after which a trial of which nothing was permitted is made again. Not sooner, because some
 * credentials never permit it, and each blob may ask for it.
 */
const REFUSED_MS = 60_000;

/** The data path of all S3 servers, which differ only in their configuration. */
export function s3Backend(config: BucketConfig): Backend {
  const { provider, bucket, keyPrefix, endpoint } = config;
  const description = `${provider} ${bucket}${keyPrefix && `/${keyPrefix.slice(0, -1)}`}${endpoint === undefined ? "" : ` at ${endpoint}`}`;
  const features: ServerFeatures = {
    sendChecksums: config.sendChecksums,
    trustChecksums: false,
    bucketExists: false,
    conditionalPut: config.conditionalPut,
  };
  let connecting: Promise<Connection> | undefined;
  let connected: Connection | undefined;
  let findingCapabilities: Promise<Capabilities> | undefined;
  // When they were found without a permission for any request; NaN if they were not.
  let refusedAt = Number.NaN;
  // The same for all attempts of findCapabilities, so that the next one deletes what a failed one left behind.
  let trial: Uint8Array | undefined;

  const open = async (signal: Signal): Promise<BucketContext> => {
    throwIfAborted(signal);
    connecting ??= connect(config).then(
      (connection) => {
        connected = connection;
        features.trustChecksums = config.trustChecksums && !connection.endpointFromEnvironment;
        return connection;
      },
      (error: unknown) => {
        connecting = undefined;
        throw exceptionError(error, `open ${description}`, undefined);
      },
    );
    const connection = connected ?? (await untilAborted(connecting, signal));
    return { connection, config, features };
  };

  /** As `open`, for one blob. Any other name could lead to another path. */
  const openFor = (name: string, signal: Signal): Promise<BucketContext> => {
    if (!isBlobName(name)) throw usage("a blob's name must be 64 lowercase hexadecimal digits");
    return open(signal);
  };

  async function* list(prefix: string, after: string, signal: Signal) {
    yield* listBlobs(await open(signal), prefix, after, signal);
  }

  async function* markers(prefix: string, options: ListMarkersOptions = {}) {
    requireLimit(options.limit);
    yield* listMarkers(await open(options.signal), prefix, options);
  }

  return {
    description,
    async put(name, bytes, options = {}) {
      await putBlob(await openFor(name, options.signal), name, bytes, options);
    },
    async get(name, buffer, { signal, onReceived } = {}) {
      return getBlob(await openFor(name, signal), name, buffer, { signal, onReceived });
    },
    async getRange(name, offset, buffer, { signal } = {}) {
      return getBlob(await openFor(name, signal), name, buffer, { signal, offset });
    },
    async head(name, { signal } = {}) {
      return headBlob(await openFor(name, signal), name, signal);
    },
    async delete(name, { signal } = {}) {
      await deleteBlob(await openFor(name, signal), name, signal);
    },
    list: (prefix, { signal } = {}) => list(prefix, "", signal),
    listAfter: (prefix, after, { signal } = {}) => list(prefix, after, signal),
    async capabilities({ signal } = {}) {
      const opened = await open(signal);
      trial ??= trialBlob();
      // Without the signal of this caller, because others share the result, and so that the trial
      // blob is deleted.
      // Either way, because it may be this clock that was wrong.
      if (Math.abs(Date.now() - refusedAt) > REFUSED_MS) {
        findingCapabilities = undefined;
        refusedAt = Number.NaN;
      }
      findingCapabilities ??= findCapabilities(opened, trial).then(
        ({ found, isRefused }) => {
          if (isRefused) refusedAt = Date.now();
          return found;
        },
        (error: unknown) => {
          findingCapabilities = undefined;
          throw error;
        },
      );
      return untilAborted(findingCapabilities, signal);
    },
    async putMarker(name, { signal } = {}) {
      requireMarkerName(name);
      await putMarker(await open(signal), name, signal);
    },
    listMarkers: markers,
    async deleteMarker(name, { signal } = {}) {
      requireMarkerName(name);
      await deleteBlob(await open(signal), MARKERS + name, signal);
    },
    async currentTime({ signal } = {}) {
      return currentTime(await open(signal), signal);
    },
    presign: async (options) => presign(await open(options.signal), options),
    clockAheadMs: () => connected?.clock.aheadMs,
    async close() {
      const connection = await connecting?.catch(() => undefined);
      connection?.close();
    },
  };
}
