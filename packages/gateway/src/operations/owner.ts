import type { Bucket } from "../catalog/records.ts";
import { S3Error } from "../errors.ts";
import { type Xml, xml } from "../xml/write.ts";

/** All keys of a gateway are of one account, because whoever has its catalog owns all there is. */
const ACCOUNT = "69646b0000000000000000000000000000000000000000000000000000000000";

/** The owner of buckets and objects, as answers name it: in `Owner`, `Initiator`. */
export function ownerXml(element: "Owner" | "Initiator"): Xml {
  const content = xml`<ID>${ACCOUNT}</ID><DisplayName>idk</DisplayName>`;
  return element === "Owner"
    ? xml`<Owner>${content}</Owner>`
    : xml`<Initiator>${content}</Initiator>`;
}

/** Whether an id is that of the owner. */
export function isOwner(id: string | undefined): boolean {
  return id === ACCOUNT;
}

/**
 * Refuses a request that expects another owner of a bucket: it is meant for a bucket of the same name
 * elsewhere.
 *
 * @param expected the header; a bucket's owner is the account, or the access key that made it
 * @throws S3Error `AccessDenied`
 */
export function checkOwner(bucket: Bucket, expected: string | undefined): Bucket {
  if (expected === undefined || isOwner(expected) || expected === bucket.owner) return bucket;
  throw new S3Error("AccessDenied");
}

/** The one access control list there is: the owner may do everything. */
export function ownerGrantXml(): Xml {
  return xml`${ownerXml("Owner")}<AccessControlList><Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"><ID>${ACCOUNT}</ID><DisplayName>idk</DisplayName></Grantee><Permission>FULL_CONTROL</Permission></Grant></AccessControlList>`;
}
