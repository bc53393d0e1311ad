import { type EncryptionSetting, ENCRYPTION_PARAMETERS, readEncryption } from "./encryption.ts";
import { type UrlRules, bucketAndPrefix, splitStoreUrl } from "./store-url.ts";
import type { Environment } from "./session.ts";

/** What all object stores have. */
interface BucketLocation {
  readonly bucket: string;
  readonly prefix: string | undefined;
  readonly encryption: EncryptionSetting | undefined;
  /** How long failing requests are tried again, where it is not the library's own choice. */
  readonly retrySeconds: number | undefined;
}

/** Credentials come from the AWS chain, which reads its own variables and files. */
export interface S3Location extends BucketLocation {
  readonly kind: "s3";
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
}

export interface MinioLocation extends BucketLocation {
  readonly kind: "minio";
  readonly host: string;
  readonly port: number | undefined;
  readonly tls: boolean;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly sessionToken: string | undefined;
}

export interface B2Location extends BucketLocation {
  readonly kind: "b2";
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export type ObjectLocation = S3Location | MinioLocation | B2Location;

const S3_RULES: UrlRules = {
  form: "s3://BUCKET[/PREFIX]",
  credentials: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in AWS_PROFILE",
  query: ["endpoint", "region", ...ENCRYPTION_PARAMETERS],
};

export function parseS3(text: string, env: Environment): S3Location {
  const { authority, path, query } = splitStoreUrl(text, S3_RULES);
  if (authority === "") throw new Error("names no bucket: s3://BUCKET");
  return {
    kind: "s3",
    ...bucketAndPrefix([authority, ...path]),
    endpoint: readEndpoint(query.get("endpoint"), "its endpoint", S3_RULES),
    region: query.get("region"),
    ...common(query, env),
  };
}

const MINIO_RULES: UrlRules = {
  form: "minio://[HOST[:PORT]]/BUCKET[/PREFIX]",
  credentials: "set MINIO_ACCESS_KEY and MINIO_SECRET_KEY",
  query: ["tls", ...ENCRYPTION_PARAMETERS],
};

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(\d{1,5}))?$/iu;

export function parseMinio(text: string, env: Environment): MinioLocation {
  const { authority, path, query } = splitStoreUrl(text, MINIO_RULES);
  if (path.length === 0) throw new Error("names no bucket: minio://HOST:PORT/BUCKET");
  const given = authority || env["MINIO_ENDPOINT"] || "";
  if (given === "") throw new Error("names no host: minio://HOST:PORT/BUCKET, or MINIO_ENDPOINT");
  // Some write the variable as a URL.
  const [, scheme, rest = given] = /^(https?):\/\/(.*?)\/?$/iu.exec(given) ?? [];
  const [, host, port] = HOST.exec(rest) ?? [];
  if (host === undefined || (authority !== "" && scheme !== undefined)) {
    throw new Error(
      `names no HOST or HOST:PORT ${authority === "" ? "in MINIO_ENDPOINT" : "in front of its bucket"}`,
    );
  }
  return {
    kind: "minio",
    host,
    port: readPort(port ?? (env["MINIO_PORT"] || undefined)),
    tls: readTls(query.get("tls"), env["MINIO_USE_SSL"], scheme),
    ...bucketAndPrefix(path),
    accessKey: required(env, "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"),
    secretKey: required(env, "MINIO_SECRET_KEY", "MINIO_ACCESS_KEY"),
    sessionToken: env["MINIO_SESSION_TOKEN"] || undefined,
    ...common(query, env),
  };
}

const B2_RULES: UrlRules = {
  form: "b2://[BUCKET[/PREFIX]]",
  credentials: "set B2_ACCESS_KEY_ID and B2_SECRET_ACCESS_KEY",
  query: ["region", ...ENCRYPTION_PARAMETERS.filter((name) => name !== "kms-key")],
};

export function parseB2(text: string, env: Environment): B2Location {
  const { authority, path, query } = splitStoreUrl(text, B2_RULES);
  const bucket = authority || env["B2_BUCKET"] || "";
  if (bucket === "") throw new Error("names no bucket: b2://BUCKET, or B2_BUCKET");
  const region = query.get("region");
  // A region is the more exact word: the endpoint follows from it, and a variable does not win.
  const endpoint =
    region === undefined
      ? readEndpoint(env["B2_ENDPOINT"] || undefined, "B2_ENDPOINT", B2_RULES)
      : undefined;
  if (region === undefined && endpoint === undefined) {
    throw new Error("names no region: b2://BUCKET?region=us-east-005, or B2_ENDPOINT");
  }
  const { encryption, ...rest } = common(query, env);
  if (encryption?.type === "aws:kms") {
    throw new Error("asks for sse=aws:kms, which B2 does not have: it has AES256 and sse-c-key");
  }
  return {
    kind: "b2",
    ...bucketAndPrefix([bucket, ...path]),
    endpoint,
    region,
    accessKeyId: required(env, "B2_ACCESS_KEY_ID", "B2_SECRET_ACCESS_KEY"),
    secretAccessKey: required(env, "B2_SECRET_ACCESS_KEY", "B2_ACCESS_KEY_ID"),
    encryption,
    ...rest,
  };
}

function common(
  query: ReadonlyMap<string, string>,
  env: Environment,
): Pick<BucketLocation, "encryption" | "retrySeconds"> {
  return {
    encryption: readEncryption(query, env),
    retrySeconds: readRetrySeconds(env["IDK_RETRY_SECONDS"] || undefined),
  };
}

/** Both names, whichever is missing: who set one of them knows what the other is. */
function required(env: Environment, name: string, other: string): string {
  const value = env[name];
  if (value !== undefined && value !== "") return value;
  throw new Error(`needs credentials: ${name} is not set (it goes with ${other})`);
}

function readEndpoint(
  text: string | undefined,
  what: string,
  { credentials }: UrlRules,
): string | undefined {
  if (text === undefined) return undefined;
  // B2's own pages show it without a scheme.
  const withScheme = /^https?:\/\//iu.test(text) ? text : `https://${text}`;
  if (withScheme.includes("@")) {
    throw new Error(`takes no credentials in ${what}: ${credentials}`);
  }
  if (!URL.canParse(withScheme)) throw new Error(`must have a URL as ${what}: https://HOST[:PORT]`);
  const { origin, pathname, search, hash } = new URL(withScheme);
  if (pathname !== "/" || search !== "" || hash !== "") {
    throw new Error(`must have nothing behind the host in ${what}: https://HOST[:PORT]`);
  }
  return origin;
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65535) return port;
  throw new Error("has no port from 1 to 65535 (in the URL or in MINIO_PORT)");
}

const YES: ReadonlySet<string> = new Set(["1", "true", "yes", "on"]);
const NO: ReadonlySet<string> = new Set(["0", "false", "no", "off"]);

function readTls(
  parameter: string | undefined,
  variable: string | undefined,
  scheme: string | undefined,
): boolean {
  const text = (parameter ?? (variable || undefined))?.toLowerCase();
  if (text === undefined) return scheme?.toLowerCase() === "https";
  if (YES.has(text)) return true;
  if (NO.has(text)) return false;
  throw new Error(`must have 1 or 0 for ${parameter === undefined ? "MINIO_USE_SSL" : "tls"}`);
}

const RETRY_SECONDS_MAX = 3600;

function readRetrySeconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/u.test(text) && seconds <= RETRY_SECONDS_MAX) return seconds;
  throw new Error(`needs 0 to ${RETRY_SECONDS_MAX} in IDK_RETRY_SECONDS`);
}
