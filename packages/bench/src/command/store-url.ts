import {
  type B2Location,
  type MinioServer,
  type ObjectLocation,
  type S3Location,
  minioServer,
  parseStoreUrl,
} from "@idk/storage/url";
import type { Environment, ObjectStoreAccess } from "../suite.ts";
import { Usage } from "./usage.ts";

/** A server without a bucket. */
export type ObjectServer = Omit<ObjectStoreAccess, "bucket" | "prefix">;

/** The object store for the suites that need one. */
export type StoreChoice =
  /** An existing bucket. */
  | { readonly kind: "bucket"; readonly access: ObjectStoreAccess }
  /** A server on which the run makes a bucket of its own. */
  | { readonly kind: "server"; readonly server: ObjectServer }
  | { readonly kind: "none"; readonly reason: string };

const FORMS =
  "s3://BUCKET[/PREFIX]?endpoint=URL&region=R, b2://BUCKET[/PREFIX]?region=R " +
  "or minio://[HOST[:PORT]]/BUCKET[/PREFIX]?tls=0";

export const NO_STORE: string =
  "no object store: give --store URL, or set MINIO_ENDPOINT, MINIO_ACCESS_KEY and MINIO_SECRET_KEY " +
  "(`script/minio run idk bench` does so)";

/**
 * The store that `--store` names, or else the server that the `MINIO_…` variables name.
 *
 * @throws Usage if the URL is malformed, variables it needs are missing, or suites cannot use it
 */
export function chooseStore(url: string | undefined, env: Environment): StoreChoice {
  if (url !== undefined) return { kind: "bucket", access: readStoreUrl(url, env) };
  if (!env["MINIO_ENDPOINT"]) return { kind: "none", reason: NO_STORE };
  const missing = ["MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"].filter((name) => !env[name]);
  if (missing.length > 0) {
    return { kind: "none", reason: `MINIO_ENDPOINT is set, but not ${missing.join(" and ")}` };
  }
  return { kind: "server", server: minioAccess(worded("MINIO_ENDPOINT", () => minioServer(env))) };
}

export function readStoreUrl(url: string, env: Environment): ObjectStoreAccess {
  // Suites choose the server-side encryption themselves.
  const own = { ...env, IDK_SSE_C_KEY: undefined };
  if (!/^(?:s3|minio|b2):/iu.test(url)) throw new Usage(`--store takes ${FORMS}`);
  const location = worded("--store", () => parseStoreUrl(url, own)) as ObjectLocation;
  const { bucket, prefix, encryption } = location;
  if (encryption !== undefined) {
    throw new Usage("--store takes no encryption: suites choose it themselves");
  }
  // Suites sign and send plain paths, without percent-encoding.
  const parts = [bucket, ...(prefix?.split("/") ?? [])];
  if (!parts.every((part) => /^[\w.-]+$/u.test(part) && !/^\.+$/u.test(part))) {
    throw new Usage("--store takes letters, digits, dots, dashes and underscores in its path");
  }
  const where = { bucket, prefix: prefix === undefined ? "" : `${prefix}/` };
  if (location.kind === "s3") return { ...s3Access(location, env), ...where };
  if (location.kind === "b2") return { ...b2Access(location, env), ...where };
  return { ...minioAccess(location), ...where };
}

/** The messages of the parser follow the name of what was parsed. */
function worded<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Usage(`${name} ${error instanceof Error ? error.message : String(error)}`);
  }
}

function s3Access(location: S3Location, env: Environment): ObjectServer {
  const region = location.region ?? (env["AWS_REGION"] || env["AWS_DEFAULT_REGION"]);
  if (!region && !location.endpoint) {
    throw new Usage(`--store names no region: ${FORMS}, or AWS_REGION`);
  }
  if (env["AWS_SESSION_TOKEN"]) {
    throw new Usage("--store cannot use temporary keys: AWS_SESSION_TOKEN is set");
  }
  const keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
  const [accessKeyId, secretAccessKey] = keys.map((name) => env[name]);
  if (!accessKeyId || !secretAccessKey) {
    // Names both variables, because a user who has set one of them recognizes the other.
    const [missing, other] = accessKeyId ? keys.toReversed() : keys;
    throw new Usage(
      `the object store needs credentials: ${missing} is not set (it goes with ${other})`,
    );
  }
  const endpoint = location.endpoint ?? `https://s3.${region}.amazonaws.com`;
  return { endpoint, region: region || "us-east-1", accessKeyId, secretAccessKey };
}

function b2Access(location: B2Location, env: Environment): ObjectServer {
  const { accessKeyId, secretAccessKey, endpoint = "" } = location;
  const [, named] = /^https:\/\/s3\.([a-z0-9-]+)\.backblazeb2\.com$/u.exec(endpoint) ?? [];
  const region = location.region ?? named ?? env["B2_REGION"];
  if (!region)
    throw new Usage("--store names no region, and B2_ENDPOINT contains none: set B2_REGION");
  const origin = endpoint || `https://s3.${region}.backblazeb2.com`;
  return { endpoint: origin, region, accessKeyId, secretAccessKey, provider: "b2" };
}

function minioAccess({ host, port = 9000, tls, ...keys }: MinioServer): ObjectServer {
  if (keys.sessionToken !== undefined) {
    throw new Usage("temporary keys cannot be used: MINIO_SESSION_TOKEN is set");
  }
  const endpoint = `${tls ? "https" : "http"}://${host}:${port}`;
  const { accessKey: accessKeyId, secretKey: secretAccessKey } = keys;
  return { endpoint, region: "us-east-1", accessKeyId, secretAccessKey, provider: "minio" };
}
