import type { ObjectStoreAccess } from "../suite.ts";
import { Usage } from "./usage.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A server without a place on it. */
export type ObjectServer = Omit<ObjectStoreAccess, "bucket" | "prefix">;

/** Where suites that need an object store find one. */
export type StoreChoice =
  /** A bucket that is there. */
  | { readonly kind: "bucket"; readonly access: ObjectStoreAccess }
  /** A server on which the run makes a bucket of its own. */
  | { readonly kind: "server"; readonly server: ObjectServer }
  | { readonly kind: "none"; readonly reason: string };

const S3_FORM = "s3://BUCKET[/PREFIX]?endpoint=URL&region=R";
const MINIO_FORM = "minio://[HOST[:PORT]]/BUCKET[/PREFIX]?tls=1";

export const NO_STORE: string =
  "no object store: give --store URL, or set MINIO_ENDPOINT, MINIO_ACCESS_KEY and MINIO_SECRET_KEY " +
  "(`script/minio run idk bench` does so)";

/**
 * The store that `--store` names, or else the server that the `MINIO_…` variables name. Messages
 * repeat nothing of a URL, for people paste credentials into it.
 *
 * @throws Usage where the URL is malformed, or lacks what its variables would complete
 */
export function chooseStore(url: string | undefined, env: Environment): StoreChoice {
  if (url !== undefined) return { kind: "bucket", access: parseStoreUrl(url, env) };
  if (!env["MINIO_ENDPOINT"]) return { kind: "none", reason: NO_STORE };
  const missing = ["MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"].filter((name) => !env[name]);
  if (missing.length > 0) {
    return { kind: "none", reason: `MINIO_ENDPOINT is set, but not ${missing.join(" and ")}` };
  }
  return { kind: "server", server: minioServer("", undefined, env) };
}

export function parseStoreUrl(text: string, env: Environment): ObjectStoreAccess {
  const [, scheme, authority = "", path = "", query = ""] =
    /^([a-z0-9]+):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?$/iu.exec(text) ?? [];
  if (text.includes("@")) {
    throw new Usage(
      "--store takes no credentials in the URL: set MINIO_ACCESS_KEY and MINIO_SECRET_KEY, or " +
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    );
  }
  const parts = path.split("/").filter((part) => part !== "");
  switch (scheme?.toLowerCase()) {
    case "s3": {
      const parameters = readQuery(query, ["endpoint", "region"], S3_FORM);
      return { ...place([authority, ...parts], S3_FORM), ...s3Server(parameters, env) };
    }
    case "minio": {
      const tls = readQuery(query, ["tls"], MINIO_FORM).get("tls");
      return { ...place(parts, MINIO_FORM), ...minioServer(authority, tls, env) };
    }
    case undefined:
    default:
      throw new Usage(`--store takes ${S3_FORM} or ${MINIO_FORM}`);
  }
}

function place(
  [bucket = "", ...prefix]: readonly string[],
  form: string,
): Pick<ObjectStoreAccess, "bucket" | "prefix"> {
  if (bucket === "") throw new Usage(`--store names no bucket: ${form}`);
  const parts = [bucket, ...prefix];
  // What suites sign and send is a plain path: nothing in it has to be encoded.
  if (!parts.every((part) => /^[\w.-]+$/u.test(part) && !/^\.+$/u.test(part))) {
    throw new Usage("--store takes letters, digits, dots, dashes and underscores in its path");
  }
  return { bucket, prefix: prefix.map((part) => `${part}/`).join("") };
}

function readQuery(text: string, known: readonly string[], form: string): URLSearchParams {
  const query = new URLSearchParams(text);
  for (const name of query.keys()) {
    if (!known.includes(name)) throw new Usage(`--store has an unknown parameter: ${form}`);
  }
  return query;
}

function s3Server(query: URLSearchParams, env: Environment): ObjectServer {
  const region = query.get("region") || env["AWS_REGION"] || env["AWS_DEFAULT_REGION"];
  const endpoint = query.get("endpoint");
  if (!region && !endpoint) {
    throw new Usage(`--store names no region: ${S3_FORM}, or AWS_REGION`);
  }
  if (env["AWS_SESSION_TOKEN"]) {
    throw new Usage("--store cannot use temporary keys: AWS_SESSION_TOKEN is set");
  }
  return {
    endpoint: endpoint ? readOrigin(endpoint) : `https://s3.${region}.amazonaws.com`,
    region: region || "us-east-1",
    accessKeyId: required(env, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    secretAccessKey: required(env, "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"),
  };
}

function minioServer(authority: string, tls: string | undefined | null, env: Environment) {
  const given = authority || env["MINIO_ENDPOINT"];
  if (!given) throw new Usage(`--store names no host: ${MINIO_FORM}, or MINIO_ENDPOINT`);
  if (env["MINIO_SESSION_TOKEN"]) {
    throw new Usage("temporary keys cannot be used: MINIO_SESSION_TOKEN is set");
  }
  return {
    endpoint: minioOrigin(given, tls ?? env["MINIO_USE_SSL"], env["MINIO_PORT"]),
    region: "us-east-1",
    accessKeyId: required(env, "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"),
    secretAccessKey: required(env, "MINIO_SECRET_KEY", "MINIO_ACCESS_KEY"),
  };
}

/** The variable is a URL or a host, with its port behind it or in a variable of its own. */
function minioOrigin(given: string, tls: string | undefined, port: string | undefined): string {
  const [, scheme, rest = given] = /^(https?):\/\/(.*)$/iu.exec(given) ?? [];
  const secure = tls ? /^(?:1|true|yes|on)$/iu.test(tls) : scheme?.toLowerCase() === "https";
  const { protocol, host } = originOf(`${secure ? "https" : "http"}://${rest}`);
  if (/:\d+$/u.test(host)) return `${protocol}//${host}`;
  // With a scheme of its own, a URL without a port means the port of that scheme.
  return scheme && !port ? `${protocol}//${host}` : `${protocol}//${host}:${port || 9000}`;
}

function readOrigin(text: string): string {
  return originOf(/^https?:\/\//iu.test(text) ? text : `https://${text}`).origin;
}

function originOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "") {
    return url;
  }
  throw new Usage("the endpoint of the object store is not a URL like http://HOST:PORT");
}

/** Both names, whichever is missing: who set one of them knows what the other is. */
function required(env: Environment, name: string, other: string): string {
  const value = env[name];
  if (value) return value;
  throw new Usage(`the object store needs credentials: ${name} is not set (it goes with ${other})`);
}
