import type { StoredObject } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import { SHORT_XML_MAX } from "../../xml/bodies.ts";
import { parseTagging } from "../../xml/tags.ts";
import { xml } from "../../xml/write.ts";
import { emptyAnswer, xmlAnswer } from "../answers.ts";
import { readAll } from "../bodies.ts";
import { checkVersion, findObject, missing } from "../find.ts";
import type { Operation, Request } from "../operation.ts";

async function getTagging(request: Request): Promise<Answer> {
  const { tags } = await findObject(request);
  return xmlAnswer(
    "Tagging",
    xml`<TagSet>${tags.map(
      ([name, value]) => xml`<Tag><Key>${name}</Key><Value>${value}</Value></Tag>`,
    )}</TagSet>`,
  );
}

async function putTagging(request: Request): Promise<Answer> {
  const body = await readAll(request, { maxLength: SHORT_XML_MAX });
  await setTags(request, parseTagging(body));
  return emptyAnswer(200);
}

async function deleteTagging(request: Request): Promise<Answer> {
  await setTags(request, []);
  return emptyAnswer(204);
}

const ATTEMPTS = 5;

async function setTags(request: Request, tags: StoredObject["tags"]): Promise<void> {
  const { key, objects, query, signal, accessKey } = request;
  checkVersion(query.get("versionId"));
  const bucket = await request.bucket();
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const isDone = await objects.changeObject({ bucket, key, signal }, async (change) => {
      const source = change.source ?? missing(request);
      return objects.setTags({ bucket, source, tags, change, signal, owner: accessKey.id });
    });
    if (isDone) return;
  }
  throw new S3Error("OperationAborted");
}

const COMMON = {
  level: "object",
  selectors: ["tagging"],
  parameters: ["versionId"],
  scope: "object",
} as const;

export const TAGGING_OPERATIONS: readonly Operation[] = [
  { ...COMMON, name: "GetObjectTagging", method: "GET", right: "read", run: getTagging },
  { ...COMMON, name: "PutObjectTagging", method: "PUT", right: "write", run: putTagging },
  { ...COMMON, name: "DeleteObjectTagging", method: "DELETE", right: "write", run: deleteTagging },
];
