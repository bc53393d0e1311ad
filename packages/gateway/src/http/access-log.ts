/** One request, as it is logged. */
export interface AccessRecord {
  /** Milliseconds since 1970: when the request came. */
  readonly time: number;
  /** The request id, which the client was told. */
  readonly id: string;
  readonly remote: string;
  /** Undefined if the request was not authenticated. */
  readonly accessKey: string | undefined;
  /** S3's name of the operation; undefined if the request was refused before it was known. */
  readonly operation: string | undefined;
  readonly method: string;
  /** As sent. */
  readonly target: string;
  readonly userAgent: string | undefined;
  /** Of the answer; undefined if the client was gone before. */
  readonly status: number | undefined;
  /** S3's code of an error. */
  readonly code: string | undefined;
  /** Bytes of the bodies of request and answer that went over the connection. */
  readonly received: number;
  readonly sent: number;
  readonly durationMs: number;
  /** What went wrong inside, for the operator alone. */
  readonly fault: string | undefined;
}

/** Parameters of presigned URLs: who has them can send the request again. */
const SECRET = /^(?:x-amz-(?:signature|credential|security-token)|signature|awsaccesskeyid)$/u;

/** A record as one line of JSON. It contains no secret and no signature. */
export function accessLine({ time, target, durationMs, ...rest }: AccessRecord): string {
  return JSON.stringify({
    time: new Date(time).toISOString(),
    ...rest,
    target: redactTarget(target),
    durationMs: Math.round(durationMs),
  });
}

/** The target of a request without what signs it. */
export function redactTarget(target: string): string {
  const start = target.indexOf("?");
  if (start === -1) return target;
  const parameters = target.slice(start + 1).split("&");
  return `${target.slice(0, start)}?${parameters.map(redactParameter).join("&")}`;
}

function redactParameter(parameter: string): string {
  const [name = ""] = parameter.split("=", 1);
  // A name that is encoded in another way is still the same parameter.
  return SECRET.test(decoded(name).toLowerCase()) ? `${name}=REDACTED` : parameter;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " ")).trim();
  } catch {
    return text;
  }
}
