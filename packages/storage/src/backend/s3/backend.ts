import { throwIfAborted, untilAborted } from "../../abort.ts";
import { usage } from "../../errors.ts";
import { type Backend, type Capabilities, isBlobName } from "../backend.ts";
import { findCapabilities } from "./capabilities.ts";
import { connect, type Connection } from "./connection.ts";
import { failure } from "./errors.ts";
import { getBlob } from "./download.ts";
import { listBlobs } from "./listing.ts";
import { headBlob } from "./look.ts";
import type { Place } from "./place.ts";
import { removeBlob } from "./removal.ts";
import type { Learned, Session, Signal } from "./session.ts";
import type { ServerClock } from "./server-clock.ts";
import { trialBlob } from "./trial-blob.ts";
import { putBlob } from "./upload.ts";

/** The one data path of all object stores; they differ in what is known of them beforehand. */
export function objectBackend(place: Place): Backend {
  const { provider, bucket, folder, endpoint } = place;
  const description = `${provider} ${bucket}${folder && `/${folder.slice(0, -1)}`}${endpoint === undefined ? "" : ` at ${endpoint}`}`;
  const learned: Learned = { checksums: place.checksums, attests: false, bucketSeen: false };
  let connecting: Promise<Connection> | undefined;
  let clock: ServerClock | undefined;
  let probing: Promise<Capabilities> | undefined;
  // One for all attempts: the next removes what the last could not.
  let trial: Uint8Array | undefined;

  const open = async (signal: Signal): Promise<Session> => {
    throwIfAborted(signal);
    connecting ??= connect(place).then(
      (connection) => {
        clock = connection.clock;
        learned.attests = place.checksumsChecked && !connection.elsewhere;
        return connection;
      },
      (error: unknown) => {
        connecting = undefined;
        throw failure(error, `open ${description}`, undefined);
      },
    );
    const connection = await untilAborted(connecting, signal);
    return { connection, place, learned };
  };

  /** As `open`, for one blob. A name from elsewhere must not become another path. */
  const openFor = (name: string, signal: Signal): Promise<Session> => {
    if (!isBlobName(name)) throw usage("a blob's name is 64 lowercase hexadecimal digits");
    return open(signal);
  };

  async function* list(prefix: string, after: string, signal: Signal) {
    yield* listBlobs(await open(signal), prefix, after, signal);
  }

  return {
    description,
    async put(name, bytes, options = {}) {
      await putBlob(await openFor(name, options.signal), name, bytes, options);
    },
    async get(name, buffer, { signal } = {}) {
      return getBlob(await openFor(name, signal), name, buffer, signal);
    },
    async getPrefix(name, buffer, { signal } = {}) {
      return getBlob(await openFor(name, signal), name, buffer, signal, { prefixOnly: true });
    },
    async head(name, { signal } = {}) {
      return headBlob(await openFor(name, signal), name, signal);
    },
    async delete(name, { signal } = {}) {
      await removeBlob(await openFor(name, signal), name, signal);
    },
    list: (prefix, { signal } = {}) => list(prefix, "", signal),
    listAfter: (prefix, after, { signal } = {}) => list(prefix, after, signal),
    async capabilities({ signal } = {}) {
      const session = await open(signal);
      // Not with the signal of one caller: others wait for it too, and it cleans up after itself.
      trial ??= trialBlob();
      probing ??= findCapabilities(session, trial).catch((error: unknown) => {
        probing = undefined;
        throw error;
      });
      return untilAborted(probing, signal);
    },
    clockAheadMs: () => clock?.aheadMs,
    async close() {
      const connection = await connecting?.catch(() => undefined);
      connection?.close();
    },
  };
}
