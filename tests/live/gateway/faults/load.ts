import { type Answer, elements, encode, encodeValue, type S3Requests } from "../s3-requests.ts";
import type { Contents } from "./contents.ts";
import type { History } from "./history.ts";
import type { Objects, Operation, WriteCondition, WriteOutcome } from "./checker/model.ts";

/** What clients do, and what they found. */
export interface Load {
  readonly requests: S3Requests;
  readonly bucket: string;
  /** Prefixes of keys. Copies stay within one. */
  readonly groups: readonly string[];
  /**
   * Groups whose listings are checked as one request of all their keys, and not of each by itself. That takes
   * long if many requests have no answer.
   */
  readonly joint: readonly string[];
  readonly history: History;
  readonly contents: Contents;
  /** What must not be: content that is not what its ETag says, or an answer that is none of S3's. */
  readonly faults: string[];
  /** Completes without an answer, to be repeated. */
  readonly unanswered: Complete[];
  isOver: boolean;
  /** Requests that had an answer. */
  answered: number;
}

/** A load that has not begun. */
export function newLoad(
  given: Pick<Load, "requests" | "bucket" | "groups" | "history" | "contents"> &
    Partial<Pick<Load, "joint">>,
): Load {
  return { joint: [], faults: [], unanswered: [], isOver: false, answered: 0, ...given };
}

/** A CompleteMultipartUpload. */
export interface Complete {
  readonly key: string;
  readonly upload: string;
  readonly etag: string;
  readonly body: string;
  readonly start: number;
}

const NAMES = ["a", "b", "ü c", "d+e"];
export const keysOf = (group: string): string[] => NAMES.map((name) => `${group}${name}`);

/** From 0 to below the limit. */
const random = (limit: number): number => Math.floor(Math.random() * limit);
const oneOf = <T>(items: readonly T[]): T => items[random(items.length)]!;

/** Runs clients that send one request after another, until the work is done. */
export async function underLoad(
  count: number,
  load: Load,
  work: () => Promise<unknown>,
): Promise<void> {
  const clients = Array.from({ length: count }, async () => runClient(load));
  try {
    await work();
  } finally {
    load.isOver = true;
    await Promise.all(clients);
  }
}

async function runClient(load: Load): Promise<void> {
  /** ETags that this client has seen, for conditions. */
  const seen = new Map<string, string>();
  while (!load.isOver) {
    const group = oneOf(load.groups);
    const key = oneOf(keysOf(group));
    await step(load, group, key, seen);
  }
}

async function step(
  load: Load,
  group: string,
  key: string,
  seen: Map<string, string>,
): Promise<void> {
  const chosen = random(100);
  if (chosen < 28) return put(load, key, seen);
  if (chosen < 36) return put(load, key, seen, { ifNoneMatch: "*" });
  const known = seen.get(key);
  if (chosen < 44 && known !== undefined) return put(load, key, seen, { ifMatch: known });
  if (chosen < 56) return remove(load, key, chosen < 47 ? known : undefined);
  if (chosen < 60) return removeSome(load, keysOf(group).slice(0, 2));
  if (chosen < 70) return copy(load, group, key, seen);
  if (chosen < 74) return upload(load, key);
  if (chosen < 82) return list(load, group);
  if (chosen < 87) return read(load, key, seen, "HEAD", false);
  return read(load, key, seen, "GET", chosen >= 96);
}

const targetOf = ({ bucket }: Load, key: string): string => `/${bucket}/${encode(key)}`;

/** How long a client waits after a request that failed, in ms. */
const BACKOFF = 50;

/** Undefined if there was no answer. */
async function send(
  load: Load,
  ...given: Parameters<S3Requests["send"]>
): Promise<Answer | undefined> {
  const answer = await load.requests.send(...given).catch(() => undefined);
  if (answer === undefined || answer.status >= 500) {
    if (!load.isOver) await Bun.sleep(BACKOFF);
  }
  return answer;
}

/** What came of a write, or undefined if it was refused without a look at the condition. */
function outcomeOf(load: Load, what: string, answer: Answer | undefined): WriteOutcome | undefined {
  if (answer === undefined || answer.status >= 500) return "unknown";
  load.answered += 1;
  if (answer.status < 300) return "done";
  if (answer.status === 412) return "condition-failed";
  if (answer.status === 404 && answer.code === "NoSuchKey") return "no-object";
  if (answer.code !== "ConditionalRequestConflict") {
    load.faults.push(`${what}: ${answer.status} ${answer.code}`);
  }
  return undefined;
}

/** Most objects are inline; some have a manifest. */
const sizeOf = (): number =>
  random(100) < 75 ? random(3000) : random(100) < 70 ? 150_000 + random(50_000) : 1_200_000;

async function put(
  load: Load,
  key: string,
  seen: Map<string, string>,
  condition?: WriteCondition,
): Promise<void> {
  const { body, etag } = load.contents.make(sizeOf());
  const headers: Record<string, string> =
    condition === undefined
      ? {}
      : "ifMatch" in condition
        ? { "if-match": `"${condition.ifMatch}"` }
        : { "if-none-match": "*" };
  const start = load.history.now();
  const answer = await send(load, "PUT", targetOf(load, key), { headers, body });
  const outcome = outcomeOf(load, "put", answer);
  if (outcome !== undefined) {
    load.history.add(start, { kind: "put", key, etag, condition, outcome });
  }
  if (outcome === "done") {
    if (answer!.etag !== etag) load.faults.push(`the ETag of a put is ${answer!.etag}`);
    seen.set(key, etag);
  }
}

async function remove(load: Load, key: string, ifMatch: string | undefined): Promise<void> {
  const headers = ifMatch === undefined ? {} : { "if-match": `"${ifMatch}"` };
  const start = load.history.now();
  const answer = await send(load, "DELETE", targetOf(load, key), { headers });
  const outcome = outcomeOf(load, "delete", answer);
  if (outcome !== undefined) load.history.add(start, { kind: "delete", key, ifMatch, outcome });
}

async function removeSome(load: Load, keys: readonly string[]): Promise<void> {
  const objects = keys.map((key) => `<Object><Key>${key}</Key></Object>`).join("");
  const body = `<Delete><Quiet>false</Quiet>${objects}</Delete>`;
  const digest = new Bun.CryptoHasher("md5").update(body).digest("base64");
  const start = load.history.now();
  const headers = { "content-md5": digest };
  const answer = await send(load, "POST", `/${load.bucket}?delete`, { headers, body });
  // It may also end in the middle with an error of one key.
  const deleted = new Set(answer?.status === 200 ? elements(answer.body, "Key") : []);
  const failed = answer?.body.includes("<Error>") === true;
  for (const key of keys) {
    const outcome = deleted.has(key) && !failed ? "done" : "unknown";
    load.history.add(start, { kind: "delete", key, outcome });
  }
  if (answer !== undefined) load.answered += 1;
}

async function copy(
  load: Load,
  group: string,
  key: string,
  seen: Map<string, string>,
): Promise<void> {
  const from = oneOf(keysOf(group));
  const etag = seen.get(from);
  if (etag === undefined) return read(load, from, seen, "HEAD", false);
  // A copy onto itself has to change something.
  const headers = {
    "x-amz-copy-source": targetOf(load, from),
    "x-amz-copy-source-if-match": `"${etag}"`,
    "x-amz-metadata-directive": "REPLACE",
  };
  const start = load.history.now();
  const answer = await send(load, "PUT", targetOf(load, key), { headers });
  const outcome = outcomeOf(load, "copy", answer);
  // Otherwise there was no such source, and nothing has happened.
  if (outcome === "done") load.history.add(start, { kind: "read", key: from, etag });
  if (outcome === "done" || outcome === "unknown") {
    load.history.add(start, { kind: "put", key, etag, outcome });
  }
  if (outcome === "done" && !answer!.body.includes(etag))
    load.faults.push("a copy has another ETag");
}

async function upload(load: Load, key: string): Promise<void> {
  const target = targetOf(load, key);
  const begun = await send(load, "POST", `${target}?uploads`);
  const [id] = elements(begun?.body ?? "", "UploadId");
  if (id === undefined) return;
  const parts = [load.contents.make(5 * 2 ** 20), load.contents.make(1 + random(100_000))];
  const query = `uploadId=${encodeValue(id)}`;
  for (const [index, { body }] of parts.entries()) {
    const part = await send(load, "PUT", `${target}?partNumber=${index + 1}&${query}`, { body });
    if (part?.status !== 200) return;
  }
  const etag = load.contents.join(parts);
  const listed = parts.map(
    (part, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${part.etag}</ETag></Part>`,
  );
  const body = `<CompleteMultipartUpload>${listed.join("")}</CompleteMultipartUpload>`;
  const start = load.history.now();
  return complete(load, { key, upload: id, etag, body, start });
}

/** Completes an upload. Without an answer, it stays to be repeated. */
async function complete(load: Load, given: Complete): Promise<void> {
  const { key, upload: id, etag, body, start } = given;
  const target = `${targetOf(load, key)}?uploadId=${encodeValue(id)}`;
  const answer = await send(load, "POST", target, { body });
  // The status comes before the outcome.
  const isDone = answer?.status === 200 && answer.body.includes("</CompleteMultipartUploadResult>");
  const isOpen = answer === undefined || answer.status >= 500 || answer.body.includes("<Error>");
  if (isDone) {
    load.answered += 1;
    load.history.add(start, { kind: "put", key, etag, outcome: "done" });
  } else if (isOpen) load.unanswered.push(given);
  else load.faults.push(`Complete: ${answer.status} ${answer.code}`);
}

/** Repeats what had no answer, as clients do. It is the same request, so it is done once. */
export async function repeatCompletes(load: Load): Promise<void> {
  for (const given of load.unanswered.splice(0)) await complete(load, given);
}

async function list(load: Load, prefix: string): Promise<void> {
  const start = load.history.now();
  const target = `/${load.bucket}?list-type=2&prefix=${encodeValue(prefix)}`;
  const answer = await send(load, "GET", target);
  if (answer?.status !== 200) return refusedRead(load, "list", answer);
  load.answered += 1;
  const entries = entriesOf(answer);
  if (load.joint.includes(prefix)) load.history.add(start, { kind: "list", prefix, entries });
  else {
    for (const key of keysOf(prefix)) {
      load.history.add(start, { kind: "read", key, etag: entries.get(key) });
    }
  }
}

/** Keys and ETags of a listing. */
export function entriesOf({ body }: Answer): Objects {
  const etags = elements(body, "ETag");
  return new Map(
    elements(body, "Key").map((key, index) => [key, etags[index]!.replaceAll('"', "")]),
  );
}

function refusedRead(load: Load, what: string, answer: Answer | undefined): void {
  if (answer !== undefined && answer.status < 500) {
    load.faults.push(`${what}: ${answer.status} ${answer.code}`);
  }
}

async function read(
  load: Load,
  key: string,
  seen: Map<string, string>,
  method: "GET" | "HEAD",
  isRange: boolean,
): Promise<void> {
  const [first, last] = [random(3000), 3000 + random(2_000_000)];
  const start = load.history.now();
  const headers = isRange ? { range: `bytes=${first}-${last}` } : {};
  const answer = await send(load, method, targetOf(load, key), { headers });
  if (answer === undefined) return;
  const { status, etag, body } = answer;
  // The range is behind the end.
  if (status === 416) return;
  if (status !== 404 && status !== 200 && status !== 206) return refusedRead(load, "read", answer);
  load.answered += 1;
  const operation: Operation = { kind: "read", key, etag: status === 404 ? undefined : etag };
  load.history.add(start, operation);
  if (status === 404) return;
  seen.set(key, etag);
  const content = load.contents.find(etag);
  if (content === undefined) load.faults.push(`the ETag ${etag} of ${key} is nobody's`);
  else if (method === "HEAD") {
    if (answer.headers["content-length"] !== `${content.length}`) {
      load.faults.push(`the length of ${key} is wrong`);
    }
  } else if (!body.equals(status === 206 ? content.subarray(first, last + 1) : content)) {
    load.faults.push(`the content of ${key} is not that of ${etag}: ${body.length} bytes`);
  }
}

/** Reads all keys of the groups, and lists them. @throws Error unless each has an answer */
export async function readAll(load: Load): Promise<Objects> {
  const seen = new Map<string, string>();
  for (const key of load.groups.flatMap(keysOf)) {
    const before = load.answered;
    await read(load, key, seen, "GET", false);
    if (load.answered === before) throw new Error(`${key} cannot be read`);
  }
  for (const group of load.groups) await list(load, group);
  return seen;
}
