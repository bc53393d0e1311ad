import type { Backend, NaCl, NaClChoice } from "@idk/storage";
import type { RedactDefaults, RedactRule } from "./redact/contract.ts";

/** Options of `createRecorder`. */
export interface RecorderOptions {
  /** Where segments go. Only its `put` is used, so credentials that can do nothing else suffice. */
  readonly backend: Backend;
  /**
   * Who can read: 1 to 1024 recipients, or a function that gives them for the time at which a segment
   * is sealed, such as a key of that day, which is destroyed later to shred the day. If it throws,
   * the segment is dropped.
   */
  readonly recipients: readonly string[] | ((date: Date) => readonly string[]);
  /**
   * A folder for sealed segments until they are uploaded; created with mode 0700. Processes may share
   * it. What a process that has ended left in it is uploaded by the others, or by the next one.
   */
  readonly spool: string;
  /**
   * Decides at the end of an exchange whether it is recorded; by default all are. It sees it before
   * redaction, and must return at once. If it throws, the exchange is recorded.
   */
  readonly keep?: ((exchange: FinishedExchange) => boolean) | undefined;
  readonly redact?: readonly RedactRule[] | undefined;
  /** Turns parts of what is always redacted off. */
  readonly redactDefaults?: RedactDefaults | undefined;
  /** The key of the action `hash`: 32 bytes or more; by default random, so others in each process. */
  readonly hashKey?: Uint8Array | undefined;
  /** Media types whose bodies are kept as base64 without redaction; by default none. */
  readonly binaryTypes?: readonly string[] | undefined;
  /**
   * Compresses segments. By default `none`: the length of compressed text beside a secret that
   * someone else can add to leaks the secret (docs/threat-model.md).
   */
  readonly compression?: "none" | "zstd" | undefined;
  readonly limits?: Partial<RecorderLimits> | undefined;
  /**
   * Told of faults, at most once a second; messages contain nothing of an exchange. By default they
   * are only counted.
   */
  readonly onError?: ((error: Error) => void) | undefined;
  /** The NaCl implementation; by default the native one if it loads. */
  readonly nacl?: NaClChoice | NaCl | undefined;
}

/** Limits. All are integers. */
export interface RecorderLimits {
  /**
   * Bytes kept of each body: 0 to 16 MiB, by default 64 KiB. Longer ones take longer at a time. If an
   * exchange would take more than 32 MiB as JSON, its bodies are omitted.
   */
  readonly bodyBytes: number;
  /** Bytes captured and not yet sealed, over all exchanges, by default 32 MiB. */
  readonly queueBytes: number;
  /** Bytes of sealed segments in the spool, by default 256 MiB. */
  readonly spoolBytes: number;
  /** Bytes of lines after which a segment is sealed, 64 KiB to 1 MiB, by default 1 MiB. */
  readonly segmentBytes: number;
  /** Milliseconds after which a segment is sealed, by default 10,000. */
  readonly segmentMs: number;
  /** Milliseconds of work in a row before the event loop gets its turn, by default 2. */
  readonly workMs: number;
  /** Milliseconds after which an upload is given up and repeated, by default 60,000. */
  readonly uploadMs: number;
  /**
   * Milliseconds without a sign of life after which a process that shares the spool is taken to have
   * ended, and what it left is uploaded, by default 30,000.
   */
  readonly orphanMs: number;
}

/** An exchange at its end, for `keep`, before redaction. */
export interface FinishedExchange {
  readonly direction: "in" | "out";
  readonly method: string;
  readonly url: string;
  readonly route?: string | undefined;
  /** 0 if there was no response. */
  readonly status: number;
  readonly ms: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly ended?: "aborted" | "error" | "open" | "unread" | undefined;
}
