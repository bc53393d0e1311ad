import type { SuiteResult } from "./report/report.ts";

/** What a suite is run with. */
export interface SuiteContext {
  /** Few rounds and small sizes: shows that it works. Targets are still computed. */
  readonly quick: boolean;
  /** Sizes in bytes instead of the suite's own. */
  readonly sizes?: readonly number[] | undefined;
  /** Rounds instead of the suite's own. */
  readonly iterations?: number | undefined;
  /** The object store for suites that need one; they work below a prefix of their own, and clear it. */
  readonly store?: ObjectStoreAccess | undefined;
  /** By name, of the options that the suite has declared, those that were given. */
  readonly options?: Readonly<Record<string, OptionValue>> | undefined;
  /** Makes random choices repeatable. */
  readonly seed: number;
  readonly signal: AbortSignal;
  /** A line for people about what goes on, when they asked for it. */
  log(line: string): void;
}

/** An S3-compatible object store over plain HTTP or TLS, path style. */
export interface ObjectStoreAccess {
  /** http://host:port */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Ends with a slash where it is not empty. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export type OptionValue = number | boolean | string;

/** A flag that one suite takes, besides those that all of them do. */
export interface SuiteOption {
  /** As in the long flag, in camel case: "retries" for `--retries`. */
  readonly name: string;
  /** A value of any other kind is refused. Numbers are 0 or more. */
  readonly kind: "number" | "boolean" | "text";
  /** One line for `--help`. */
  readonly description: string;
}

/** A question about speed, and how it is answered. */
export interface Suite {
  /** As on the command line: "hash-perf". */
  readonly name: string;
  /** One line for `--list`. */
  readonly title: string;
  /** Whether it is skipped, by name, where there is no object store. */
  readonly needsObjectStore: boolean;
  readonly options?: readonly SuiteOption[] | undefined;
  /**
   * @returns a result with status "completed"; a target that is missed does not change that
   * @throws whatever an operation that failed has thrown: nothing counts errors as work
   */
  run(context: SuiteContext): Promise<SuiteResult>;
}
