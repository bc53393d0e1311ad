/** One request, as it is logged. */
export interface AccessRecord {
  /** Milliseconds since 1970: when the request came. */
  readonly time: number;
  /** The request id, which the client was told. */
  readonly id: string;
  readonly remote: string;
  /** The IP address that a trusted proxy forwards for. */
  readonly client: string | undefined;
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
const SECRET = /signature|credential|token|accesskeyid/u;
/** Tokens of lists, which are not secret. */
const PUBLIC = /^continuation-token=[^=&?]*=*$/u;

/** Characters of what anybody may send at any length. A key has up to 1,024 bytes, each three characters. */
const SHOWN_MAX = 4096;

/** A record as one line of JSON. It contains no secret and no signature. */
export function accessLine({ time, target, userAgent, durationMs, ...rest }: AccessRecord): string {
  return JSON.stringify({
    time: new Date(time).toISOString(),
    ...rest,
    target: redactTarget(target.slice(0, SHOWN_MAX)),
    userAgent: userAgent?.slice(0, SHOWN_MAX),
    durationMs: Math.round(durationMs),
  });
}

/**
 * The target of a request without what signs it. URLs come broken, such as with `&amp;` for `&`, and from
 * most of them the right one follows. So values are left out wherever the name of a secret is in sight.
 */
export function redactTarget(target: string): string {
  const mark = /[?&]|%3f|%26/iu.exec(target);
  if (mark === null) return target;
  const start = mark.index + mark[0].length;
  const parameters = target.slice(start).split("&");
  return `${target.slice(0, start)}${parameters.map(redactParameter).join("&")}`;
}

function redactParameter(parameter: string): string {
  const text = decoded(parameter).toLowerCase();
  if (PUBLIC.test(text) || !SECRET.test(text.slice(0, text.lastIndexOf("=") + 1))) return parameter;
  const [name = ""] = parameter.split("=", 1);
  return name === parameter ? "=REDACTED" : `${name}=REDACTED`;
}

/** Whatever is encoded is the same parameter. What is not decoded well is compared as it is. */
function decoded(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/giu, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}
