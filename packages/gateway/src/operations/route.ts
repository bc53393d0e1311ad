import { S3Error } from "../errors.ts";
import { BUCKET_OPERATIONS } from "./bucket/buckets.ts";
import { SETTINGS_OPERATIONS } from "./bucket/settings.ts";
import { LIST_OPERATIONS } from "./list/objects.ts";
import { LIST_UPLOADS_OPERATIONS } from "./list/uploads.ts";
import { COMPLETE_OPERATIONS } from "./multipart/complete.ts";
import { UPLOAD_OPERATIONS } from "./multipart/uploads.ts";
import { ATTRIBUTES_OPERATIONS } from "./object/attributes.ts";
import { COPY_OPERATIONS } from "./object/copy.ts";
import { DELETE_OPERATIONS } from "./object/delete.ts";
import { GET_OPERATIONS } from "./object/get.ts";
import { PUT_OPERATIONS } from "./object/put.ts";
import { TAGGING_OPERATIONS } from "./object/tagging.ts";
import type { Operation } from "./operation.ts";
import { notImplemented } from "./not-implemented.ts";

const OPERATIONS: readonly Operation[] = [
  ...BUCKET_OPERATIONS,
  ...SETTINGS_OPERATIONS,
  ...LIST_OPERATIONS,
  ...LIST_UPLOADS_OPERATIONS,
  ...GET_OPERATIONS,
  ...PUT_OPERATIONS,
  ...COPY_OPERATIONS,
  ...DELETE_OPERATIONS,
  ...UPLOAD_OPERATIONS,
  ...COMPLETE_OPERATIONS,
  ...ATTRIBUTES_OPERATIONS,
  ...TAGGING_OPERATIONS,
];

/** By level and method, those with the most selectors first. */
const CANDIDATES = new Map<string, Operation[]>();
for (const operation of OPERATIONS.toSorted((a, b) => weight(b) - weight(a))) {
  const name = `${operation.level} ${operation.method}`;
  CANDIDATES.set(name, [...(CANDIDATES.get(name) ?? []), operation]);
}

/** What the choice of an operation depends on. */
export interface Routed {
  readonly level: Operation["level"];
  readonly method: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: ReadonlyMap<string, string>;
}

/** Parameters that any request may have: the SDKs name the operation in `x-id`. */
const COMMON = new Set(["x-id"]);

/** Names that select an operation of S3 in a read, though they may have a value. */
const SUBRESOURCES = new Set(
  (
    "accelerate acl analytics attributes cors delete encryption intelligent-tiering inventory " +
    "legal-hold lifecycle location logging metadataConfiguration metadataTable metrics notification " +
    "object-lock ownershipControls policy policyStatus publicAccessBlock renameObject replication " +
    "requestPayment restore retention select session tagging torrent uploadId uploads versioning " +
    "versions website"
  ).split(" "),
);

/**
 * The operation that a request is for: the one with the most selectors that are there. What it does
 * not know must not be ignored: a PUT with an unknown parameter may be meant for anything but an object.
 *
 * @throws S3Error `NotImplemented`, `MethodNotAllowed`
 */
export function route({ level, method, query, headers }: Routed): Operation {
  const candidates = CANDIDATES.get(`${level} ${method}`);
  const operation = candidates?.find(
    ({ selectors = [], header }) =>
      selectors.every((name) => query.has(name)) && (header === undefined || headers.has(header)),
  );
  if (operation === undefined) {
    const names = [...query.keys()].filter((name) => SUBRESOURCES.has(name));
    if (candidates !== undefined || names.length > 0) throw notImplemented(names[0] ?? method);
    throw new S3Error("MethodNotAllowed");
  }
  const { selectors = [], parameters = [] } = operation;
  const isRead = method === "GET" || method === "HEAD";
  for (const [name, value] of query) {
    if (selectors.includes(name) || parameters.includes(name) || COMMON.has(name)) continue;
    if (!isRead || value === "" || SUBRESOURCES.has(name)) throw notImplemented(name);
  }
  return operation;
}

function weight({ selectors = [], header }: Operation): number {
  return selectors.length * 2 + (header === undefined ? 0 : 1);
}
