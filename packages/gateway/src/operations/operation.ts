import type { CheckedBody } from "../body/read-body.ts";
import type { BodyExpectations } from "../body/plan.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Bucket } from "../catalog/records.ts";
import type { AccessKey, Right } from "../credentials/credentials.ts";
import type { S3Error } from "../errors.ts";
import type { Answer } from "../http/connection/outgoing.ts";
import type { Budget } from "../objects/memory/budget.ts";
import type { Objects } from "../objects/objects.ts";
import type { RequestHeaders } from "../signature/request.ts";

/** What operations work on, the same for all requests. */
export interface Services {
  readonly catalog: Catalog;
  readonly objects: Objects;
  /** The region of buckets that name none. */
  readonly region: string;
  /** Whether there is no other region. */
  readonly hasOneRegion: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Memory for long documents of XML, in bodies and answers. */
  readonly documents: Budget;
  /** Whether clients may change anything: false for a snapshot as a bucket. */
  readonly isReadOnly: boolean;
}

/** A request that was authenticated and is allowed. */
export interface Request extends Services {
  readonly method: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: RequestHeaders;
  readonly accessKey: AccessKey;
  /** Empty if the operation is not of a bucket. */
  readonly bucketName: string;
  /** Empty if the operation is not of an object. */
  readonly key: Uint8Array;
  /** Scheme and host, as the client sees them: `https://localhost:9000`. */
  readonly origin: string;
  /** The path as sent. */
  readonly rawPath: string;
  readonly requestId: string;
  /**
   * Takes an error that the status of the answer does not tell.
   *
   * @returns it as the client sees it; what went wrong inside is for the log
   */
  readonly report: (error: unknown) => S3Error;
  /** Fires if the client is gone. */
  readonly signal: AbortSignal;
  /** The bucket of the request. Throws S3Error `NoSuchBucket`. */
  bucket(): Promise<Bucket>;
  /** The body, checked as it is read. Call it once. */
  body(expectations: BodyExpectations): CheckedBody;
}

/** An operation of S3: how a request for it looks, who may send it, and what it does. */
export interface Operation {
  /** S3's name. */
  readonly name: string;
  readonly level: "service" | "bucket" | "object";
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** The parameters that select it, all of which are in the query. */
  readonly selectors?: readonly string[];
  /** A header that selects it. */
  readonly header?: string;
  /** Other parameters that it understands. */
  readonly parameters?: readonly string[];
  readonly right: Right;
  /**
   * Where the right has to apply: to the object; to the bucket, so that keys with prefixes have it
   * not; or to any of the bucket's objects, which the operation checks itself.
   */
  readonly scope: "object" | "whole-bucket" | "some";
  readonly run: (request: Request) => Promise<Answer>;
}
