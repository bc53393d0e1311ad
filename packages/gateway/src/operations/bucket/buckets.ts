import { allowsBucket } from "../../credentials/permissions.ts";
import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import { parseCreateBucket, SHORT_XML_MAX } from "../../xml/bodies.ts";
import { xml } from "../../xml/write.ts";
import { emptyAnswer, isoTime, longAnswer, PAGE_BYTES, xmlAnswer } from "../answers.ts";
import { readAll } from "../bodies.ts";
import type { Operation, Request } from "../operation.ts";
import { ownerXml } from "../owner.ts";
import { countOf } from "../parameters.ts";
import { refuseGrants } from "../requests.ts";
import { isBucketName } from "./names.ts";
import { notImplemented } from "../not-implemented.ts";

/** Buckets of a list, and of one page of the database. */
const PAGE_MAX = 10_000;
const QUERY_MAX = 1000;

async function listBuckets({ catalog, accessKey, query }: Request): Promise<Answer> {
  const limit = countOf(query, "max-buckets", { min: 1, max: PAGE_MAX, standard: PAGE_MAX });
  const prefix = query.get("prefix") ?? "";
  const region = query.get("bucket-region");
  const buckets = [];
  let after = tokenName(query.get("continuation-token"));
  let isTruncated = false;
  paging: for (;;) {
    const page = await catalog.listBuckets({
      prefix,
      ...(after !== "" && { after }),
      limit: QUERY_MAX,
    });
    for (const bucket of page) {
      if (allowsBucket(accessKey, bucket.name) && (region ?? bucket.region) === bucket.region) {
        isTruncated = buckets.length === limit;
        if (isTruncated) break paging;
        buckets.push(bucket);
      }
      after = bucket.name;
    }
    if (page.length < QUERY_MAX) break;
  }
  const last = buckets.at(-1)?.name;
  return xmlAnswer(
    "ListAllMyBucketsResult",
    xml`${ownerXml("Owner")}<Buckets>${buckets.map(
      ({ name, time, region }) =>
        xml`<Bucket><Name>${name}</Name><CreationDate>${isoTime(time)}</CreationDate><BucketRegion>${region}</BucketRegion></Bucket>`,
    )}</Buckets>${prefix === "" ? undefined : xml`<Prefix>${prefix}</Prefix>`}${
      isTruncated && last !== undefined
        ? xml`<ContinuationToken>${Buffer.from(last).toString("base64url")}</ContinuationToken>`
        : undefined
    }`,
  );
}

function tokenName(token: string | undefined): string {
  return token === undefined ? "" : Buffer.from(token, "base64url").toString();
}

async function createBucket(request: Request): Promise<Answer> {
  const { bucketName, headers, objects, accessKey, now } = request;
  if (!isBucketName(bucketName)) throw new S3Error("InvalidBucketName");
  refuseGrants(headers);
  checkOwnership(headers.get("x-amz-object-ownership"));
  if (headers.get("x-amz-bucket-object-lock-enabled")?.toLowerCase() === "true") {
    throw notImplemented("Object lock is not implemented.");
  }
  const region = parseCreateBucket(
    await readAll(request, { maxLength: SHORT_XML_MAX, isOptional: true }),
  );
  if (request.hasOneRegion && region !== undefined && region !== request.region) {
    throw new S3Error("InvalidLocationConstraint", undefined, {
      details: { LocationConstraint: region },
    });
  }
  const { outcome } = await objects.createBucket({
    name: bucketName,
    owner: accessKey.id,
    region: region ?? request.region,
    time: now(),
  });
  if (outcome === "exists") throw new S3Error("BucketAlreadyOwnedByYou");
  return emptyAnswer(200, {
    location: `/${bucketName}`,
    "x-amz-bucket-arn": `arn:aws:s3:::${bucketName}`,
  });
}

/** Of one owner, all of them mean the same. Throws S3Error `InvalidArgument`. */
function checkOwnership(value = "BucketOwnerEnforced"): void {
  if (["BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"].includes(value)) return;
  throw new S3Error("InvalidArgument", `Invalid x-amz-object-ownership header: ${value}`, {
    details: { ArgumentName: "x-amz-object-ownership", ArgumentValue: value },
  });
}

async function headBucket(request: Request): Promise<Answer> {
  const { region } = await request.bucket();
  return emptyAnswer(200, { "x-amz-bucket-region": region });
}

async function deleteBucket(request: Request): Promise<Answer> {
  await request.objects.deleteBucket(await request.bucket());
  return emptyAnswer(204);
}

async function getLocation(request: Request): Promise<Answer> {
  const { region } = await request.bucket();
  return xmlAnswer("LocationConstraint", xml`${region === "us-east-1" ? "" : region}`);
}

export const BUCKET_OPERATIONS: readonly Operation[] = [
  {
    name: "ListBuckets",
    level: "service",
    method: "GET",
    parameters: ["max-buckets", "prefix", "continuation-token", "bucket-region"],
    right: "list",
    scope: "some",
    run: (request) => longAnswer(request, PAGE_BYTES, () => listBuckets(request)),
  },
  {
    name: "CreateBucket",
    level: "bucket",
    method: "PUT",
    right: "write",
    scope: "whole-bucket",
    run: createBucket,
  },
  {
    name: "HeadBucket",
    level: "bucket",
    method: "HEAD",
    right: "list",
    scope: "some",
    run: headBucket,
  },
  {
    name: "DeleteBucket",
    level: "bucket",
    method: "DELETE",
    right: "write",
    scope: "whole-bucket",
    run: deleteBucket,
  },
  {
    name: "GetBucketLocation",
    level: "bucket",
    method: "GET",
    selectors: ["location"],
    right: "list",
    scope: "some",
    run: getLocation,
  },
];
