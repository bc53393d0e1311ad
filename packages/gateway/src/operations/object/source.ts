import type { OpenedObject } from "../../catalog/records.ts";
import { allowsObject } from "../../credentials/permissions.ts";
import { S3Error } from "../../errors.ts";
import type { RequestHeaders } from "../../signature/request.ts";
import { isBucketName } from "../bucket/names.ts";
import type { Change } from "../../objects/write/commit.ts";
import { checkRead } from "../conditions.ts";
import { checkVersion, findBucket } from "../find.ts";
import type { Request } from "../operation.ts";
import { checkOwner } from "../owner.ts";

/** What `x-amz-copy-source` names. */
export interface Source {
  readonly bucketName: string;
  readonly key: Uint8Array;
  readonly opened: OpenedObject;
}

/**
 * The source of a copy, or of a change that is one onto itself, if the client may read it and its conditions hold.
 *
 * @throws S3Error `InvalidArgument`, `AccessDenied`, `NoSuchBucket`, `NoSuchKey`, `PreconditionFailed`
 */
export async function openSource(request: Request, change?: Change): Promise<Source> {
  const { headers, accessKey, catalog } = request;
  const { bucketName, key, versionId } = namedSource(headers);
  if (!allowsObject(accessKey, "read", bucketName, key)) throw new S3Error("AccessDenied");
  checkVersion(versionId);
  const expected = headers.get("x-amz-source-expected-bucket-owner");
  const bucket = checkOwner(await findBucket(catalog, bucketName), expected);
  const opened = change === undefined ? await catalog.openObject(bucket.id, key) : change.source;
  if (opened === undefined) {
    throw new S3Error("NoSuchKey", undefined, { details: { Key: Buffer.from(key).toString() } });
  }
  if (checkRead(headers, opened.object, "x-amz-copy-source-if-") !== "ok") {
    throw new S3Error("PreconditionFailed");
  }
  return { bucketName, key, opened };
}

const ATTEMPTS = 5;

/**
 * Copies what the source is when the copy is committed: if it was replaced or deleted meanwhile, what is there
 * then is copied or refused.
 *
 * @param copy looks up the source
 * @throws S3Error as `copy`; `OperationAborted` if it is replaced again and again
 */
export async function copyWhatIsThere<T>(copy: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await copy();
    } catch (error) {
      const isReplaced = error instanceof S3Error && error.code === "OperationAborted";
      if (!isReplaced || attempt === ATTEMPTS) throw error;
    }
  }
}

/** A source by its name alone. */
export type NamedSource = Pick<Source, "bucketName" | "key"> & {
  readonly versionId: string | undefined;
};

/**
 * What `x-amz-copy-source` names, whether it is there or not.
 *
 * @throws S3Error `InvalidArgument`
 */
export function namedSource(headers: RequestHeaders): NamedSource {
  const source = parseSource(headers.get("x-amz-copy-source") ?? "");
  if (isBucketName(source.bucketName)) return source;
  throw new S3Error("InvalidArgument", "Invalid copy source bucket name", {
    details: { ArgumentName: "x-amz-copy-source", ArgumentValue: source.bucketName },
  });
}

/** `/BUCKET/KEY?versionId=ID`, with or without the slash, percent-encoded. */
function parseSource(header: string): NamedSource {
  const [path = "", versionId] = header.split("?versionId=", 2);
  if (/%(?![0-9a-f]{2})/iu.test(path)) {
    throw new S3Error("InvalidArgument", "Invalid copy source encoding", {
      details: { ArgumentName: "x-amz-copy-source", ArgumentValue: header },
    });
  }
  const bytes = percentDecoded(path.replace(/^\//u, ""));
  const slash = bytes.indexOf("/");
  if (slash < 1 || slash === bytes.length - 1) {
    throw new S3Error(
      "InvalidArgument",
      "Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
      { details: { ArgumentName: "x-amz-copy-source" } },
    );
  }
  return {
    bucketName: bytes.subarray(0, slash).toString(),
    key: bytes.subarray(slash + 1),
    versionId,
  };
}

/** Headers are Latin-1: a character for each byte. Some clients send keys as they are. */
function percentDecoded(text: string): Buffer {
  const bytes = text.replaceAll(/%([0-9a-f]{2})/giu, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(bytes, "latin1");
}
