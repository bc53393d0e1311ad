import { S3Error, type S3ErrorCode } from "../../errors.ts";
import { SHORT_XML_ELEMENTS, SHORT_XML_MAX } from "../../xml/bodies.ts";
import { parseXml, type XmlElement } from "../../xml/read.ts";
import { type Xml, xml } from "../../xml/write.ts";
import { emptyAnswer, xmlAnswer } from "../answers.ts";
import { readAll } from "../bodies.ts";
import { findObject } from "../find.ts";
import type { Operation, Request } from "../operation.ts";
import { isOwner, ownerGrantXml } from "../owner.ts";
import { refuseGrants } from "../requests.ts";
import { notImplemented } from "../not-implemented.ts";

/*
 * Settings of buckets that cannot be changed. Tools read them before they do anything, and expect what
 * AWS answers for a bucket in which nothing was set.
 */

/** A setting with a value: the root of its document, and what is in it. */
const FIXED: readonly (readonly [name: string, selector: string, root: string, content: Xml])[] = [
  ["GetBucketVersioning", "versioning", "VersioningConfiguration", xml``],
  ["GetBucketLogging", "logging", "BucketLoggingStatus", xml``],
  ["GetBucketNotificationConfiguration", "notification", "NotificationConfiguration", xml``],
  ["GetBucketAccelerateConfiguration", "accelerate", "AccelerateConfiguration", xml``],
  [
    "GetBucketRequestPayment",
    "requestPayment",
    "RequestPaymentConfiguration",
    xml`<Payer>BucketOwner</Payer>`,
  ],
  ["GetBucketPolicyStatus", "policyStatus", "PolicyStatus", xml`<IsPublic>false</IsPublic>`],
  [
    "GetBucketOwnershipControls",
    "ownershipControls",
    "OwnershipControls",
    xml`<Rule><ObjectOwnership>BucketOwnerEnforced</ObjectOwnership></Rule>`,
  ],
  [
    "GetPublicAccessBlock",
    "publicAccessBlock",
    "PublicAccessBlockConfiguration",
    xml`<BlockPublicAcls>true</BlockPublicAcls><IgnorePublicAcls>true</IgnorePublicAcls><BlockPublicPolicy>true</BlockPublicPolicy><RestrictPublicBuckets>true</RestrictPublicBuckets>`,
  ],
];

/** A setting that is not there, with the error that means so. */
const ABSENT: readonly (readonly [name: string, selector: string, code: S3ErrorCode])[] = [
  ["GetBucketPolicy", "policy", "NoSuchBucketPolicy"],
  ["GetBucketCors", "cors", "NoSuchCORSConfiguration"],
  ["GetBucketLifecycleConfiguration", "lifecycle", "NoSuchLifecycleConfiguration"],
  ["GetBucketEncryption", "encryption", "ServerSideEncryptionConfigurationNotFoundError"],
  ["GetBucketReplication", "replication", "ReplicationConfigurationNotFoundError"],
  ["GetBucketTagging", "tagging", "NoSuchTagSet"],
  ["GetObjectLockConfiguration", "object-lock", "ObjectLockConfigurationNotFoundError"],
];

/** What may be deleted, because it is not there. */
const DELETABLE: readonly (readonly [name: string, selector: string])[] = [
  ["DeleteBucketPolicy", "policy"],
  ["DeleteBucketCors", "cors"],
  ["DeleteBucketLifecycle", "lifecycle"],
  ["DeleteBucketTagging", "tagging"],
];

/** Takes a list of access control only if it changes nothing: s3cmd writes back what it has read. */
async function putAcl(request: Request): Promise<void> {
  refuseGrants(request.headers);
  if (request.headers.has("x-amz-acl")) return;
  const body = await readAll(request, { maxLength: SHORT_XML_MAX });
  const lists = parseXml(body, "AccessControlPolicy", SHORT_XML_ELEMENTS).children.filter(
    ({ name }) => name === "AccessControlList",
  );
  const grants = lists.flatMap(({ children }) => children);
  if (!grants.every((grant) => isOwner(textsOf(grant).get("ID")))) {
    throw notImplemented("Access control lists other than private are not implemented.");
  }
}

/** The texts in an element, however deep, by the names of their elements. */
function textsOf({ name, text, children }: XmlElement): Map<string, string> {
  return new Map([[name, text], ...children.flatMap((child) => [...textsOf(child)])]);
}

export const SETTINGS_OPERATIONS: readonly Operation[] = [
  ...FIXED.map(([name, selector, root, content]): Operation => ({
    name,
    level: "bucket",
    method: "GET",
    selectors: [selector],
    right: "list",
    scope: "some",
    run: async (request) => {
      await request.bucket();
      return xmlAnswer(root, content);
    },
  })),
  ...ABSENT.map(([name, selector, code]): Operation => ({
    name,
    level: "bucket",
    method: "GET",
    selectors: [selector],
    right: "list",
    scope: "some",
    run: async (request) => {
      await request.bucket();
      throw new S3Error(code);
    },
  })),
  ...DELETABLE.map(([name, selector]): Operation => ({
    name,
    level: "bucket",
    method: "DELETE",
    selectors: [selector],
    right: "write",
    scope: "whole-bucket",
    run: async (request) => {
      await request.bucket();
      return emptyAnswer(204);
    },
  })),
  {
    name: "GetBucketAcl",
    level: "bucket",
    method: "GET",
    selectors: ["acl"],
    right: "list",
    scope: "some",
    run: async (request) => {
      await request.bucket();
      return xmlAnswer("AccessControlPolicy", ownerGrantXml());
    },
  },
  {
    name: "PutBucketAcl",
    level: "bucket",
    method: "PUT",
    selectors: ["acl"],
    right: "write",
    scope: "whole-bucket",
    run: async (request) => {
      await request.bucket();
      await putAcl(request);
      return emptyAnswer(200);
    },
  },
  {
    name: "GetObjectAcl",
    level: "object",
    method: "GET",
    selectors: ["acl"],
    right: "read",
    scope: "object",
    run: async (request) => {
      await findObject(request);
      return xmlAnswer("AccessControlPolicy", ownerGrantXml());
    },
  },
  {
    name: "PutObjectAcl",
    level: "object",
    method: "PUT",
    selectors: ["acl"],
    right: "write",
    scope: "object",
    run: async (request) => {
      await findObject(request);
      await putAcl(request);
      return emptyAnswer(200);
    },
  },
];
