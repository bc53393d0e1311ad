import { fromHex } from "../bytes.ts";
import { usage } from "../errors.ts";
import { type Environment, type UrlRules, splitUrl } from "./split.ts";

/** The server-side encryption to request, on top of the library's own. */
export type EncryptionSetting =
  | { readonly type: "AES256" }
  | { readonly type: "aws:kms"; readonly keyId?: string }
  /** The 32 bytes of the key, or the file that contains them. */
  | { readonly type: "SSE-C"; readonly key: Uint8Array | { readonly file: string } };

interface BucketLocation {
  readonly bucket: string;
  readonly prefix: string | undefined;
  readonly encryption: EncryptionSetting | undefined;
  /** The retry budget in seconds. Undefined: the library's default. */
  readonly retrySeconds: number | undefined;
}

/** Has no keys: the AWS credential chain reads its own variables and files. */
export interface S3Location extends BucketLocation {
  readonly kind: "s3";
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
}

/** A MinIO server and its keys. */
export interface MinioServer {
  readonly host: string;
  readonly port: number | undefined;
  /** By default true, except for this machine's own addresses. */
  readonly tls: boolean;
  /** True if requests leave this machine without TLS, which a user should know. */
  readonly plaintext: boolean;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly sessionToken: string | undefined;
}

/** A bucket of a MinIO server, from a `minio://` URL. */
export interface MinioLocation extends BucketLocation, MinioServer {
  readonly kind: "minio";
}

/** A bucket of Backblaze B2, from a `b2://` URL. */
export interface B2Location extends BucketLocation {
  readonly kind: "b2";
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** A bucket of an object store. */
export type ObjectLocation = S3Location | MinioLocation | B2Location;

const ENCRYPTION_PARAMETERS: readonly string[] = ["sse", "kms-key", "sse-c-key"];

const S3_RULES: UrlRules = {
  form: "s3://BUCKET[/PREFIX]",
  credentials: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in AWS_PROFILE",
  query: ["endpoint", "region", ...ENCRYPTION_PARAMETERS],
};

export function parseS3(text: string, env: Environment): S3Location {
  const { authority, path, query } = splitUrl(text, S3_RULES);
  if (authority === "") throw usage("names no bucket: s3://BUCKET");
  return {
    kind: "s3",
    ...bucketAndPrefix([authority, ...path]),
    endpoint: parseEndpoint(query.get("endpoint"), "its endpoint", S3_RULES),
    region: query.get("region"),
    ...common(query, env),
  };
}

const MINIO_RULES: UrlRules = {
  form: "minio://[HOST[:PORT]]/BUCKET[/PREFIX]",
  credentials: "set MINIO_ACCESS_KEY and MINIO_SECRET_KEY",
  query: ["tls", ...ENCRYPTION_PARAMETERS],
};

export function parseMinio(text: string, env: Environment): MinioLocation {
  const { authority, path, query } = splitUrl(text, MINIO_RULES);
  if (path.length === 0) throw usage("names no bucket: minio://HOST:PORT/BUCKET");
  return {
    kind: "minio",
    ...minioServer(env, { authority, tls: query.get("tls") }),
    ...bucketAndPrefix(path),
    ...common(query, env),
  };
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(\d{1,5}))?$/iu;

/**
 * The MinIO server named by `MINIO_ENDPOINT`, `MINIO_PORT` and `MINIO_USE_SSL`, with its keys.
 *
 * @param url what a URL says, which takes precedence
 * @throws StorageError `usage`, worded as by `parseStoreUrl`
 */
export function minioServer(
  env: Environment,
  { authority = "", tls }: { readonly authority?: string; readonly tls?: string | undefined } = {},
): MinioServer {
  const given = authority || env["MINIO_ENDPOINT"] || "";
  if (given === "") throw usage("names no host: minio://HOST:PORT/BUCKET, or MINIO_ENDPOINT");
  // MINIO_ENDPOINT is often written as a URL.
  const [, scheme, rest = given] = /^(https?):\/\/(.*?)\/?$/iu.exec(given) ?? [];
  const [, host, port] = HOST.exec(rest) ?? [];
  if (host === undefined || (authority !== "" && scheme !== undefined)) {
    throw usage(
      `names no HOST or HOST:PORT ${authority === "" ? "in MINIO_ENDPOINT" : "before its bucket"}`,
    );
  }
  const loopback = isLoopback(host);
  const secure =
    parseTls(tls, env["MINIO_USE_SSL"]) ??
    (scheme?.toLowerCase() === "https" || (scheme === undefined && !loopback));
  return {
    host,
    port: parsePort(port ?? (env["MINIO_PORT"] || undefined)),
    tls: secure,
    plaintext: !secure && !loopback,
    accessKey: required(env, "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"),
    secretKey: required(env, "MINIO_SECRET_KEY", "MINIO_ACCESS_KEY"),
    sessionToken: env["MINIO_SESSION_TOKEN"] || undefined,
  };
}

const B2_RULES: UrlRules = {
  form: "b2://[BUCKET[/PREFIX]]",
  credentials: "set B2_ACCESS_KEY_ID and B2_SECRET_ACCESS_KEY",
  query: ["region", ...ENCRYPTION_PARAMETERS.filter((name) => name !== "kms-key")],
};

export function parseB2(text: string, env: Environment): B2Location {
  const { authority, path, query } = splitUrl(text, B2_RULES);
  const bucket = authority || env["B2_BUCKET"] || "";
  if (bucket === "") throw usage("names no bucket: b2://BUCKET, or B2_BUCKET");
  const region = query.get("region");
  // The endpoint follows from the region, so a region in the URL overrides the variable.
  const endpoint =
    region === undefined
      ? parseEndpoint(env["B2_ENDPOINT"] || undefined, "B2_ENDPOINT", B2_RULES)
      : undefined;
  if (region === undefined && endpoint === undefined) {
    throw usage("names no region: b2://BUCKET?region=us-east-005, or B2_ENDPOINT");
  }
  const { encryption, retrySeconds } = common(query, env);
  if (encryption?.type === "aws:kms") {
    throw usage("requests sse=aws:kms, which B2 does not support: use AES256 or sse-c-key");
  }
  return {
    kind: "b2",
    ...bucketAndPrefix([bucket, ...path]),
    endpoint,
    region,
    accessKeyId: required(env, "B2_ACCESS_KEY_ID", "B2_SECRET_ACCESS_KEY"),
    secretAccessKey: required(env, "B2_SECRET_ACCESS_KEY", "B2_ACCESS_KEY_ID"),
    encryption,
    retrySeconds,
  };
}

function bucketAndPrefix(parts: readonly string[]): Pick<BucketLocation, "bucket" | "prefix"> {
  const [bucket = "", ...prefix] = parts;
  return { bucket, prefix: prefix.length > 0 ? prefix.join("/") : undefined };
}

function common(
  query: ReadonlyMap<string, string>,
  env: Environment,
): Pick<BucketLocation, "encryption" | "retrySeconds"> {
  return {
    encryption: parseEncryption(query, env),
    retrySeconds: parseRetrySeconds(env["IDK_RETRY_SECONDS"] || undefined),
  };
}

/** Names both variables of a pair, because a user may have set only one of them. */
function required(env: Environment, name: string, other: string): string {
  const value = env[name];
  if (value !== undefined && value !== "") return value;
  throw usage(`needs credentials: ${name} is not set (it goes with ${other})`);
}

function parseEndpoint(
  text: string | undefined,
  what: string,
  { credentials }: UrlRules,
): string | undefined {
  if (text === undefined) return undefined;
  // B2's console shows endpoints without a scheme.
  const withScheme = /^https?:\/\//iu.test(text) ? text : `https://${text}`;
  if (withScheme.includes("@")) {
    throw usage(`takes no credentials in ${what}: ${credentials}`);
  }
  if (!URL.canParse(withScheme)) throw usage(`must have a URL as ${what}: https://HOST[:PORT]`);
  const { origin, pathname, search, hash } = new URL(withScheme);
  if (pathname !== "/" || search !== "" || hash !== "") {
    throw usage(`must have nothing after the host in ${what}: https://HOST[:PORT]`);
  }
  return origin;
}

/** Whether a host is this machine: `localhost`, 127.0.0.0/8 or ::1. */
function isLoopback(host: string): boolean {
  // Normalizes addresses, as the connection will.
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return (
    hostname === "localhost" ||
    hostname === "[::1]" ||
    // Not isIPv4 of node:net, which takes 5 ms to load, in every command. No name ends in a number.
    /^127\.\d+\.\d+\.\d+$/u.test(hostname)
  );
}

function parsePort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65535) return port;
  throw usage("has no port from 1 to 65535 (in the URL or in MINIO_PORT)");
}

const YES: ReadonlySet<string> = new Set(["1", "true", "yes", "on"]);
const NO: ReadonlySet<string> = new Set(["0", "false", "no", "off"]);

function parseTls(
  parameter: string | undefined,
  variable: string | undefined,
): boolean | undefined {
  const text = (parameter ?? (variable || undefined))?.toLowerCase();
  if (text === undefined) return undefined;
  if (YES.has(text)) return true;
  if (NO.has(text)) return false;
  throw usage(`must have 1 or 0 for ${parameter === undefined ? "MINIO_USE_SSL" : "tls"}`);
}

const RETRY_SECONDS_MAX = 3600;

function parseRetrySeconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/u.test(text) && seconds <= RETRY_SECONDS_MAX) return seconds;
  throw usage(`needs 0 to ${RETRY_SECONDS_MAX} in IDK_RETRY_SECONDS`);
}

/** The URL overrides `IDK_SSE_C_KEY`, so that two stores of one run can differ. */
function parseEncryption(
  query: ReadonlyMap<string, string>,
  env: Environment,
): EncryptionSetting | undefined {
  const [sse, keyId, file] = ENCRYPTION_PARAMETERS.map((name) => query.get(name));
  if (keyId !== undefined && sse !== "aws:kms") throw usage("has kms-key without sse=aws:kms");
  if (file !== undefined) {
    if (sse !== undefined) throw usage("has both sse and sse-c-key, which exclude each other");
    return { type: "SSE-C", key: { file } };
  }
  switch (sse) {
    case undefined: {
      const key = env["IDK_SSE_C_KEY"] || undefined;
      return key === undefined ? undefined : { type: "SSE-C", key: parseSseCKey(key) };
    }
    case "AES256":
      return { type: "AES256" };
    case "aws:kms":
      return keyId === undefined ? { type: "aws:kms" } : { type: "aws:kms", keyId };
    default:
      throw usage("must have AES256 or aws:kms for sse");
  }
}

function parseSseCKey(text: string): Uint8Array {
  if (/^[0-9a-f]{64}\s*$/iu.test(text)) return fromHex(text.trimEnd());
  throw usage("needs 64 hexadecimal digits in IDK_SSE_C_KEY");
}
