import type { Findings } from "./harness/results.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings and services of one run of a suite. */
export interface SuiteContext {
  /** Few rounds and small sizes, to show that the suite works. Targets are still computed. */
  readonly quick: boolean;
  /** Content sizes in bytes, instead of the suite's defaults. */
  readonly sizes?: readonly number[] | undefined;
  /** Number of rounds, instead of the suite's default. */
  readonly iterations?: number | undefined;
  /** The object store for suites that need one. They work below a new prefix and clear it. */
  readonly store?: ObjectStoreAccess | undefined;
  /** Milliseconds that were added to each round trip to the object store. */
  readonly rtt?: number | undefined;
  /** Bytes per second, in each direction, of the line to the object store, if it was limited. */
  readonly rate?: number | undefined;
  /** The given values of the options of suites, by name. */
  readonly options?: Readonly<Record<string, OptionValue>> | undefined;
  readonly env: Environment;
  /** Seed of random choices. */
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Prints a progress detail, if the user wants details. */
  log(line: string): void;
}

/** An S3-compatible object store over plain HTTP or TLS, path style. */
export interface ObjectStoreAccess {
  /** http://host:port */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** What the server can do: Backblaze B2 rejects checksum headers. By default S3. */
  readonly provider?: "s3" | "minio" | "b2" | undefined;
}

export type OptionValue = number | boolean | string;

/** An option of a suite, in addition to the common ones. */
export interface SuiteOption {
  /** The long flag in camel case, of one suite only: "retries" for `--retries`. */
  readonly name: string;
  /** Values of another kind are rejected. Numbers are 0 or greater. */
  readonly kind: "number" | "boolean" | "text";
  /** One line for `--help`. */
  readonly description: string;
}

/** A set of measurements that answers one question about speed. */
export interface Suite {
  /** The name on the command line: "hash-perf". */
  readonly name: string;
  /** One line for `--list`. */
  readonly title: string;
  /** If true, the suite is skipped when there is no object store. */
  readonly needsObjectStore?: boolean | undefined;
  /** Takes minutes: runs only if it is named, and every night. */
  readonly slow?: boolean | undefined;
  readonly options?: readonly SuiteOption[] | undefined;
  /** Why the suite cannot run here, apart from the object store: a program that is not installed. */
  missing?(env: Environment): string | undefined;
  /** @throws whatever a failed operation throws: errors never count as work */
  run(context: SuiteContext): Promise<Findings>;
}
